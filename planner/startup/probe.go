package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/sglplan/sglplan/planner/sglang/endpoints"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Answer is what the server's port said.
type Answer struct {
	// Status is the HTTP status, 0 when there was none.
	Status int
	// State puts it in a word: "refused", "timeout", "unreachable",
	// "starting", "up", "redirect", "page", "key", "error".
	State string
	Err   error
}

// String words the answer for a person.
func (a Answer) String() string {
	switch a.State {
	case "refused":
		return "connection refused"
	case "timeout":
		return "no answer in time"
	case "unreachable":
		return fmt.Sprint("not reachable: ", a.Err)
	}
	return fmt.Sprintf("HTTP %d", a.Status)
}

// proxied reports an answer that SGLang does not give: a redirect, a page, a
// question for a key.
func (a Answer) proxied() bool { return a.State == "redirect" || a.State == "page" || a.State == "key" }

// identity is what a server says about itself. Empty means not said.
type identity struct {
	modelPath string
	version   string
	seed      string // random_seed: drawn anew by every start that was not given one
	tokens    int64
}

// client asks one server.
type client struct {
	http *http.Client
	base string
	key  string // bearer token, "" for none
}

// answerTime bounds one question. A health check generates a token and may
// take SGLANG_HEALTH_CHECK_TIMEOUT, 20 s.
const answerTime = 25 * time.Second

// newClient does not follow redirects and uses no proxy for this host's own
// addresses, as Go's default does.
func newClient(base, key string) *client {
	t := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DialContext:       (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		DisableKeepAlives: true, // a server that is stopped must be seen at once
	}
	return &client{base: strings.TrimRight(base, "/"), key: key, http: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get asks for a path and leaves the body to the caller.
func (c *client) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return c.http.Do(req)
}

// status asks for a path and judges by the status alone. The body is never
// looked at: SGLang's is empty.
func (c *client) status(ctx context.Context, path string) Answer {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	resp, err := c.get(ctx, path)
	if err != nil {
		return failed(err)
	}
	resp.Body.Close()
	a := Answer{Status: resp.StatusCode}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		a.State = "redirect"
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusProxyAuthRequired:
		a.State = "key"
	case resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		a.State = "page"
	case resp.StatusCode == http.StatusOK:
		a.State = "up"
	case resp.StatusCode == http.StatusServiceUnavailable:
		a.State = "starting"
	default:
		a.State = "error"
	}
	return a
}

// failed sorts the errors of a connection.
func failed(err error) Answer {
	a := Answer{Err: err, State: "unreachable"}
	var ne net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		a.State = "refused"
	case errors.As(err, &ne) && ne.Timeout(), errors.Is(err, context.DeadlineExceeded):
		a.State = "timeout"
	}
	return a
}

// maxInfo bounds an answer that is read.
const maxInfo = 16 << 20

// object asks for a JSON object, nil when there is none.
func (c *client) object(ctx context.Context, paths []string) map[string]any {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, path := range paths {
		resp, err := c.get(ctx, path)
		if err != nil {
			continue
		}
		var m map[string]any
		d := json.NewDecoder(io.LimitReader(resp.Body, maxInfo))
		d.UseNumber()
		err = d.Decode(&m)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK && err == nil {
			return m
		}
	}
	return nil
}

// identify asks a server who it is.
func (c *client) identify(ctx context.Context, e endpoints.Endpoints) identity {
	var id identity
	if m := c.object(ctx, e.ModelInfo); m != nil {
		id.modelPath, _ = m["model_path"].(string)
	}
	m := c.object(ctx, e.ServerInfo)
	if id.modelPath == "" {
		id.modelPath, _ = m["model_path"].(string)
	}
	id.version, _ = m["version"].(string)
	if n, ok := m["random_seed"].(json.Number); ok {
		id.seed = n.String()
	}
	if n, ok := m["max_total_num_tokens"].(json.Number); ok {
		id.tokens, _ = n.Int64()
	}
	return id
}

// report is one round of questions.
type report struct {
	answer Answer
	up     bool // success, twice
	who    identity
}

// prober asks again and again until its context ends.
type prober struct {
	c     *client
	rel   release.Release
	every time.Duration
	apart time.Duration // between the two successes
	out   chan report
}

func (p *prober) run(ctx context.Context) {
	defer p.c.http.CloseIdleConnections()
	e := endpoints.Of(p.rel)
	var first time.Time // of the successes in a row
	var who *identity
	for {
		r := report{answer: p.ask(ctx, e)}
		switch {
		case r.answer.State != "up":
			first, who = time.Time{}, nil
		case first.IsZero():
			first = time.Now()
		case time.Since(first) >= p.apart:
			if who == nil {
				id := p.c.identify(ctx, e)
				who = &id
			}
			r.who = *who
			r.up = p.confirmed(ctx, e, who.version)
		}
		select {
		case p.out <- r:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(p.every):
		case <-ctx.Done():
			return
		}
	}
}

// ask puts the question that tells readiness in this release.
func (p *prober) ask(ctx context.Context, e endpoints.Endpoints) Answer {
	if !e.Ready {
		return p.c.status(ctx, "/health")
	}
	if a := p.c.status(ctx, "/ready"); a.Status != http.StatusNotFound {
		return a
	}
	return p.c.status(ctx, "/health") // not the release that it was said to be
}

// confirmed asks once more, with a real generation: /ready does not test the
// engine, and in old releases /health says nothing.
func (p *prober) confirmed(ctx context.Context, e endpoints.Endpoints, version string) bool {
	if r, err := release.Parse(version); err == nil && p.rel.IsZero() {
		e.Static = endpoints.Of(r).Static
	}
	if e.Static {
		return p.c.status(ctx, "/health_generate").State == "up"
	}
	return !e.Ready || p.c.status(ctx, "/health").State == "up"
}

// local reports whether a URL names this host, and its port.
func local(base string) (port int, ok bool) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, false
	}
	p := u.Port()
	if p == "" {
		p = map[string]string{"https": "443"}[u.Scheme]
		if p == "" {
			p = "80"
		}
	}
	if port, err = net.LookupPort("tcp", p); err != nil {
		return 0, false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return port, host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
