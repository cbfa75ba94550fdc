package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// mxfp4Experts follows Mxfp4MoEMethod.process_weights_after_loading.
func (l *loader) mxfp4Experts(m *weights.Module) {
	switch {
	case l.back.moe == runMXFP4 && l.card.Major == 10:
		l.mxfp4Trtllm(m)
	case l.back.moe == runMXFP4:
		l.mxfp4Cutlass(m)
	case l.back.moe == runKernel:
		l.mxfp4Kernel(m)
	case l.back.moe == runMarlin:
		l.mxfp4Marlin(m)
	default:
		l.mxfp4Expand(m)
	}
}

// mxfp4Sizes returns hidden and width as built.
func (l *loader) mxfp4Sizes(m *weights.Module) (h, i int64) {
	return align(m.In, max(l.rules.MXFP4PadHidden, 1)), align(m.Inter, max(l.rules.MXFP4PadInter, 1))
}

// mxfp4Kernel: the Triton kernels' layouts. Before Hopper the matrices are
// transposed; on Hopper they and their scales are rewritten padded, and the
// scales as read stay beside them.
func (l *loader) mxfp4Kernel(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, i := l.mxfp4Sizes(m)
	k := m.Gate() * i
	if m.Bias {
		b1, b2 := r.New(g, weights.FP32, e, k), r.New(g, weights.FP32, e, h)
		r.Free(m.Held[weights.Bias1])
		r.Free(m.Held[weights.Bias2])
		m.Held[weights.Bias1], m.Held[weights.Bias2] = b1, b2
	}
	defer r.EmptyCache()
	if l.card.Major == 9 {
		l.hopperLayout(m, k, h, i)
		return
	}
	r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
}

// mxfp4Trtllm shuffles expert by expert and joins; biases become fp32.
func (l *loader) mxfp4Trtllm(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, i := l.mxfp4Sizes(m)
	k := m.Gate() * i
	for range 3 {
		r.New(g, weights.FP32, e)
	}
	t := l.temps(g)
	if m.Bias {
		t.add(weights.FP32, e, k)
		t.add(weights.FP32, e, h)
	}
	t.add(weights.U8, e, k, h/32) // gate and up swapped
	t.add(weights.U8, e, k, h/2)
	for _, each := range []int64{k * h / 2, k * h / 32, h * i / 2, h * i / 32} {
		t.run(weights.U8, e, each)
	}
	r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.S], g, weights.U8, e, k, h/32)
	r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
	r.Swap(&m.Held[weights.S2], g, weights.U8, e, h, i/32)
	if m.Bias {
		r.Swap(&m.Held[weights.Bias1], g, weights.FP32, e, k)
		r.Swap(&m.Held[weights.Bias2], g, weights.FP32, e, h)
	}
	t.free()
}

// mxfp4Cutlass rebuilds the experts with their width padded to 128; the scales
// are padded first and then interleaved.
func (l *loader) mxfp4Cutlass(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, _ := l.mxfp4Sizes(m)
	i := align(m.Inter, 128)
	k := m.Gate() * i
	t := l.temps(g)
	w1 := r.New(g, weights.U8, e, k, h/2)
	t.add(weights.U8, e, k, h/32)
	b1 := r.New(g, weights.BF16, e, k)
	w2 := r.New(g, weights.U8, e, h, i/2)
	t.add(weights.U8, e, h, i/32)
	b2 := r.New(g, weights.BF16, e, h)
	s1, s2 := r.New(g, weights.U8, e, k, h/32), r.New(g, weights.U8, e, h, i/32)
	for _, p := range []struct {
		slot int
		h    weights.Handle
	}{{weights.W, w1}, {weights.W2, w2}, {weights.S, s1}, {weights.S2, s2}, {weights.Bias1, b1}, {weights.Bias2, b2}} {
		r.Free(m.Held[p.slot])
		m.Held[p.slot] = p.h
	}
	for range 4 {
		r.New(g, weights.FP32, e)
	}
	r.EmptyCache()
	t.free()
}

// mxfp4Marlin repacks at the size it was built with.
func (l *loader) mxfp4Marlin(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, i := l.mxfp4Sizes(m)
	k := m.Gate() * i
	r.New(g, weights.I32, smCount*marlinBlocks)
	r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
	r.Swap(&m.Held[weights.S], g, weights.U8, e, k, h/32)
	r.Swap(&m.Held[weights.S2], g, weights.U8, e, h, i/32)
}

