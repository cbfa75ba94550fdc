package launch

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sglplan/sglplan/planner/finding"
)

// interpolate replaces $NAME, ${NAME}, ${NAME:-default} and their kin as
// docker compose does; $$ is a single $. The values come from the caller's
// environment and an .env file, so that only defaults are known.
func (s *composeService) interpolate(n *yaml.Node, text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		rest := text[i+1:]
		switch {
		case rest[0] == '$':
			b.WriteByte('$')
			i++
		case rest[0] == '{':
			end := closing(rest)
			if end < 0 {
				b.WriteByte('$')
				continue
			}
			b.WriteString(s.variable(n, rest[1:end]))
			i += end + 1
		default:
			j := 0
			for j < len(rest) && isName(rest[:j+1]) {
				j++
			}
			if j == 0 {
				b.WriteByte('$')
				continue
			}
			b.WriteString(s.variable(n, rest[:j]))
			i += j
		}
	}
	return b.String()
}

// closing is the index of the brace that ends a text beginning with {, -1
// without one.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// variable gives the value of NAME, NAME:-default, NAME-default, NAME:+other,
// NAME+other, NAME:?message or NAME?message.
func (s *composeService) variable(n *yaml.Node, expr string) string {
	j := 0
	for j < len(expr) && isName(expr[:j+1]) {
		j++
	}
	name, op := expr[:j], strings.TrimPrefix(expr[j:], ":")
	switch {
	case strings.HasPrefix(op, "-"):
		s.sayDefault(n, name, "${"+expr+"}")
		return s.nested(n, op[1:])
	case strings.HasPrefix(op, "+"):
		s.sayDefault(n, name, "${"+expr+"}")
		return ""
	}
	return s.d.holes.mark("${" + expr + "}")
}

// nested interpolates a default, which can hold variables itself.
func (s *composeService) nested(n *yaml.Node, text string) string {
	if strings.Count(text, "${") > maxNesting {
		return s.d.holes.mark(text)
	}
	return s.interpolate(n, text)
}

func (s *composeService) sayDefault(n *yaml.Node, name, expr string) {
	if s.said[name] {
		return
	}
	s.said[name] = true
	s.findings = append(s.findings, s.d.say(CodeDefaultTaken, finding.Info, n, fmt.Sprintf("%s: the file does not set %s, so it was taken as not set; the caller's environment or an .env file can set it.", clip(expr), name)))
}
