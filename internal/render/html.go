package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

//go:embed report.html.tmpl
var reportText string

// report is parsed when the first page is written: the other formats do not
// pay for it.
var reportPage = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{
		"count": count, "fraction": fraction, "lower": strings.ToLower,
		"gib": gib, "gb": gb,
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
	Model, Headline, Place string
	GPUBar, HostBar        []part
	Overflow               string // how far the host demand goes beyond the room
	Chart                  *chart
	Command                string
	Errors, Warnings       []finding.Finding
	Infos                  []finding.Finding
}

// part is one piece of a stacked bar, in percent of the whole.
type part struct {
	Name, Class, Size string
	Percent           float64
}

// chart is the sweep as an SVG of 640 by 200 units.
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
	X     float64
	Label string
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
		pg.Title = strings.ToUpper(string(plans[0].Verdict)) + " " + pg.Plans[0].Model
	}
	return t.Execute(w, pg)
}

func newView(p *planner.Plan) view {
	v := view{Plan: p, Model: path.Base(p.Launch.ModelPath), Headline: headline(p)}
	if s := p.Source; s != nil {
		v.Place = place(&finding.Position{File: s.File, Line: s.Line, Container: s.Container})
	}
	if g := p.GPU; g != nil && g.PreLoadFreeBytes > 0 {
		for _, e := range g.Ledger {
			if s, ok := gpuSegments[e.Name]; ok && e.Bytes > 0 {
				v.GPUBar = append(v.GPUBar, newPart(s.name, e.Name, e.Bytes, g.PreLoadFreeBytes, gib(e.Bytes)+" GiB"))
			}
		}
	}
	if h := p.Host; h != nil && h.AvailableBytes > 0 {
		sum := h.TotalBytes + h.LoadBytes + h.ReserveBytes
		scale := max(sum, h.AvailableBytes)
		v.HostBar = []part{
			newPart("pools", "kv_pool", h.TotalBytes, scale, gb(h.TotalBytes)+" GB"),
			newPart("processes", "weights", h.LoadBytes, scale, gb(h.LoadBytes)+" GB"),
			newPart("reserve", "cuda_graphs", h.ReserveBytes, scale, gb(h.ReserveBytes)+" GB"),
			newPart("free", "headroom", h.AvailableBytes-min(sum, h.AvailableBytes), scale, gb(h.AvailableBytes-min(sum, h.AvailableBytes))+" GB"),
		}
		if sum > h.AvailableBytes {
			v.Overflow = fmt.Sprintf("%s GB are wanted and %s GB are there: %.1f times the room.", gb(sum), gb(h.AvailableBytes), float64(sum)/float64(h.AvailableBytes))
		}
	}
	v.Chart = newChart(p)
	if r := p.Recommend; r != nil && len(r.Argv) > 0 && len(r.Changed) > 0 {
		v.Command = Command(r.Argv, "", 72)
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

func newPart(name, class string, b, scale units.Bytes, size string) part {
	return part{Name: name, Class: class, Size: size, Percent: max(0, float64(b)/float64(scale)*100)}
}

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
			c.Ticks = append(c.Ticks, tick{x + step/2, fraction(s.MemFractionStatic)})
		}
		if r := p.Recommend; r != nil && r.MemFractionStatic != nil && *r.MemFractionStatic == s.MemFractionStatic {
			c.Mark = &tick{x + step/2, fraction(s.MemFractionStatic)}
		}
	}
	return c
}
