package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sglplan/sglplan/planner"
)

// Sweep writes fraction against tokens, headroom and verdict: a table, with a
// bar of the tokens that turns colour where the launch stops being safe.
func Sweep(w io.Writer, p *planner.Plan, o Options) error {
	var b strings.Builder
	o.head(&b, p)
	if len(p.Sweep) == 0 {
		o.findings(&b, p)
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteByte('\n')
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if o.ASCII {
		t.SetStyle(table.StyleDefault)
	}
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"fraction", "tokens", "left GiB", "headroom GiB", "verdict", ""})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Align: text.AlignRight}, {Number: 2, Align: text.AlignRight},
		{Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight},
	})
	var most int64
	for _, s := range p.Sweep {
		most = max(most, s.MaxTotalNumTokens)
	}
	columns := max(min(o.width(), 110)-64, 8)
	for _, s := range p.Sweep {
		v := string(s.Verdict)
		if s.Phase != "" {
			v += ", " + s.Phase
		}
		t.AppendRow(table.Row{
			fraction(s.MemFractionStatic) + o.mark(p, s.MemFractionStatic), count(s.MaxTotalNumTokens), gib(s.PoolEndFreeBytes),
			gib(s.HeadroomBytes), o.paint(verdictStyle[s.Verdict], v), o.tokenBar(s, most, columns),
		})
	}
	b.WriteString(t.Render() + "\n")
	if r := p.Recommend; r != nil && r.MemFractionStatic != nil {
		fmt.Fprintf(&b, "\n* recommended: the largest fraction that leaves more than the high end of both needs\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark stars the recommended fraction.
func (o Options) mark(p *planner.Plan, f float64) string {
	if r := p.Recommend; r != nil && r.MemFractionStatic != nil && *r.MemFractionStatic == f {
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
