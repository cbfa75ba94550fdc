// Package release orders SGLang's releases. It is the base of planner/sglang,
// the only room that knows release numbers.
package release

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Release is one SGLang version: 0.5.10, 0.5.10.post1, 0.5.12.dev20260512.
// The zero value is unknown.
type Release struct {
	Major, Minor, Patch int
	Post                int  // 0 when none
	Dev                 bool // a build before that release
	text                string
}

// Newest is the newest release that the tables know; Oldest the oldest.
var (
	Newest = MustParse(newestKnown)
	Oldest = MustParse(oldestKnown)
)

var pattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\.?rc(\d{1,4}))?(?:\.post(\d{1,4}))?(\.dev\d*)?(\+[\w.]+)?(-[\w.-]+)?$`)
})

// A SyntaxError reports a version that cannot be read.
type SyntaxError struct{ Text string }

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("SGLang version %q: not a version (write it like 0.5.9, v0.5.10.post1 or 0.5.12.dev20260512+gabc)", e.Text)
}

// Parse reads a version as pip or an image tag writes it. What follows a
// hyphen in a tag (v0.5.9-cu130) is dropped.
func Parse(s string) (Release, error) {
	m := pattern().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Release{}, &SyntaxError{s}
	}
	n := func(t string) int { v, _ := strconv.Atoi(t); return v }
	r := Release{Major: n(m[1]), Minor: n(m[2]), Patch: n(m[3]), Post: n(m[5]), Dev: m[6] != "" || m[4] != ""}
	r.text = fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	if r.Post > 0 {
		r.text += fmt.Sprintf(".post%d", r.Post)
	}
	if m[4] != "" {
		r.text += "rc" + m[4]
	}
	r.text += m[6]
	return r, nil
}

// MustParse is Parse for constants; it panics on an error. The plain form
// 0.5.10 or 0.5.10.post1 needs no pattern, since the tables are read with it at
// every start.
func MustParse(s string) Release {
	k := keyOf(s)
	r := Release{Major: k / 1e12, Minor: k / 1e8 % 1e4, Patch: k / 1e4 % 1e4, Post: k % 1e4}
	r.text = fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	if r.Post > 0 {
		r.text += fmt.Sprintf(".post%d", r.Post)
	}
	if r.text == s {
		return r
	}
	r, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return r
}

// String returns the version without a leading v.
func (r Release) String() string { return r.text }

// IsZero reports an unknown release.
func (r Release) IsZero() bool { return r == Release{} }

// Compare orders releases; a development build comes just before its release.
func Compare(a, b Release) int {
	dev := func(r Release) int {
		if r.Dev {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor), cmp.Compare(a.Patch, b.Patch),
		cmp.Compare(a.Post, b.Post), cmp.Compare(dev(a), dev(b)))
}

// key packs a release for comparison with a constant; a development build
// counts as the release it leads to, whose rules it mostly has.
func (r Release) key() int { return ((r.Major*1e4+r.Minor)*1e4+r.Patch)*1e4 + r.Post }

// keyOf reads the key of a version constant such as "0.5.10.post1". It is on
// every rule's path, so it does not go through the pattern.
func keyOf(s string) int {
	var part, key, n int
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			key, n, part = key*1e4+n, 0, part+1
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		}
	}
	key, part = key*1e4+n, part+1
	for ; part < 4; part++ {
		key *= 1e4
	}
	return key
}

// AtLeast reports whether r has the rules introduced in version s.
func (r Release) AtLeast(s string) bool { return r.key() >= keyOf(s) }

// Before reports whether r lacks the rules introduced in version s.
func (r Release) Before(s string) bool { return r.key() < keyOf(s) }

// Within reports whether r lies between two versions, both included.
func (r Release) Within(from, to string) bool {
	k := r.key()
	return k >= keyOf(from) && k <= keyOf(to)
}
