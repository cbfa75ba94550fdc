package render

import (
	"fmt"
	"strings"
	"unicode"
)

// Clean makes text from outside (arguments, file names, model files) safe to
// print: control characters and those that reorder a line are written as
// escapes, so that a launch read from somebody's file cannot move the cursor,
// recolour the verdict or hide a word. Newlines and tabs stay.
func Clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// word cleans text that must stay on its line.
func word(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(Clean(s))
}

func unprintable(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', unicode.ReplacementChar:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
