package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// attempts is how often a rate-limited or unavailable request is made.
const attempts = 3

// piece is part of a file, or the whole of an answer.
type piece struct {
	data  []byte
	total int64 // size of the file, -1 when the server does not say
}

// get fetches at most n bytes from offset of an address; n is what is wanted,
// not what the server claims. offset < 0 asks for the answer as a whole.
func (c *Client) get(ctx context.Context, u *url.URL, offset, n int64) (piece, error) {
	for try := 1; ; try++ {
		p, retry, err := c.once(ctx, u, offset, n)
		if err == nil || retry < 0 || try == attempts {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, err
		case <-time.After(retry):
		}
	}
}

// once makes one request. retry is how long to wait before the next, below
// zero for never.
func (c *Client) once(ctx context.Context, u *url.URL, offset, n int64) (p piece, retry time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return p, -1, bare(err)
	}
	r.Header.Set("User-Agent", "sglplan")
	if offset >= 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+n-1))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return p, -1, bare(err)
	}
	defer resp.Body.Close()
	total, err := placeOf(resp, offset)
	if err != nil {
		return p, c.wait(resp, err), err
	}
	if total == offset && offset >= 0 {
		return piece{total: total}, 0, nil
	}
	p = piece{total: total}
	p.data, err = io.ReadAll(io.LimitReader(resp.Body, n))
	if err != nil {
		return p, -1, bare(err)
	}
	return p, 0, nil
}

// placeOf checks that an answer is the part that was asked for and returns the
// size of the file.
func placeOf(resp *http.Response, offset int64) (total int64, err error) {
	switch {
	case resp.StatusCode == http.StatusPartialContent && offset >= 0:
		from, total, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || from != offset {
			return 0, ErrRange
		}
		return total, nil
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && offset >= 0:
		return offset, nil
	case resp.StatusCode == http.StatusOK && offset <= 0:
		return resp.ContentLength, nil
	case resp.StatusCode == http.StatusOK:
		return 0, ErrRange
	}
	return 0, &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp), Err: reasonOf(resp.StatusCode)}
}

// contentRange reads "bytes 0-99/1234"; an unknown size is -1.
func contentRange(s string) (from, total int64, ok bool) {
	place, size, ok := strings.Cut(strings.TrimPrefix(s, "bytes "), "/")
	if !ok {
		return 0, 0, false
	}
	first, _, ok := strings.Cut(place, "-")
	if !ok {
		return 0, 0, false
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from < 0 {
		return 0, 0, false
	}
	if size == "*" {
		return from, -1, true
	}
	total, err = strconv.ParseInt(size, 10, 64)
	return from, total, err == nil && total >= 0
}

// retryAfter reads what an answer asks to wait, in seconds or as a date.
func retryAfter(resp *http.Response) time.Duration {
	s := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(min(max(n, 0), 1<<20)) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(time.Until(t), 0).Round(time.Second)
	}
	return 0
}

// wait decides whether a refusal is waited out: a rate limit or an unavailable
// server, when it does not ask for too long.
func (c *Client) wait(resp *http.Response, err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return -1
	}
	d := e.RetryAfter
	if resp.Header.Get("Retry-After") == "" {
		d = time.Second
	}
	if d > c.maxWait {
		return -1
	}
	return d
}
