package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

// holes are the parts of a document whose values are not known: template
// expressions, variables that the file does not set. Each stands in the text
// as a mark, so that what is around it can be read and no value is guessed.
type holes struct {
	source []string
	lines  []int
}

// The marks are private-use characters, which YAML and shells take for plain
// text.
const (
	markStart = "\uE000"
	markEnd   = "\uE001"
)

var (
	templateLine = regexp.MustCompile(`^\s*(?:\{\{.*\}\}|\{%.*%\})\s*$`)
	templateExpr = regexp.MustCompile(`\{\{.*?\}\}`)
)

// mark returns the mark of something whose value is not known.
func (h *holes) mark(source string) string {
	h.source = append(h.source, source)
	return markStart + strconv.Itoa(len(h.source)-1) + markEnd
}

// cut replaces the template expressions of a text by marks, and lines that
// only steer the template by empty ones. Lines keep their numbers.
func (h *holes) cut(text string) string {
	text = strings.NewReplacer(markStart, "\uFFFD", markEnd, "\uFFFD").Replace(text)
	if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		switch {
		case templateLine.MatchString(l):
			h.lines = append(h.lines, i+1)
			lines[i] = ""
		case strings.Contains(l, "{{"):
			h.lines = append(h.lines, i+1)
			lines[i] = templateExpr.ReplaceAllStringFunc(l, h.mark)
		}
	}
	return strings.Join(lines, "\n")
}

// in reports a text with a hole in it.
func (h *holes) in(s string) bool { return h != nil && strings.Contains(s, markStart) }

// show puts the template expressions back.
func (h *holes) show(s string) string {
	if !h.in(s) {
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

// sayTemplates names the lines of a document that are templates.
func (d *document) sayTemplates() {
	if len(d.holes.lines) == 0 {
		return
	}
	var at []string
	for _, l := range d.holes.lines[:min(len(d.holes.lines), 8)] {
		at = append(at, strconv.Itoa(d.first+l))
	}
	if more := len(d.holes.lines) - len(at); more > 0 {
		at = append(at, fmt.Sprintf("and %d more", more))
	}
	f := finding.New(CodeTemplate, finding.Warning, "", fmt.Sprintf("Template expressions at line %s: their values are not known.", strings.Join(at, ", ")))
	f.Position = &finding.Position{File: d.file, Line: d.first + d.holes.lines[0]}
	d.r.findings = append(d.r.findings, f)
}

// words puts the source back into words with holes and marks them as not
// known.
func (h *holes) words(ws []Word) []Word {
	out := make([]Word, len(ws))
	for i, w := range ws {
		out[i] = Word{Text: h.show(w.Text), Unknown: w.Unknown || h.in(w.Text), Pos: w.Pos}
	}
	return out
}
