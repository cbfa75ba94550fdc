package render

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command prints an argument vector as one shell command over several lines,
// quoted so that it can be pasted. A flag stays on one line with its first
// value where both fit.
func Command(argv []string, indent string, width int) string {
	f := newFlow(indent, indent+"  ", " ", width-len(` \`))
	for i := 0; i < len(argv); i++ {
		part := quote(argv[i])
		if strings.HasPrefix(argv[i], "-") && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			value := quote(argv[i+1])
			if len(indent)+2+columnsOf(part)+1+columnsOf(value) <= f.width {
				part += " " + value
				i++
			}
		}
		f.add(part)
	}
	return strings.ReplaceAll(f.line(), "\n"+indent+"  ", " \\\n"+indent+"  ")
}

// quote is one word of a shell command; characters that a terminal would act
// on come out as escapes in $'...'.
func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil { // only a NUL byte, which no argument can hold
		return "''"
	}
	return q
}
