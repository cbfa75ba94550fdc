package hub

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The reasons for which the Hub gave nothing; an *Error wraps one of them or
// the cause of a failed connection.
var (
	ErrOffline      = errors.New("not asked, HF_HUB_OFFLINE is set")
	ErrEndpoint     = errors.New("HF_ENDPOINT is no http or https address")
	ErrToken        = errors.New("the token holds characters that no token has (see HF_TOKEN or the token file)")
	ErrUnauthorized = errors.New("no such model, or a private or gated one: set HF_TOKEN")
	ErrForbidden    = errors.New("the token has no access: ask for it on the model's page")
	ErrNotFound     = errors.New("no such model, revision or file")
	ErrRateLimited  = errors.New("too many requests")
	ErrStatus       = errors.New("unexpected answer")
	ErrRange        = errors.New("the server does not serve parts of files")
	ErrListing      = errors.New("the list of files cannot be read")
	ErrInsecure     = errors.New("a redirect leads from https to http")
)

// An Error reports what the Hub did not give.
type Error struct {
	Host   string
	ID     string // the model
	File   string // "" for the repository as a whole
	Status int    // HTTP status, 0 when there was none
	// RetryAfter is what a rate limit asks to wait, 0 when it did not say.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	var at []string
	for _, s := range []string{e.Host, e.ID, e.File} {
		if s != "" {
			at = append(at, s)
		}
	}
	text := strings.Join(append(at, e.Err.Error()), ": ")
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(", again in %v", e.RetryAfter)
	}
	return text
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// reasonOf maps a status that is no success.
func reasonOf(status int) error {
	switch status {
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusTooManyRequests:
		return ErrRateLimited
	}
	return ErrStatus
}

// bare takes the address out of a connection's error: behind a redirect it may
// carry a signature.
func bare(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
