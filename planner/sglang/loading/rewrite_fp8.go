package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// fp8OnlineLinear quantises a bf16 projection: e4m3 with a scale per output
// channel (per tensor before compute capability 8.9).
func (l *loader) fp8OnlineLinear(m *weights.Module) {
	if m.Kind != weights.Linear {
		return
	}
	r, g := l.mem, m.Group
	q := r.New(g, weights.FP8, m.Out, m.In)
	r.New(g, weights.FP32, m.Out)
	r.Free(m.Held[weights.W])
	m.Held[weights.W] = q
}

// fp8OnlineExperts quantises bf16 experts, each with a scale of its own.
func (l *loader) fp8OnlineExperts(m *weights.Module) {
	r, g := l.mem, m.Group
	k := m.Gate() * m.Inter
	q1 := r.New(g, weights.FP8, m.Experts, k, m.In)
	q2 := r.New(g, weights.FP8, m.Experts, m.In, m.Inter)
	r.New(g, weights.FP32, m.Experts)
	t := l.temps(g)
	for range min(m.Experts, 2) {
		t.pass(weights.FP8, k, m.In)
		t.pass(weights.FP8, m.In, m.Inter)
	}
	r.Free(m.Held[weights.W])
	r.Free(m.Held[weights.W2])
	m.Held[weights.W], m.Held[weights.W2] = q1, q2
}

// deepGEMM reports whether block-fp8 projections run on DeepGEMM with packed
// one-byte scales: compute capability 10.x, and 12.x too before 0.5.10.
func (l *loader) deepGEMM(m *weights.Module) bool {
	if l.card.Major != 10 && (l.card.Major != 12 || l.rel.AtLeast("0.5.10")) {
		return false
	}
	if b := l.args.Str("fp8_gemm_runner_backend"); b != "" && b != runAuto && b != "deep_gemm" {
		return false
	}
	return m.Scheme.Rows == 128 && m.Scheme.Cols == 128 && m.Out%64 == 0 && m.In%128 == 0
}

// fp8BlockLinear requantises to scales that are powers of two for DeepGEMM
// (requant_weight_ue8m0), or repacks for Marlin on cards without fp8.
func (l *loader) fp8BlockLinear(m *weights.Module) {
	if m.Kind != weights.Linear {
		return
	}
	switch {
	case l.card.SM() > 0 && l.card.SM() < 89:
		l.fp8Marlin(m, m.In/max(m.Scheme.Cols, 1))
	case l.deepGEMM(m):
		l.requantise(m)
	case m.Scheme.Cols == 32 && m.Scheme.UE8M0 && l.blockAsMXFP8() && m.In%32 == 0:
		l.swizzleScales(m)
	}
}

// blockAsMXFP8 reports that blocks 32 columns wide run on FlashInfer's MXFP8
// kernels: DeepSeek-V4.1's default on compute capability 10.x.
func (l *loader) blockAsMXFP8() bool {
	switch l.args.Str("fp8_gemm_runner_backend") {
	case "", runAuto:
		return l.arch == "DeepseekV41ForCausalLM" && l.card.Major == 10
	case "flashinfer_cutlass", "flashinfer_cutedsl":
		return l.card.Major >= 10
	}
	return false
}

// swizzleScales keeps a copy of the scales, a byte per row and 32 columns, in
// the order of FlashInfer's kernels.
func (l *loader) swizzleScales(m *weights.Module) {
	t := l.temps(m.Group)
	t.add(weights.U8, m.Out, m.In/32)
	l.mem.New(m.Group, weights.U8, align(m.Out, 128), align(m.In/32, 4))
	t.free()
}

// requantise: the weights go to bf16 and back to e4m3 in whole blocks, so the
// new tensor has its rows padded to the block; every row gets its own scales,
// four packed in a word.
func (l *loader) requantise(m *weights.Module) {
	r, g := l.mem, m.Group
	out, in := m.Out, m.In
	rows := align(out, 128)
	t := l.temps(g)
	t.add(weights.BF16, out, in) // dequantised
	t.add(weights.BF16, rows, in)
	t.pass(weights.FP32, rows, in)
	q := r.New(g, weights.FP8, rows, in)
	t.add(weights.FP32, rows/128, in/128)
	t.free()
	t.add(weights.FP32, out, in/128) // a scale for each row
	s := r.New(g, weights.I32, align(out, 4), align(in/128, 4)/4)
	t.free()
	r.Free(m.Held[weights.W])
	r.Free(m.Held[weights.S])
	m.Held[weights.W], m.Held[weights.S] = q, s
}

// fp8Marlin repacks e4m3 weights for weight-only kernels: the same bytes in
// another order, scales per group in the model's own type.
func (l *loader) fp8Marlin(m *weights.Module, groups int64) {
	r, g := l.mem, m.Group
	r.New(g, weights.I32, smCount)
	t := l.temps(g)
	t.add(weights.I32, m.In/4, m.Out)
	q := r.New(g, weights.I32, m.In/4, m.Out)
	r.Free(m.Held[weights.W])
	m.Held[weights.W] = q
	t.free()
	s := r.New(g, weights.BF16, max(groups, 1), m.Out)
	r.Free(m.Held[weights.S])
	m.Held[weights.S] = s
}

// fp8TensorLinear requantises the fused matrices to one scale, in place; on
// cards whose kernels take scales per channel the scale is spread.
func (l *loader) fp8TensorLinear(m *weights.Module) {
	if m.Kind != weights.Linear {
		return
	}
	if l.card.SM() > 0 && l.card.SM() < 89 {
		l.fp8Marlin(m, 1)
		return
	}
	t := l.temps(m.Group)
	if m.Parts > 0 {
		part := m.Out / m.Parts
		t.add(weights.BF16, part, m.In)
		t.add(weights.BF16, part, m.In)
		t.add(weights.FP8, part, m.In)
		t.free()
	}
	if l.card.Major < 10 || !m.Scheme.ModelOpt {
		l.mem.Swap(&m.Held[weights.S], m.Group, weights.FP32, m.Out)
	}
}

// fp8TensorExperts brings each expert's matrices to one scale, in place.
func (l *loader) fp8TensorExperts(m *weights.Module) {
	t := l.temps(m.Group)
	t.add(weights.BF16, m.Inter, m.In)
	t.add(weights.BF16, m.Inter, m.In)
	t.add(weights.FP8, m.Inter, m.In)
	t.free()
	l.mem.Swap(&m.Held[weights.S], m.Group, weights.FP32, m.Experts)
	if l.back.trtllm() {
		l.stack(t, &m.Held[weights.W], m.Group, weights.FP8, m.Experts, m.Gate()*m.Inter*m.In)
		l.stack(t, &m.Held[weights.W2], m.Group, weights.FP8, m.Experts, m.In*m.Inter)
		t.free()
		return
	}
	if rest := align(m.Inter, 16) - m.Inter; l.back.moe == runCutlass && rest > 0 {
		i := m.Inter + rest
		l.mem.Swap(&m.Held[weights.W], m.Group, weights.FP8, m.Experts, m.Gate()*i, m.In)
		l.mem.Swap(&m.Held[weights.W2], m.Group, weights.FP8, m.Experts, m.In, i)
	}
}

// mxfp8Linear: FlashInfer's kernel keeps a swizzled copy of the scales.
func (l *loader) mxfp8Linear(m *weights.Module) {
	if m.Kind == weights.Linear && l.card.Major == 10 && l.rel.AtLeast("0.5.18") {
		l.mem.New(m.Group, weights.U8, align(m.Out, 128), align(m.In/32, 4))
	}
}
