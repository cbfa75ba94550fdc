package render

import (
	"strings"

	"github.com/sglplan/sglplan/planner"
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

// gpuSegments maps ledger entries to their places in the bar.
var gpuSegments = map[string]segment{
	"weights":     {"weights", 0, blue, '█', '#'},
	"draft":       {"draft", 0, purple, '█', 'D'},
	"kv_pool":     {"KV", 0, cyan, '█', 'K'},
	"buffers":     {"buffers", 0, purple, '▒', 'b'},
	"cuda_graphs": {"graphs", 0, yellow, '▓', 'g'},
	"activations": {"activations", 0, yellow, '░', 'a'},
	"headroom":    {"free", 0, dim, '·', '.'},
}

// stack is one stacked bar: what a memory is used for. The last segment is
// what is left; it is negative when too much is asked.
type stack struct {
	label string
	segs  []segment
	room  units.Bytes
	in    func(units.Bytes) float64
	unit  string
}

func (s stack) left() units.Bytes { return s.segs[len(s.segs)-1].bytes }

// said is the figure beside the bar.
func (s stack) said() string {
	if l := s.left(); l < 0 {
		return short(s.in(-l)) + " " + s.unit + " too much for " + short(s.in(s.room))
	}
	return short(s.in(s.left())) + " of " + short(s.in(s.room)) + " " + s.unit + " free"
}

// gpuStack is what the tightest GPU is used for.
func gpuStack(p *planner.Plan) (stack, bool) {
	g := p.GPU
	if g == nil || g.PreLoadFreeBytes <= 0 {
		return stack{}, false
	}
	var segs []segment
	for _, e := range g.Ledger {
		if s, ok := gpuSegments[e.Name]; ok {
			s.bytes = e.Bytes
			segs = append(segs, s)
		}
	}
	return stack{"GPU", segs, g.PreLoadFreeBytes, units.Bytes.GiB, "GiB"}, len(segs) > 0
}

// hostStack is what the host's memory is used for.
func hostStack(p *planner.Plan) (stack, bool) {
	h := p.Host
	if h == nil || h.AvailableBytes <= 0 {
		return stack{}, false
	}
	return stack{"Host", []segment{
		{"pools", h.TotalBytes, cyan, '█', 'P'},
		{"processes", h.LoadBytes, blue, '▓', 'p'},
		{"reserve", h.ReserveBytes, yellow, '░', 'r'},
		{"free", h.AvailableBytes - h.TotalBytes - h.LoadBytes - h.ReserveBytes, dim, '·', '.'},
	}, h.AvailableBytes, units.Bytes.GB, "GB"}, true
}

// bars draws a bar for a GPU and one for the host, of one length.
func (o Options) bars(b *strings.Builder, p *planner.Plan) {
	var all []stack
	longest := 0
	for _, make := range []func(*planner.Plan) (stack, bool){gpuStack, hostStack} {
		if s, ok := make(p); ok {
			all = append(all, s)
			longest = max(longest, len(s.said()))
		}
	}
	if len(all) == 0 {
		return
	}
	b.WriteByte('\n')
	for _, s := range all {
		o.drawStack(b, s, o.width()-len("Host ")-3-longest)
	}
}

// drawStack writes a bar of some columns with the room left at its right, and
// its legend below.
func (o Options) drawStack(b *strings.Builder, s stack, columns int) {
	st := style("")
	if s.left() < 0 {
		st = red
	}
	said := o.styled(st, s.said())
	lead := s.label + strings.Repeat(" ", len("Host ")-len(s.label))
	if columns < 20 { // a narrow terminal: the figure goes on a line of its own
		b.WriteString(lead + said + "\n  " + o.bar(s.segs, s.room, o.width()-4) + "\n")
	} else {
		b.WriteString(lead + o.bar(s.segs, s.room, columns) + " " + said + "\n")
	}
	legend := newFlow("  ", "  ", "  ", o.width())
	for _, g := range s.segs[:len(s.segs)-1] {
		if g.bytes != 0 {
			legend.add(o.paint(g.style, string(o.rune(g))) + " " + g.name + " " + short(s.in(g.bytes)))
		}
	}
	if legend.begun {
		legend.add(s.unit)
		b.WriteString(legend.line())
	}
}

func (o Options) rune(s segment) rune {
	if o.ASCII {
		return s.plain
	}
	return s.fill
}

// bar draws the segments to scale over the columns given; scale is what the
// whole width stands for. Whatever is over the scale is cut at the right edge
// and marked, so that a need of six times the room is seen as too much at one
// glance. Every segment that is not empty gets at least one column.
func (o Options) bar(segs []segment, scale units.Bytes, columns int) string {
	var b strings.Builder
	used, sum := 0, units.Bytes(0)
	for _, s := range segs {
		if s.bytes <= 0 {
			continue
		}
		sum += s.bytes
		end := int(min(float64(sum)/float64(scale), 2)*float64(columns) + 0.5)
		n := min(max(end-used, 1), columns-used)
		if n <= 0 {
			continue
		}
		b.WriteString(o.paint(s.style, strings.Repeat(string(o.rune(s)), n)))
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
