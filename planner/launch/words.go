package launch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner/finding"
)

// Words gives plain words their places in the command, counted from 1.
func Words(argv []string) []Word {
	ws := make([]Word, len(argv))
	for i, a := range argv {
		ws[i] = Word{Text: a, Pos: finding.Position{Word: i + 1}}
	}
	return ws
}

// Quote writes words as one line that a shell reads back as the same words.
func Quote(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		q, err := syntax.Quote(a, syntax.LangBash)
		if err != nil { // a NUL, which no command can hold
			q = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = q
	}
	return strings.Join(out, " ")
}

// isName reports a word that can name a shell variable.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// assignment takes NAME=value apart.
func assignment(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, "=")
	return name, value, ok && isName(name)
}

func texts(ws []Word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Text
	}
	return out
}
