package render

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command prints an argument vector as one shell command over several lines,
// quoted so that it can be pasted.
func Command(argv []string, indent string, width int) string {
	var b strings.Builder
	b.WriteString(indent)
	col := len(indent)
	for i := 0; i < len(argv); i++ {
		part := quote(argv[i])
		// A flag stays on one line with its first value.
		if strings.HasPrefix(argv[i], "-") && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			i++
			part += " " + quote(argv[i])
		}
		if b.Len() > len(indent) {
			if col+1+len(part)+2 > width {
				b.WriteString(" \\\n" + indent + "  ")
				col = len(indent) + 2
			} else {
				b.WriteByte(' ')
				col++
			}
		}
		b.WriteString(part)
		col += len(part)
	}
	b.WriteByte('\n')
	return b.String()
}

func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil { // only a NUL byte, which no argument can hold
		return "''"
	}
	return q
}
