package render

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
)

// row is one line of the details.
type row struct{ Name, Text string }

// details are the figures behind the bars, with their bands.
func (o Options) details(b *strings.Builder, p *planner.Plan) {
	rows := append(gpuRows(p.GPU), hostRows(p.Host)...)
	if len(rows) == 0 {
		return
	}
	b.WriteByte('\n')
	for _, r := range rows {
		lead := fmt.Sprintf("%-12s ", r.Name)
		b.WriteString(newFlow(o.paint(dim, lead), strings.Repeat(" ", len(lead)), " ", o.width()).text(o, "", r.Text).line())
	}
}

func gpuRows(g *planner.GPU) []row {
	if g == nil || g.PreLoadFreeBytes <= 0 || g.MaxTotalNumTokens == nil {
		return nil
	}
	rows := []row{
		{"weights", fmt.Sprintf("%s of %s GiB free on each GPU before the load", band(g.WeightsBytes, gib), band(g.PreLoad, gib))},
		{"tokens", fmt.Sprintf("%s at mem-fraction-static %s, %s B each", band(*g.MaxTotalNumTokens, count), fraction(g.MemFraction), bytesPerToken(g.KVBytesPerToken))},
	}
	if left, start, serving := g.PoolEndFreeBytes, g.NeedStartBytes, g.NeedServingBytes; left != nil && start != nil && serving != nil {
		rows = append(rows, row{"left over", fmt.Sprintf("%s GiB after the pools; start takes %s, serving %s", band(*left, gib), band(*start, gib), band(*serving, gib))})
	}
	if g.TokensPerWeightsPct > 0 {
		rows = append(rows, row{"sensitivity", fmt.Sprintf("1 %% of weights is %.1f %% of tokens at this fraction", g.TokensPerWeightsPct)})
	}
	return rows
}

func hostRows(h *hostledger.Ledger) []row {
	if h == nil || h.AvailableBytes <= 0 {
		return nil
	}
	rows := []row{{"host", gb(h.AvailableBytes) + " GB " + hostLimit(h)}}
	if h.TotalBytes > 0 {
		rows = append(rows, row{"host pools", fmt.Sprintf("%s GB x %d ranks = %s GB pinned", gb(h.PerRankBytes), h.Ranks, gb(h.TotalBytes))})
	}
	if g := h.Guard; g != nil && g.Verdict != "" && h.TotalBytes > 0 {
		rows = append(rows, row{"guard", "SGLang's own check " + guardText(g)})
	}
	return rows
}

func bytesPerToken(c float64) string {
	if c == float64(int64(c)) {
		return count(int64(c))
	}
	return fmt.Sprintf("%.1f", c)
}

// band prints a value with its band where there is one.
func band[T ~int64](f figure.Of[T], print func(T) string) string {
	if f.Low == f.High {
		return print(f.Value)
	}
	return fmt.Sprintf("%s (%s..%s)", print(f.Value), print(f.Low), print(f.High))
}

func hostLimit(h *hostledger.Ledger) string {
	switch string(h.Limit) {
	case "cgroup":
		return "available inside this container's limit"
	case "option":
		return "available, as given"
	case "file":
		return "available by the limit in the file"
	}
	return "available"
}

func guardText(g *hicache.Guard) string {
	switch g.Verdict {
	case "pass":
		return "passes: each rank looks at the whole host alone"
	case "refuse":
		return "refuses"
	}
	s := "depends on the order in which ranks arrive"
	if g.SureHicacheSize != nil {
		s += fmt.Sprintf("; --hicache-size %d passes for certain", *g.SureHicacheSize)
	}
	return s
}
