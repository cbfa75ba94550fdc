package render

import (
	"fmt"
	"strings"

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

// width returns the columns to write in.
func (o Options) width() int { return max(o.Width, 40) }

// wrap breaks text into lines of at most width columns, each behind indent.
// Words longer than a line (paths, JSON values) stay whole.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	for _, par := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		col := 0
		for _, w := range strings.Fields(par) {
			n := len([]rune(w))
			switch {
			case col == 0:
				b.WriteString(indent)
				col = len(indent)
			case col+1+n > width:
				b.WriteString("\n" + indent)
				col = len(indent)
			default:
				b.WriteByte(' ')
				col++
			}
			b.WriteString(w)
			col += n
		}
		b.WriteByte('\n')
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
	if g := b.GB(); g >= 100 || g <= -100 {
		return count(int64(g + 0.5))
	}
	return fmt.Sprintf("%.1f", b.GB())
}
