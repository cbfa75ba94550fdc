package render

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sglplan/sglplan/planner/units"
)

// Options of a text rendering.
type Options struct {
	Width int  // columns; less than 40 counts as 40
	Color bool // ANSI colours
	ASCII bool // no box-drawing characters (LANG=C)
}

// style is one SGR attribute list.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
	purple style = "35"
	cyan   style = "36"
)

// paint wraps s in a style where colours are wanted.
func (o Options) paint(st style, s string) string {
	if !o.Color || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// width returns the columns to write in: lines beyond 110 are hard to read.
func (o Options) width() int { return min(max(o.Width, 40), 110) }

// columnsOf is how many columns a terminal shows a text in; escapes take none.
func columnsOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

// flow writes words of any style one after another and breaks the line where
// the next one would not fit. A word longer than a line (a path, a JSON value)
// stays whole.
type flow struct {
	b      strings.Builder
	indent string // of every line but the first
	gap    string // between two words
	width  int
	col    int
	begun  bool // the line has a word
}

// newFlow begins with a first line that already reads lead.
func newFlow(lead, indent, gap string, width int) *flow {
	f := &flow{indent: indent, gap: gap, width: width, col: columnsOf(lead)}
	f.b.WriteString(lead)
	return f
}

func (f *flow) add(word string) {
	n := columnsOf(word)
	switch {
	case !f.begun:
	case f.col+len(f.gap)+n > f.width:
		f.b.WriteString("\n" + f.indent)
		f.col = len(f.indent)
	default:
		f.b.WriteString(f.gap)
		f.col += len(f.gap)
	}
	f.b.WriteString(word)
	f.col += n
	f.begun = true
}

// longestWord bounds what is shown of a word: nobody reads on.
const longestWord = 4096

// text adds the words of a text from outside in one style.
func (f *flow) text(o Options, st style, s string) *flow {
	for _, w := range strings.Fields(Clean(s)) {
		if len(w) > longestWord {
			w = strings.ToValidUTF8(w[:longestWord], "") + "..."
		}
		f.add(o.styled(st, w))
	}
	return f
}

func (f *flow) line() string { return f.b.String() + "\n" }

// styled paints a word in a style, "" for none.
func (o Options) styled(st style, s string) string {
	if st == "" {
		return s
	}
	return o.paint(st, s)
}

// para is a text in lines behind an indent.
func (o Options) para(st style, s, indent string) string {
	var b strings.Builder
	for par := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		b.WriteString(o.paintLines(st, newFlow(indent, indent, " ", o.width()).text(o, "", par).line()))
	}
	return b.String()
}

// paintLines paints whole lines, so that every line stands alone.
func (o Options) paintLines(st style, s string) string {
	if st == "" || !o.Color {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(o.paint(st, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// count prints a whole number with thousands separated.
func count(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// gib prints a GPU figure, gb a host figure.
func gib(b units.Bytes) string { return fmt.Sprintf("%.2f", b.GiB()) }

func gb(b units.Bytes) string {
	if g := b.GB(); g >= 99.95 || g <= -99.95 {
		return count(int64(g + 0.5))
	}
	return fmt.Sprintf("%.1f", b.GB())
}

// short prints a figure of a legend: one decimal says enough there.
func short(print float64) string {
	if print > -0.1 && print < 0.1 {
		return fmt.Sprintf("%.2f", print)
	}
	if print >= 99.95 || print <= -99.95 {
		return count(int64(print + 0.5))
	}
	return fmt.Sprintf("%.1f", print)
}

func fraction(f float64) string {
	if f >= 1000 || f <= -1000 {
		return fmt.Sprintf("%.3g", f)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.4f", f), "0"), ".")
}
