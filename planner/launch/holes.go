package launch

import (
	"strconv"
	"strings"
)

// holes are the parts of an input whose values are known only when it runs:
// command substitutions, variables that nothing sets, template expressions.
// Each stands in the text as a mark, so that what is around it can be
// expanded, joined, split and read again by a shell inside, and no value is
// ever guessed.
type holes struct{ source []string }

// The marks are private-use characters, which YAML and shells take for plain
// text. clean removes them from what is read.
const (
	markStart = "\uE000"
	markEnd   = "\uE001"
)

var cleaner = strings.NewReplacer(markStart, "\uFFFD", markEnd, "\uFFFD")

// clean makes sure that a text from outside holds no marks.
func clean(s string) string {
	if !hole(s) && !strings.Contains(s, markEnd) {
		return s
	}
	return cleaner.Replace(s)
}

// hole reports a text with a mark in it.
func hole(s string) bool { return strings.Contains(s, markStart) }

// mark returns the mark of something that is written as source.
func (h *holes) mark(source string) string {
	h.source = append(h.source, clip(h.show(source)))
	return markStart + strconv.Itoa(len(h.source)-1) + markEnd
}

// show puts the source back in the place of each mark.
func (h *holes) show(s string) string {
	if !hole(s) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, markStart)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		number, after, _ := strings.Cut(rest, markEnd)
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(h.source) {
			b.WriteString(h.source[i])
		}
		s = after
	}
}

// words puts the source back into words and marks those as not known.
func (h *holes) words(ws []Word) []Word {
	out := make([]Word, len(ws))
	for i, w := range ws {
		out[i] = Word{Text: h.show(w.Text), Unknown: w.Unknown || hole(w.Text), Pos: w.Pos}
	}
	return out
}

// unknown is a word that is known only at run time, written as source.
func (h *holes) unknown(source string) Word { return Word{Text: h.mark(source), Unknown: true} }
