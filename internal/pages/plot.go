package main

import (
	"fmt"
	"math"
	"strings"
)

// The plot has two panels, both logarithmic on both axes: tokens, and sizes
// in GiB. A point on the diagonal is a prediction that came true; the pale
// strip around it is five percent.
const (
	panel  = 340.0 // side of a panel
	margin = 64.0
	gutter = 70.0
)

// series is a set of points of one look.
type series struct {
	class, name string
	points      []pair
}

// accuracyPlot draws predicted against logged. Colours follow the reader's
// scheme; shapes tell the series apart without colour.
func accuracyPlot(rows []row) string {
	width, height := 2*margin+2*panel+gutter, panel+2*margin-16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="t d" font-family="system-ui, sans-serif">
<title id="t">Predicted against logged</title>
<desc id="d">Two log-log scatter plots of embedded launches: token counts on the left, memory sizes on the right. Nearly all points lie on the diagonal.</desc>
<style>
svg{color:#656d76}.axis{stroke:currentColor;stroke-width:1;fill:none}.grid{stroke:currentColor;stroke-opacity:.14}.text{fill:currentColor;font-size:13px}.small{font-size:11.5px}
.strip{fill:currentColor;fill-opacity:.12}.diagonal{stroke:currentColor;stroke-opacity:.55}
.a{fill:#0969da;fill-opacity:.75}.b{fill:none;stroke:#bc4c00;stroke-width:1.8}.c{fill:#1a7f37;fill-opacity:.8}.d{fill:none;stroke:#8250df;stroke-width:1.8}
@media (prefers-color-scheme:dark){svg{color:#e6edf3}.a{fill:#58a6ff}.b{stroke:#f0883e}.c{fill:#56d364}.d{stroke:#bc8cff}}
</style>
`, width, height)
	plotPanel(&b, margin, "KV tokens (max_total_num_tokens)", split(pairs(rows, tokensBegin)), thousandsShort)
	plotPanel(&b, margin+panel+gutter, "GiB per GPU", []series{
		{"a", "weights", pairs(rows, weights)},
		{"c", "free after the pools", pairs(rows, poolEnd)},
		{"b", "rest of the start", pairs(rows, needStart)},
		{"d", "serving", pairs(rows, needServing)},
	}, func(v float64) string { return fmt.Sprintf("%g", v) })
	b.WriteString("</svg>\n")
	return b.String()
}

// split tells measured points from public ones.
func split(ps []pair) []series {
	m, p := series{class: "a", name: "measured on H200"}, series{class: "b", name: "public logs"}
	for _, x := range ps {
		if x.Measured {
			m.points = append(m.points, x)
		} else {
			p.points = append(p.points, x)
		}
	}
	return []series{m, p}
}

func thousandsShort(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gK", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}

// scale maps decades to pixels.
type scale struct{ low, high float64 } // exponents of ten

func (s scale) at(v float64) float64 {
	return panel * (math.Log10(v) - s.low) / (s.high - s.low)
}

func scaleOf(all []series) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range all {
		for _, p := range s.points {
			low, high = min(low, p.value, p.logged), max(high, p.value, p.logged)
		}
	}
	return scale{math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))}
}

func plotPanel(b *strings.Builder, left float64, name string, all []series, label func(float64) string) {
	top, s := margin, scaleOf(all)
	x := func(v float64) float64 { return left + s.at(v) }
	y := func(v float64) float64 { return top + panel - s.at(v) }
	fmt.Fprintf(b, `<text class="text" x="%.1f" y="%.1f" font-weight="600">%s</text>`+"\n", left, top-46, name)
	for e := s.low; e <= s.high; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fV%.1fM%.1f %.1fH%.1f"/>`, x(v), top, top+panel, left, y(v), left+panel)
		fmt.Fprintf(b, `<text class="text small" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x(v), top+panel+18, label(v))
		fmt.Fprintf(b, `<text class="text small" x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", left-7, y(v)+4, label(v))
	}
	low, high := math.Pow(10, s.low), math.Pow(10, s.high)
	fmt.Fprintf(b, `<clipPath id="p%.0f"><path d="M%.1f %.1fh%.1fv%.1fh-%.1fz"/></clipPath>`, left, left, top, panel, panel, panel)
	fmt.Fprintf(b, `<path class="strip" clip-path="url(#p%.0f)" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fz"/>`, left,
		x(low), y(low*1.05), x(high), y(high*1.05), x(high), y(high*0.95), x(low), y(low*0.95))
	fmt.Fprintf(b, `<path class="diagonal" d="M%.1f %.1fL%.1f %.1f"/>`, x(low), y(low), x(high), y(high))
	fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fV%.1fH%.1f"/>`+"\n", left, top, top+panel, left+panel)
	for _, se := range all {
		for _, p := range se.points {
			fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="4"><title>%s: predicted %s, logged %s</title></circle>`+"\n",
				se.class, x(p.logged), y(p.value), p.ID, label(round3(p.value)), label(round3(p.logged)))
		}
	}
	legend(b, left, top-28, all)
	fmt.Fprintf(b, `<text class="text small" x="%.1f" y="%.1f" text-anchor="middle">logged</text>`, left+panel/2, top+panel+38)
	fmt.Fprintf(b, `<text class="text small" transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle">predicted</text>`+"\n", left-44, top+panel/2)
}

// legend wraps where the panel ends.
func legend(b *strings.Builder, left, y float64, all []series) {
	x := left
	for _, s := range all {
		width := 30 + 6.8*float64(len(s.name))
		if x > left && x+width > left+panel+20 {
			x, y = left, y+17
		}
		fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="4"/><text class="text small" x="%.1f" y="%.1f">%s</text>`+"\n", s.class, x+4, y-4, x+13, y, s.name)
		x += width
	}
}

// round3 keeps four significant digits.
func round3(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}
