package serverlog

import (
	"bytes"
	"strconv"
	"strings"
)

// argumentMarks are the two forms of the arguments line: a dataclass to
// 0.5.18, a dictionary since.
var argumentMarks = []string{"server_args=ServerArgs(", "server_args={"}

// isArguments returns the value of an arguments line.
func isArguments(line []byte) ([]byte, bool) {
	for _, m := range argumentMarks {
		if i := bytes.Index(line, []byte(m)); i >= 0 {
			return line[i+len("server_args="):], true
		}
	}
	return nil, false
}

// parseArguments reads the value of an arguments line as a map from SGLang's
// field names: nil, bool, int64, float64, string, []any and map[string]any.
// What it cannot read (the repr of some object) becomes its text; a line that
// was cut gives what came before the cut.
func parseArguments(b []byte) map[string]any {
	p := &literal{b: b}
	m, _ := p.value(0).(map[string]any)
	return m
}

// literal reads the Python literals of an arguments line.
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
		return p.raw()
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
	return s
}

// Arguments are the server's resolved arguments under SGLang's own names: nil,
// bool, int64, float64, string, []any and map[string]any. The map is empty
// when the log does not begin with them.
func (s *Start) Arguments() map[string]any {
	if s.arguments != nil {
		s.parsed, s.arguments = parseArguments(s.arguments), nil
	}
	return s.parsed
}

// Text returns a string argument, "" when it is not there.
func (s *Start) Text(name string) string {
	v, _ := s.Arguments()[name].(string)
	return v
}

// Int returns a whole number among the arguments, 0 when it is not there.
func (s *Start) Int(name string) int64 {
	v, _ := s.Arguments()[name].(int64)
	return v
}

// Float returns a number among the arguments; ok is false when it is not
// there.
func (s *Start) Float(name string) (v float64, ok bool) {
	switch n := s.Arguments()[name].(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// True reports a boolean argument that is set.
func (s *Start) True(name string) bool {
	v, _ := s.Arguments()[name].(bool)
	return v
}
