package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
)

const (
	window    = 64 << 10 // bytes of a file in memory at once
	maxString = 16 << 10 // longest key or text; real tensor names stay below 200 bytes
	maxDepth  = 64       // of values that are skipped
)

// scanner pulls JSON tokens out of a sliding window over a stream. It knows
// the little that checkpoints use and stops at the first thing else.
type scanner struct {
	src      io.Reader
	buf      []byte // window; buf[pos:end] is not read yet
	pos, end int
	failed   error // of src; io.EOF once it is at its end
	text     []byte
}

func (s *scanner) reset(src io.Reader) {
	if s.buf == nil {
		s.buf = make([]byte, window)
	}
	s.src, s.pos, s.end, s.failed = src, 0, 0, nil
}

// more slides the window and reads on; false when nothing more came.
func (s *scanner) more() bool {
	if s.failed != nil {
		return false
	}
	copy(s.buf, s.buf[s.pos:s.end])
	s.end -= s.pos
	s.pos = 0
	if s.end == len(s.buf) {
		return false
	}
	n, err := io.ReadAtLeast(s.src, s.buf[s.end:], 1)
	s.end += n
	if err != nil {
		s.failed = err
	}
	return n > 0
}

// cause is why a token could not be read: the stream failed, ended, or held
// something else.
func (s *scanner) cause() error {
	if s.failed != nil && !errors.Is(s.failed, io.EOF) && !errors.Is(s.failed, io.ErrUnexpectedEOF) {
		return s.failed
	}
	if s.failed != nil && s.pos == s.end {
		return ErrTruncated
	}
	return ErrSyntax
}

// peek returns the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\t', '\r':
				s.pos++
			default:
				return c
			}
		}
		if !s.more() {
			return 0
		}
	}
}

// take consumes c if it is the next byte that is no white space.
func (s *scanner) take(c byte) bool {
	if s.pos < s.end && s.buf[s.pos] == c || s.peek() == c {
		s.pos++
		return true
	}
	return false
}

// str reads a text. The result is valid until the next call.
func (s *scanner) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for from := 0; ; {
		if i := bytes.IndexByte(s.buf[s.pos+from:s.end], '"'); i >= 0 {
			raw := s.buf[s.pos : s.pos+from+i]
			if escaped(raw) {
				from += i + 1
				continue
			}
			s.pos += from + i + 1
			if bytes.IndexByte(raw, '\\') < 0 {
				return raw, true
			}
			return s.unescape(raw)
		}
		from = s.end - s.pos
		if from > maxString || !s.more() {
			return nil, false
		}
	}
}

// escaped reports whether the quote after raw is escaped: an odd number of
// backslashes is before it.
func escaped(raw []byte) bool {
	n := 0
	for n < len(raw) && raw[len(raw)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func (s *scanner) unescape(raw []byte) ([]byte, bool) {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil, false
	}
	s.text = append(s.text[:0], text...)
	return s.text, true
}

// whole reads a number that is whole and not negative.
func (s *scanner) whole() (int64, bool) {
	s.peek()
	n, digits := int64(0), 0
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c < '0' || c > '9' {
				return n, digits > 0 && c != '.' && c != 'e' && c != 'E'
			}
			d := int64(c - '0')
			if n > (math.MaxInt64-d)/10 {
				return 0, false
			}
			n, digits = n*10+d, digits+1
			s.pos++
		}
		if !s.more() {
			return n, digits > 0
		}
	}
}

// skip consumes any value.
func (s *scanner) skip(depth int) bool {
	switch c := s.peek(); {
	case depth > maxDepth || c == 0:
		return false
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '{' || c == '[':
		s.pos++
		return s.skipItems(c+2, c == '{', depth)
	}
	return s.skipWord()
}

func (s *scanner) skipItems(closing byte, keys bool, depth int) bool {
	if s.take(closing) {
		return true
	}
	for {
		if keys {
			if _, ok := s.str(); !ok || !s.take(':') {
				return false
			}
		}
		if !s.skip(depth + 1) {
			return false
		}
		if s.take(closing) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// skipWord consumes a number, true, false or null.
func (s *scanner) skipWord() bool {
	n := 0
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; {
			case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E', c == 'N', c == 'I':
				s.pos++
				n++
			default:
				return n > 0
			}
		}
		if !s.more() {
			return n > 0
		}
	}
}
