package launch

import (
	"errors"
	"strings"
)

// part is a word of a split text with the line, counted from 0, on which it
// begins.
type part struct {
	text string
	line int
}

var errQuote = errors.New("a quote is not closed")

// splitWords splits a text into words as a shell does, with its quotes and
// backslashes, and expands nothing. What stands before an open quote comes
// back with the error.
func splitWords(s string) ([]part, error) {
	var out []part
	var cur strings.Builder
	line, begin, open := 0, 0, false
	var quote byte
	start := func() {
		if !open {
			open, begin = true, line
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == '\'' && c != '\'':
			cur.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c != '\\':
			cur.WriteByte(c)
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] == '\n' { // a line that goes on
				break
			}
			start()
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(s[i])) {
				cur.WriteByte('\\')
			}
			cur.WriteByte(s[i])
		case c == '\'' || c == '"':
			start()
			quote = c
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				out = append(out, part{cur.String(), begin})
				cur.Reset()
				open = false
			}
		default:
			start()
			cur.WriteByte(c)
		}
		if s[i] == '\n' {
			line++
		}
	}
	if open {
		out = append(out, part{cur.String(), begin})
	}
	if quote != 0 {
		return out, errQuote
	}
	return out, nil
}
