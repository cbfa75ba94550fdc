// Package pyrepr reads the text that Python's repr gives for plain values: the
// arguments line of a server's log.
//
// Import it to take such a line apart; nothing of Python is run.
package pyrepr

import (
	"bytes"
	"strconv"
	"strings"
)

// Object is the text of a value that is no plain one: an enum, an instance.
type Object string

// Fields reads Name(key=value, ...) or {'key': value, ...} as a map: nil, bool,
// int64, float64, string, []any, map[string]any and Object. A text that was
// cut gives what came before the cut; anything else gives an empty map.
func Fields(b []byte) map[string]any {
	p := &literal{b: b}
	m, _ := p.value(0).(map[string]any)
	return m
}

// literal reads Python literals.
type literal struct {
	b     []byte
	i     int
	items int
}

const (
	maxDepth = 16
	maxArgs  = 100_000
)

func (p *literal) peek() byte {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == ',') {
		p.i++
	}
	if p.i >= len(p.b) {
		return 0
	}
	return p.b[p.i]
}

func (p *literal) value(depth int) any {
	p.items++
	if depth > maxDepth || p.items > maxArgs {
		return Object(p.raw())
	}
	switch c := p.peek(); c {
	case '\'', '"':
		return p.quoted(c)
	case '[', '(':
		return p.list(depth, closing(c))
	case '{':
		p.i++
		return p.pairs(depth, '}', ':')
	}
	start := p.i
	for p.i < len(p.b) && isName(p.b[p.i]) {
		p.i++
	}
	if p.i > start && p.i < len(p.b) && p.b[p.i] == '(' { // Name(k=v, ...)
		p.i++
		return p.pairs(depth, ')', '=')
	}
	p.i = start
	return scalar(p.raw())
}

func closing(c byte) byte {
	if c == '[' {
		return ']'
	}
	return ')'
}

func isName(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quoted reads a Python string.
func (p *literal) quoted(q byte) string {
	var s strings.Builder
	for p.i++; p.i < len(p.b); p.i++ {
		c := p.b[p.i]
		if c == q {
			p.i++
			break
		}
		if c == '\\' && p.i+1 < len(p.b) {
			p.i++
			switch c = p.b[p.i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		s.WriteByte(c)
	}
	return strings.ToValidUTF8(s.String(), "")
}

func (p *literal) list(depth int, end byte) []any {
	out := []any{}
	for p.i++; ; {
		c := p.peek()
		if c == 0 || c == end {
			p.i++
			return out
		}
		before := p.i
		out = append(out, p.value(depth+1))
		if p.i == before {
			p.i++
		}
	}
}

// pairs reads key-value pairs up to end; keys are names or strings.
func (p *literal) pairs(depth int, end, sep byte) map[string]any {
	m := map[string]any{}
	for {
		c := p.peek()
		if c == 0 || c == end {
			p.i++
			return m
		}
		before := p.i
		var key string
		if c == '\'' || c == '"' {
			key = p.quoted(c)
		} else {
			start := p.i
			for p.i < len(p.b) && p.b[p.i] != sep && p.b[p.i] != ',' && p.b[p.i] != end {
				p.i++
			}
			key = strings.ToValidUTF8(string(bytes.TrimSpace(p.b[start:p.i])), "")
		}
		if p.peek() == sep {
			p.i++
			m[key] = p.value(depth + 1)
		}
		if p.i == before {
			p.i++
		}
	}
}

// raw takes what is there up to a comma or a closing bracket of its own level.
func (p *literal) raw() string {
	start, depth := p.i, 0
	for ; p.i < len(p.b); p.i++ {
		switch p.b[p.i] {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			if depth == 0 {
				return string(p.b[start:p.i])
			}
			depth--
		case ',':
			if depth == 0 {
				return string(p.b[start:p.i])
			}
		}
	}
	return string(p.b[start:])
}

func scalar(s string) any {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "")
	switch s {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == f && f < 1e300 && f > -1e300 {
		return f
	}
	return Object(s)
}