// mxfp4Expand turns the experts into bf16, where no fp4 kernel takes them.
func (l *loader) mxfp4Expand(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, i := l.mxfp4Sizes(m)
	w1 := r.New(g, weights.BF16, e, m.Gate()*i, h)
	w2 := r.New(g, weights.BF16, e, h, i)
	for _, s := range []int{weights.W, weights.W2, weights.S, weights.S2} {
		r.Free(m.Held[s])
	}
	m.Held[weights.W], m.Held[weights.W2], m.Held[weights.S], m.Held[weights.S2] = w1, w2, 0, 0
	r.EmptyCache()
}

// v4Experts: DeepSeek-V4's fp4 experts inside an fp8 checkpoint. TensorRT-LLM's
// kernels take them shuffled, with the scales, built wide, in a byte each.
func (l *loader) v4Experts(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	if l.fp4ToFP8() {
		l.widenFP4(m)
		return
	}
	if l.back.moe != runMXFP4 {
		return
	}
	if l.card.Major == 10 {
		l.v4Trtllm(m)
		return
	}
	r.New(g, weights.FP32, e)
	if l.card.Major == 12 {
		r.New(g, weights.FP32, e)
	}
	t := l.temps(g)
	t.add(weights.U8, e, m.Gate()*m.Inter, m.In/2)
	t.add(weights.U8, e, m.Gate()*m.Inter, m.In/32)
	t.free()
}

// v4Trtllm pads the width, puts gate after up, narrows the scales and shuffles
// expert by expert; what it made on the way stays until the cache was emptied.
func (l *loader) v4Trtllm(m *weights.Module) {
	r, g, e, h := l.mem, m.Group, m.Experts, m.In
	i := align(m.Inter, 128)
	k := m.Gate() * i
	scale := weights.FP32
	if l.rules.MXFP4NarrowScales {
		scale = weights.U8
	}
	if i != m.Inter {
		r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
		r.Swap(&m.Held[weights.S], g, scale, e, k, h/32)
		r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
		r.Swap(&m.Held[weights.S2], g, scale, e, h, i/32)
	}
	w, s := r.New(g, weights.U8, e, k, h/2), r.New(g, scale, e, k, h/32)
	r.Free(m.Held[weights.W])
	r.Free(m.Held[weights.S])
	m.Held[weights.S] = s
	t := l.temps(g)
	t.add(weights.U8, e, k, h/32)
	t.add(weights.U8, e, h, i/32)
	t.run(weights.U8, e, k*h/2)
	t.pass(weights.U8, k, h/32) // permuted, then interleaved in a new tensor
	t.run(weights.U8, e, k*h/32)
	t.run(weights.U8, e, h*i/2)
	t.run(weights.U8, e, h*i/32)
	t.hs = append(t.hs, w, m.Held[weights.W2])
	m.Held[weights.W] = r.New(g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.S], g, weights.FP8, e, k, h/32)
	m.Held[weights.W2] = r.New(g, weights.U8, e, h, i/2)
	r.Swap(&m.Held[weights.S2], g, weights.FP8, e, h, i/32)
	for range 3 {
		r.New(g, weights.FP32, e)
	}
	r.EmptyCache()
	t.free()
}

// fp4ToFP8 reports SGLANG_DSV4_FP4_DEQUANT: fp4 experts become fp8 in blocks.
func (l *loader) fp4ToFP8() bool { return truthy(l.env["SGLANG_DSV4_FP4_DEQUANT"]) }

// widenFP4 rewrites fp4 experts as fp8, expert by expert, then joins them.
func (l *loader) widenFP4(m *weights.Module) {
	t := l.temps(m.Group)
	e, k, h, i := m.Experts, m.Gate()*m.Inter, m.In, m.Inter
	for _, w := range []struct {
		weight, scale *weights.Handle
		rows, cols    int64
	}{{&m.Held[weights.W], &m.Held[weights.S], k, h}, {&m.Held[weights.W2], &m.Held[weights.S2], h, i}} {
		l.stack(t, w.weight, m.Group, weights.FP8, e, w.rows*w.cols)
		l.stack(t, w.scale, m.Group, weights.FP32, e, align(w.rows, 128)/128*(align(w.cols, 128)/128))
		t.free()
	}
}
