package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// nvfp4Linear interleaves the block scales (rows padded to 128, columns to 4),
// or repacks for Marlin on cards without fp4.
func (l *loader) nvfp4Linear(m *weights.Module) {
	r, g, s := l.mem, m.Group, max(m.Scheme.Group, 1)
	r.New(g, weights.FP32, 1)
	r.New(g, weights.FP32, 1)
	if l.marlinNVFP4(m) {
		r.New(g, weights.I32, smCount)
		t := l.temps(g)
		t.add(weights.I32, m.In/8, m.Out)
		r.Swap(&m.Held[weights.W], g, weights.U8, m.Out, m.In/2)
		t.free()
		t.add(weights.BF16, m.Out, m.In/s)
		t.add(weights.BF16, m.Out, m.In/s)
		r.Swap(&m.Held[weights.S], g, weights.FP8, m.Out, m.In/s)
		t.free()
		return
	}
	rows, cols := align(m.Out, 128), align(m.In/s, 4)
	if out, in := align(m.Out, 32), align(m.In, 32); out != m.Out || in != m.In {
		r.Swap(&m.Held[weights.W], g, weights.U8, out, in/2)
	}
	t := l.temps(g)
	t.add(weights.FP8, rows, cols)
	t.add(weights.FP8, m.Out, m.In/s) // snapshot of the scales as read
	done := r.New(g, weights.FP8, rows, cols)
	t.free()
	if rows == m.Out && cols == m.In/s {
		r.Free(done) // copied back into its place
	}
	if m.Group == weights.SharedExperts && m.Parts == 2 && l.swigluInterleaved(m) {
		r.Swap(&m.Held[weights.W], g, weights.U8, m.Out, m.In/2)
		r.Swap(&m.Held[weights.S], g, weights.FP8, m.Out, m.In/s)
	}
}

// swigluInterleaved: a shared expert whose activation is fused into the fp4
// kernel keeps its gate and up rows interleaved, in fresh tensors.
func (l *loader) swigluInterleaved(m *weights.Module) bool {
	return l.card.Major == 10 && l.rel.AtLeast("0.5.17") && m.Out%128 == 0
}

// marlinNVFP4 reports weight-only kernels: cards before Blackwell, and
// checkpoints that quantise the weights alone on 10.x from 0.5.18 on.
func (l *loader) marlinNVFP4(m *weights.Module) bool {
	if l.card.Major > 0 && l.card.Major < 10 || l.back.moe == runMarlin {
		return true
	}
	return m.Scheme.WeightOnly
}

// nvfp4Experts follows ModelOptNvFp4FusedMoEMethod.process_weights_after_loading.
func (l *loader) nvfp4Experts(m *weights.Module) {
	r, g := l.mem, m.Group
	for range 5 { // alphas and input scales
		r.New(g, weights.FP32, m.Experts)
	}
	switch {
	case l.back.trtllm():
		l.nvfp4Trtllm(m)
	case l.back.moe == runMarlin || l.card.Major > 0 && l.card.Major < 10:
		l.nvfp4Marlin(m)
	default:
		l.nvfp4Cutlass(m)
	}
}

// nvfp4Width is the width of the experts as built.
func (l *loader) nvfp4Width(m *weights.Module) int64 {
	if p := l.rules.NVFP4PadInter; p > 0 {
		return align(m.Inter, p)
	}
	return m.Inter
}

// ungatedPad pads ungated experts to the width that TensorRT-LLM's kernel
// wants, where they were built narrower.
func (l *loader) ungatedPad(m *weights.Module) {
	i, s := align(m.Inter, 128), max(m.Scheme.Group, 1)
	if !m.Plain || i == l.nvfp4Width(m) {
		return
	}
	r, g := l.mem, m.Group
	r.Swap(&m.Held[weights.W], g, weights.U8, m.Experts, i, m.In/2)
	r.Swap(&m.Held[weights.S], g, weights.FP8, m.Experts, i, m.In/s)
	r.Swap(&m.Held[weights.W2], g, weights.U8, m.Experts, m.In, i/2)
	r.Swap(&m.Held[weights.S2], g, weights.FP8, m.Experts, m.In, i/s)
	m.Inter = i
}

// nvfp4Trtllm shuffles every expert into a copy and copies the whole back.
func (l *loader) nvfp4Trtllm(m *weights.Module) {
	l.ungatedPad(m)
	t := l.temps(m.Group)
	i, s := l.nvfp4Width(m), max(m.Scheme.Group, 1)
	k := m.Gate() * i
	for _, each := range []int64{k * m.In / 2, k * m.In / s, m.In * i / 2, m.In * i / s} {
		t.run(weights.U8, m.Experts, each)
	}
	for _, each := range []int64{k * m.In / 2, k * m.In / s, m.In * i / 2, m.In * i / s} {
		t.add(weights.U8, m.Experts, each)
	}
	t.free()
	l.mem.New(m.Group, weights.FP32, m.Experts)
}

// nvfp4Cutlass interleaves the scales; the set made when the layer was built
// gives way to the loaded one.
func (l *loader) nvfp4Cutlass(m *weights.Module) {
	r, g, s := l.mem, m.Group, max(m.Scheme.Group, 1)
	swizzle := func(rows, cols int64, raw, old int) {
		rows, cols = align(rows, 128), align(cols, 4)
		t := l.temps(g)
		t.add(weights.FP8, m.Experts, rows, cols)
		done := r.New(g, weights.FP8, m.Experts, rows, cols)
		t.free()
		r.Free(m.Held[old])
		m.Held[old] = 0
		r.Free(done)
	}
	swizzle(m.Gate()*m.Inter, m.In/s, weights.S, weights.A)
	swizzle(m.In, m.Inter/s, weights.S2, weights.B)
}

// nvfp4Marlin repacks expert by expert; the scales made when the layer was
// built stay though nothing reads them.
func (l *loader) nvfp4Marlin(m *weights.Module) {
	r, g, s := l.mem, m.Group, max(m.Scheme.Group, 1)
	r.New(g, weights.I32, smCount*marlinBlocks)
	i := m.Inter
	if m.Plain {
		i = align(i, 128)
	}
	k := m.Gate() * i
	weight := func(h *weights.Handle, out, in int64) {
		t := l.temps(g)
		t.run(weights.U8, m.Experts, out*(in/2))
		n := r.New(g, weights.U8, m.Experts, out, in/2)
		t.free()
		r.Free(*h)
		*h = n
	}
	weight(&m.Held[weights.W], k, m.In)
	weight(&m.Held[weights.W2], m.In, i)
	scale := func(h *weights.Handle, out, in int64) {
		wide := r.New(g, weights.BF16, m.Experts, out, in/s)
		t := l.temps(g)
		t.pass(weights.BF16, out, in/s)
		t.run(weights.FP8, m.Experts, out*(in/s))
		n := r.New(g, weights.FP8, m.Experts, out, in/s)
		t.free()
		r.Free(wide)
		r.Free(*h)
		*h = n
	}
	scale(&m.Held[weights.S], k, m.In)
	scale(&m.Held[weights.S2], m.In, i)
}
