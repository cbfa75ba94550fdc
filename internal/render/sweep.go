package render

import (
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sglplan/sglplan/planner"
)

// Sweep writes fraction against tokens, headroom and verdict: what is safe in
// one sentence, then a table with a bar of the tokens that turns colour where
// the launch stops being safe.
func Sweep(w io.Writer, p *planner.Plan, o Options) error {
	var b strings.Builder
	if len(p.Sweep) == 0 {
		o.head(&b, p)
		o.wrong(&b, p)
		o.furtherNotes(&b, p.Findings)
		_, err := io.WriteString(w, b.String())
		return err
	}
	o.title(&b, p)
	if p.GPU != nil && p.GPU.MaxTotalNumTokens != nil {
		b.WriteString(o.para("", "As given, at "+fraction(p.GPU.MemFraction)+": "+gives(p), ""))
	}
	b.WriteString(o.para("", ranges(p.Sweep), ""))
	b.WriteString("\n" + o.sweepTable(p))
	if recommended(p) != nil {
		b.WriteString("\n" + o.para(dim, "* recommended: the largest fraction that leaves more than the high end of both needs", ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func recommended(p *planner.Plan) *float64 {
	if p.Recommend == nil {
		return nil
	}
	return p.Recommend.MemFractionStatic
}

// ranges says where the launch is safe, where tight and where it fails.
func ranges(points []planner.SweepPoint) string {
	names := map[planner.Verdict]string{planner.OK: "safe", planner.Warn: "tight", planner.Reject: "fails"}
	var parts []string
	for from := 0; from < len(points); {
		to := from
		for to+1 < len(points) && points[to+1].Verdict == points[from].Verdict && points[to+1].Phase == points[from].Phase {
			to++
		}
		s := fraction(points[from].MemFractionStatic)
		if to > from {
			s += " to " + fraction(points[to].MemFractionStatic)
		}
		s += " " + names[points[from].Verdict]
		if ph := points[from].Phase; ph != "" {
			s += " (" + ph + ")"
		}
		parts = append(parts, s)
		from = to + 1
	}
	return "Fractions: " + strings.Join(parts, ", ") + "."
}

func (o Options) sweepTable(p *planner.Plan) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if o.ASCII {
		t.SetStyle(table.StyleDefault)
	}
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	narrow := o.width() < 72
	head := table.Row{"fraction", "tokens", "left GiB", "headroom", "verdict", ""}
	right := []table.ColumnConfig{{Number: 1, Align: text.AlignRight}, {Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}}
	if narrow {
		head = table.Row{"fraction", "tokens", "verdict"}
		right = right[:2]
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(right)
	var most int64
	for _, s := range p.Sweep {
		most = max(most, s.MaxTotalNumTokens)
	}
	columns := max(o.width()-64, 8)
	for i, s := range p.Sweep {
		if !shown(p, i) {
			continue
		}
		v := string(s.Verdict)
		if s.Phase != "" && o.width() >= 48 {
			v += ", " + s.Phase
		}
		row := table.Row{fraction(s.MemFractionStatic) + mark(p, s.MemFractionStatic), count(s.MaxTotalNumTokens)}
		if !narrow {
			row = append(row, gib(s.PoolEndFreeBytes), gib(s.HeadroomBytes))
		}
		row = append(row, o.paint(verdictStyle[s.Verdict], v))
		if !narrow {
			row = append(row, o.tokenBar(s, most, columns))
		}
		t.AppendRow(row)
	}
	var b strings.Builder
	for line := range strings.Lines(t.Render() + "\n") {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// shown thins a long sweep out to every other fraction; where the verdict
// changes, and the recommended fraction, always show.
func shown(p *planner.Plan, i int) bool {
	s := p.Sweep
	switch {
	case len(s) <= 24, i == 0, i == len(s)-1, mark(p, s[i].MemFractionStatic) == "*":
		return true
	case s[i].Verdict != s[i-1].Verdict, s[i].Phase != s[i-1].Phase, s[i].Verdict != s[i+1].Verdict, s[i].Phase != s[i+1].Phase:
		return true
	}
	every := 10 * int(math.Ceil(float64(len(s))/48)) // thousandths
	return int(math.Round(s[i].MemFractionStatic*1000))%every == 0
}

// mark stars the recommended fraction.
func mark(p *planner.Plan, f float64) string {
	if r := recommended(p); r != nil && *r == f {
		return "*"
	}
	return " "
}

func (o Options) tokenBar(s planner.SweepPoint, most int64, columns int) string {
	if most <= 0 || s.MaxTotalNumTokens <= 0 {
		return ""
	}
	n := max(int(float64(s.MaxTotalNumTokens)/float64(most)*float64(columns)+0.5), 1)
	r := "█"
	if o.ASCII {
		r = "#"
	}
	return o.paint(verdictStyle[s.Verdict], strings.Repeat(r, n))
}
