package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/units"
)

// Model writes the geometry of a model on a rank and what its weights take
// there.
func Model(w io.Writer, m *planner.ModelInfo, o Options) error {
	var rows []row
	if m.Architecture != "" {
		rows = []row{
			{"architecture", m.Architecture}, {"attention", m.Attention},
			{"layers", fmt.Sprintf("%d, %d with KV", m.Layers, m.KVLayers)},
			{"KV heads per rank", fmt.Sprint(m.KVHeadsPerRank)},
		}
	}
	if m.KVBytesPerToken != nil {
		rows = append(rows, row{"KV per token", bytesPerToken(*m.KVBytesPerToken) + " B"})
	}
	for _, p := range m.Pools {
		what := bytesPerToken(p.BytesPerToken) + " B a token"
		if p.BytesPerSlot > 0 {
			what = p.BytesPerSlot.String() + " a slot"
		}
		rows = append(rows, row{"pool " + p.Name, fmt.Sprintf("%d layers, %s", p.Layers, what)})
	}
	if m.WeightsBytes != nil && m.LoadBytes != nil {
		rows = append(rows, row{"weights per rank", band(*m.WeightsBytes, gib) + " GiB"}, row{"loading takes", band(*m.LoadBytes, gib) + " GiB"})
	}
	for _, g := range m.Weights {
		rows = append(rows, row{"  " + g.Name, fmt.Sprintf("%8s GiB  %s", gib(units.Bytes(g.Bytes)), g.Sharding)})
	}
	var b strings.Builder
	o.table(&b, rows)
	if len(m.Findings) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		o.problems(&b, m.Findings)
		o.notes(&b, m.Findings)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table aligns the texts of rows.
func (o Options) table(b *strings.Builder, rows []row) {
	widest := 0
	for _, r := range rows {
		widest = max(widest, columnsOf(word(r.Name)))
	}
	for _, r := range rows {
		name := word(r.Name)
		b.WriteString(o.paint(dim, name+strings.Repeat(" ", widest-columnsOf(name)+2)) + word(r.Text) + "\n")
	}
}
