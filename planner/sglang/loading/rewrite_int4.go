package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// marlinBlocks is how many int32 words per multiprocessor a Marlin workspace
// has (marlin_make_workspace with four blocks); smCount stands for the card's
// multiprocessors, whose exact number changes some kilobytes.
const (
	marlinBlocks = 4
	smCount      = 132
)

// int4Experts repacks int4 experts for Marlin: the index tables are emptied
// when there is no act-order, each tensor is repacked into a copy that lives
// until the layer is done, and copied back into its place.
func (l *loader) int4Experts(m *weights.Module) {
	if l.back.trtllm() {
		l.int4Trtllm(m)
		return
	}
	if l.back.moe == "triton" {
		return
	}
	r, g, s := l.mem, m.Group, m.Scheme
	if !s.ActOrder {
		for _, i := range []int{weights.A, weights.B, weights.C, weights.D} {
			r.Free(m.Held[i])
			m.Held[i] = 0
		}
	}
	per := 32 / max(s.Bits, 1)
	g1, g2 := int64(1), int64(1)
	if s.Group > 0 {
		g1, g2 = m.In/s.Group, m.Inter/s.Group
	}
	k := m.Gate() * m.Inter
	var temp []weights.Handle
	repack := func(d weights.DType, rows, cols int64) {
		temp = append(temp, r.New(g, d, m.Experts, rows, cols))
		r.Free(r.New(g, d, rows, cols)) // one expert at a time
	}
	repack(weights.I32, m.In/per, k)
	repack(weights.I32, m.Inter/per, m.In)
	repack(weights.BF16, g1, k)
	repack(weights.BF16, g2, m.In)
	if s.Zeros {
		repack(weights.I32, g1, k/per)
		repack(weights.I32, g2, m.In/per)
	}
	if l.rel.AtLeast("0.5.10") {
		r.New(g, weights.I32, smCount*marlinBlocks)
	}
	for _, h := range temp {
		r.Free(h)
	}
}

// int4Trtllm shuffles int4 experts for TensorRT-LLM, each into a copy, and
// joins them; the row orders it works out stay cached for each layer.
func (l *loader) int4Trtllm(m *weights.Module) {
	t := l.temps(m.Group)
	k, s := m.Gate()*m.Inter, max(m.Scheme.Group, 1)
	l.stack(t, &m.Held[weights.W], m.Group, weights.U8, m.Experts, k*m.In/2)
	l.stack(t, &m.Held[weights.W2], m.Group, weights.U8, m.Experts, m.In*m.Inter/2)
	l.stack(t, &m.Held[weights.S], m.Group, weights.BF16, m.Experts, k*m.In/s)
	l.stack(t, &m.Held[weights.S2], m.Group, weights.BF16, m.Experts, m.In*m.Inter/s)
	t.free()
	for range 2 {
		l.mem.New(m.Group, weights.I64, m.In)
		l.mem.New(m.Group, weights.I64, k)
	}
}

// int4Linear repacks a projection for Marlin, each tensor into a fresh one.
func (l *loader) int4Linear(m *weights.Module) {
	if m.Kind != weights.Linear {
		return
	}
	r, g, s := l.mem, m.Group, m.Scheme
	per := 32 / max(s.Bits, 1)
	groups := int64(1)
	if s.Group > 0 {
		groups = m.In / s.Group
	}
	r.New(g, weights.I32, smCount)
	t := l.temps(g)
	t.add(weights.I32, m.In/per, m.Out)
	r.Swap(&m.Held[weights.W], g, weights.I32, m.In/per, m.Out)
	t.free()
	r.Swap(&m.Held[weights.S], g, weights.BF16, groups, m.Out)
	if s.Zeros {
		r.Swap(&m.Held[weights.A], g, weights.I32, groups, m.Out/per)
	}
}
