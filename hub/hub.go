// Package hub opens a model repository of the Hugging Face Hub as a file
// system, so that its configuration and the headers of its weight files are
// read without downloading them: files are fetched in pieces, by HTTPS range
// requests, as far as they are read.
//
// It follows huggingface_hub in what the environment means: HF_ENDPOINT,
// HF_TOKEN and the token file, HF_HUB_OFFLINE; proxies are those of the
// process's own HTTPS_PROXY and NO_PROXY. The token goes to the endpoint alone:
// no redirect takes it to another host, and no error or value prints it.
//
// Nothing in planner imports this package; preflight does when it is asked to.
package hub

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client asks one endpoint. It is safe for use by several goroutines.
type Client struct {
	endpoint *url.URL
	http     *http.Client
	offline  bool
	timeout  time.Duration
	maxWait  time.Duration
}

// Option changes a Client.
type Option func(*Client)

// WithTimeout bounds each request, the body included. The default is 20 s.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithMaxWait bounds how long a rate limit is waited out before it becomes an
// error. The default is 10 s.
func WithMaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

const defaultEndpoint = "https://huggingface.co"

// New returns a client as the environment says. The error tells of an endpoint
// or a token that cannot be one.
func New(env map[string]string, opts ...Option) (*Client, error) {
	endpoint, err := parseEndpoint(env["HF_ENDPOINT"])
	if err != nil {
		return nil, err
	}
	token, err := tokenOf(env)
	if err != nil {
		return nil, err
	}
	c := &Client{endpoint: endpoint, offline: isOn(env["HF_HUB_OFFLINE"]) || isOn(env["TRANSFORMERS_OFFLINE"]), timeout: 20 * time.Second, maxWait: 10 * time.Second}
	c.http = &http.Client{Transport: newTransport(endpoint, token), CheckRedirect: checkRedirect}
	for _, o := range opts {
		o(c)
	}
	return c, nil
}

func parseEndpoint(s string) (*url.URL, error) {
	if s == "" {
		s = defaultEndpoint
	}
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &Error{Err: ErrEndpoint}
	}
	u.User = nil // never printed, never sent
	return u, nil
}

// isOn follows huggingface_hub's reading of switches.
func isOn(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// FS opens the repository of a model at a revision, "" for the main branch. The
// commit is looked up once, so that all files are of the same one. Files are
// fetched under ctx. An error is an *Error.
func (c *Client) FS(ctx context.Context, id, revision string) (fs.FS, error) {
	if c.offline {
		return nil, &Error{Host: c.endpoint.Host, ID: id, Err: ErrOffline}
	}
	if revision == "" {
		revision = "main"
	}
	return c.list(ctx, id, revision)
}
