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
		r.Swap(&m.Held[weights.Bias1], g, weights.FP32, e, k)
		r.Swap(&m.Held[weights.Bias2], g, weights.FP32, e, h)
	}
	if l.card.Major == 9 {
		l.hopperLayout(&m.Held[weights.W], m, k, h)
		l.hopperLayout(&m.Held[weights.W2], m, h, i)
		return
	}
	r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
}

// hopperLayout swizzles a matrix of n outputs and k inputs per expert: values
// with k padded to 128, scales with n padded to 256; from 0.5.18 (newer kernel
// package) the values' n is padded to 256 and the scales' k to 128.
func (l *loader) hopperLayout(h *weights.Handle, m *weights.Module, n, k int64) {
	r, g, e := l.mem, m.Group, m.Experts
	cols, groups := n, align(k/32+min(k%32, 1), 2)*32
	if l.rel.AtLeast("0.5.18") {
		cols, groups = align(n, 256), align(k, 128)
	}
	t := l.temps(g)
	t.add(weights.U8, e, n, k/2) // transposed
	t.add(weights.U8, e, align(k, 128)/2, align(n, 4))
	v := r.New(g, weights.U8, e, 2*align(k, 128), cols/4)
	t.free()
	r.New(g, weights.U8, e, groups, align(n, 256)/32)
	r.Free(*h)
	*h = v
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
		for range e {
			t.add(weights.U8, each)
		}
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

// mxfp4Cutlass rebuilds the experts with their width padded to 128.
func (l *loader) mxfp4Cutlass(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	h, _ := l.mxfp4Sizes(m)
	i := align(m.Inter, 128)
	k := m.Gate() * i
	r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
	r.Swap(&m.Held[weights.S], g, weights.U8, e, k, h/32)
	r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, i/2)
	r.Swap(&m.Held[weights.S2], g, weights.U8, e, h, i/32)
	if m.Bias {
		r.Swap(&m.Held[weights.Bias1], g, weights.BF16, e, k)
		r.Swap(&m.Held[weights.Bias2], g, weights.BF16, e, h)
	}
	for range 4 {
		r.New(g, weights.FP32, e)
	}
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
}

// v4Experts: DeepSeek-V4's fp4 experts inside an fp8 checkpoint. TensorRT-LLM's
// kernels take them shuffled, with the scales, built wide, in a byte each.
func (l *loader) v4Experts(m *weights.Module) {
	r, g, e := l.mem, m.Group, m.Experts
	if l.back.moe != runMXFP4 {
		return
	}
	r.New(g, weights.FP32, e)
	if l.card.Major == 12 {
		r.New(g, weights.FP32, e)
	}
	h, i := m.In, m.Inter
	if l.card.Major != 10 {
		t := l.temps(g)
		t.add(weights.U8, e, m.Gate()*i, h/2)
		t.add(weights.U8, e, m.Gate()*i, h/32)
		t.free()
		return
	}
	padded := align(i, 128)
	k := m.Gate() * padded
	t := l.temps(g)
	t.add(weights.U8, e, k, h/32)
	t.add(weights.U8, e, h, padded/32)
	if padded != i {
		r.Swap(&m.Held[weights.W], g, weights.U8, e, k, h/2)
		r.Swap(&m.Held[weights.W2], g, weights.U8, e, h, padded/2)
	} else {
		t.pass(weights.U8, e, k, h/2)
		t.pass(weights.U8, e, h, padded/2)
	}
	r.Swap(&m.Held[weights.S], g, weights.FP8, e, k, h/32)
	r.Swap(&m.Held[weights.S2], g, weights.FP8, e, h, padded/32)
	t.free()
}
