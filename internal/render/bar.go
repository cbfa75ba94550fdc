package render

import (
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// segment is one part of a stacked bar.
type segment struct {
	name  string
	bytes units.Bytes
	style style
	fill  rune // with box-drawing characters
	plain rune // without
}

// bar draws the segments to scale over the columns given; scale is what the
// whole width stands for. Whatever is over the scale is cut at the right edge
// and marked, so that a need of six times the room is seen as too much at one
// glance. Every segment that is not empty gets at least one column.
func (o Options) bar(segs []segment, scale units.Bytes, columns int) string {
	if scale <= 0 || columns < 10 {
		return ""
	}
	var b strings.Builder
	used, sum := 0, units.Bytes(0)
	for _, s := range segs {
		if s.bytes <= 0 {
			continue
		}
		sum += s.bytes
		end := int(float64(sum)/float64(scale)*float64(columns) + 0.5)
		n := max(end-used, 1)
		n = min(n, columns-used)
		if n <= 0 {
			continue
		}
		r := s.fill
		if o.ASCII {
			r = s.plain
		}
		b.WriteString(o.paint(s.style, strings.Repeat(string(r), n)))
		used += n
	}
	b.WriteString(strings.Repeat(" ", columns-used))
	left, right := "▕", "▏"
	if o.ASCII {
		left, right = "[", "]"
	}
	if sum > scale+scale/200 {
		right = o.paint(red, ">")
	}
	return left + b.String() + right
}
