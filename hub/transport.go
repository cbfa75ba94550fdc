package hub

import (
	"net/http"
	"net/url"
	"time"
)

// transport adds the token to requests for the endpoint, and to no others. The
// client's own requests never carry it, so that there is nothing that a
// redirect could take along.
type transport struct {
	next      http.RoundTripper
	scheme    string
	host      string
	authorize func(http.Header) // the token is kept in here, out of reach of printing
}

func newTransport(endpoint *url.URL, token string) *transport {
	t := &transport{scheme: endpoint.Scheme, host: endpoint.Host, authorize: func(http.Header) {}}
	if token != "" {
		t.authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+token) }
	}
	t.next = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 15 * time.Second,
	}
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	r.Header.Del("Referer") // Go would tell the next host where it came from
	if r.URL.Scheme == t.scheme && r.URL.Host == t.host {
		t.authorize(r.Header)
	}
	return t.next.RoundTrip(r)
}

// maxRedirects is more than any download takes.
const maxRedirects = 5

func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return http.ErrUseLastResponse
	case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		return ErrInsecure
	}
	return nil
}
