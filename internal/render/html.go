package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

//go:embed report.html.tmpl
var reportText string

// report is parsed when the first page is written: the other formats do not
// pay for it.
var reportPage = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{
		"upper": strings.ToUpper, "fix": fixText, "said": textOf,
		"odd": func(i int) bool { return i%2 == 1 },
	}).Parse(reportText)
})

// page is what the template shows.
type page struct {
	Title string
	Plans []view
}

// view is one plan with its pictures worked out.
type view struct {
	*planner.Plan
	Subject, Headline, Place string
	Bars                     []barView
	Ledger                   []ledgerRow
	Details                  []row
	Chart                    *chart
	Ranges                   string // where the sweep is safe, tight and failing
	RunTitle, Command        string
	Errors, Warnings         []finding.Finding
	Infos                    []finding.Finding
}

// barView is a stacked bar; Room is where the memory ends, in percent of the
// width.
type barView struct {
	Title, Said string
	Parts       []part
	Room        float64
	Over        bool
}

// part is one piece of a stacked bar, in percent of the width.
type part struct {
	Name, Class, Size string
	Percent           float64
}

// ledgerRow is a line of the GPU's ledger.
type ledgerRow struct{ Name, Bytes, Band, Basis, Note string }

// chart is the sweep as an SVG of 640 by 200 units and a line of labels.
type chart struct {
	Bars  []chartBar
	Ticks []tick
	Mark  *tick // the recommended fraction
	Top   string
}

type chartBar struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

type tick struct {
	X      float64
	Label  string
	Anchor string // of the text: start, middle or end
}

// HTML writes one self-contained page: no script, no network, dark and light.
func HTML(w io.Writer, plans []*planner.Plan) error {
	t, err := reportPage()
	if err != nil {
		return err
	}
	pg := page{Title: "sglplan"}
	for _, p := range plans {
		pg.Plans = append(pg.Plans, newView(p))
	}
	if len(pg.Plans) == 1 {
		pg.Title = strings.ToUpper(string(plans[0].Verdict)) + " " + pg.Plans[0].Subject
	}
	return t.Execute(w, pg)
}

func newView(p *planner.Plan) view {
	v := view{Plan: p, Subject: subject(p), Headline: headline(p), Chart: newChart(p)}
	if s := p.Source; s != nil {
		v.Place = place(&finding.Position{File: s.File, Line: s.Line, Container: s.Container})
	}
	if s, ok := gpuStack(p); ok {
		v.Bars = append(v.Bars, newBar(s, "GPU, free on each before the load"))
	}
	if s, ok := hostStack(p); ok {
		v.Bars = append(v.Bars, newBar(s, "Host, "+hostLimit(p.Host)))
	}
	if g := p.GPU; g != nil {
		for _, e := range g.Ledger {
			r := ledgerRow{segmentName(e.Name), gib(e.Bytes), "", string(e.Basis), e.Note}
			if e.Low != e.High {
				r.Band = gib(e.Low) + " to " + gib(e.High)
			}
			v.Ledger = append(v.Ledger, r)
		}
	}
	v.Details = append(gpuRows(p.GPU), hostRows(p.Host)...)
	if len(p.Sweep) > 0 {
		v.Ranges = ranges(p.Sweep)
	}
	if v.RunTitle = runTitle(p); v.RunTitle != "" {
		v.Command = Command(p.Recommend.Argv, "", 72)
	}
	for _, f := range p.Findings {
		switch f.Severity {
		case finding.Error:
			v.Errors = append(v.Errors, f)
		case finding.Warning:
			v.Warnings = append(v.Warnings, f)
		default:
			v.Infos = append(v.Infos, f)
		}
	}
	return v
}

// segmentName is the name of a ledger line in words.
func segmentName(name string) string {
	switch name {
	case "kv_pool":
		return "KV pool"
	case "cuda_graphs":
		return "CUDA graphs"
	case "headroom":
		return "left over"
	}
	return name
}

// newBar scales a stack to its width: the memory, or what is asked where that
// is more.
func newBar(s stack, title string) barView {
	sum := s.room - s.left()
	scale := float64(max(sum, s.room))
	b := barView{Title: title, Said: s.said(), Room: float64(s.room) / scale * 100, Over: s.left() < 0}
	for _, g := range s.segs {
		if g.bytes > 0 {
			b.Parts = append(b.Parts, part{g.name, g.class(), short(s.in(g.bytes)) + " " + s.unit, float64(g.bytes) / scale * 100})
		}
	}
	return b
}

// class is the CSS class of a segment, its colour.
func (s segment) class() string { return strings.ToLower(s.name) }

const chartWidth, chartHeight, chartTop = 640.0, 200.0, 14.0

func newChart(p *planner.Plan) *chart {
	n := len(p.Sweep)
	if n == 0 {
		return nil
	}
	var most int64 = 1
	for _, s := range p.Sweep {
		most = max(most, s.MaxTotalNumTokens)
	}
	c := &chart{Top: count(most) + " tokens"}
	step := chartWidth / float64(n)
	for i, s := range p.Sweep {
		h := max(float64(s.MaxTotalNumTokens)/float64(most)*(chartHeight-chartTop), 2)
		x := float64(i) * step
		c.Bars = append(c.Bars, chartBar{X: x + step*0.1, Y: chartHeight - h, W: step * 0.8, H: h, Class: string(s.Verdict),
			Title: fmt.Sprintf("%s: %s tokens, %s GiB left, %s %s", fraction(s.MemFractionStatic), count(s.MaxTotalNumTokens), gib(s.PoolEndFreeBytes), s.Verdict, s.Phase)})
		if i%max(n/8, 1) == 0 {
			c.Ticks = append(c.Ticks, newTick(x+step/2, fraction(s.MemFractionStatic)))
		}
		if r := p.Recommend; r != nil && r.MemFractionStatic != nil && *r.MemFractionStatic == s.MemFractionStatic {
			m := newTick(x+step/2, fraction(s.MemFractionStatic))
			c.Mark = &m
		}
	}
	return c
}

// newTick keeps a label inside the picture.
func newTick(x float64, label string) tick {
	t := tick{x, label, "middle"}
	switch {
	case x < chartWidth/10:
		t.Anchor = "start"
	case x > chartWidth*9/10:
		t.Anchor = "end"
	}
	return t
}
