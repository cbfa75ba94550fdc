package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// rewrite follows the loader after the checkpoint is read: first the model's
// own post-load step (MLA's absorbed matrices), then every module's
// process_weights_after_loading, in the order of the module tree.
func (l *loader) rewrite(mods []weights.Module) {
	for i := range mods {
		switch m := &mods[i]; {
		case m.Kind == weights.Absorb:
			l.absorb(mods, m)
		case m.Late:
			m.Make(l.mem)
		}
	}
	for i := range mods {
		m := &mods[i]
		switch m.Kind {
		case weights.Linear, weights.Vocab:
			l.rewriteLinear(m)
		case weights.MoE:
			l.rewriteExperts(m)
		}
	}
}

// absorb makes w_kc and w_vc of kv_b_proj (DeepseekV2's post_load_weights).
// Weights stored in another type are brought to the model's first.
func (l *loader) absorb(mods []weights.Module, m *weights.Module) {
	r := l.mem
	src := l.sourceOf(mods, m)
	var temp weights.Handle
	if src != weights.Never && src != weights.FP8Online {
		temp = r.New(m.Group, weights.BF16, m.Experts, m.Out+m.Inter, m.In)
	}
	r.New(m.Group, weights.BF16, m.Experts, m.Out, m.In)
	r.New(m.Group, weights.BF16, m.Experts, m.In, m.Inter)
	r.Free(temp)
}

// sourceOf returns how the projection that is absorbed is stored: it stands a
// few modules before.
func (l *loader) sourceOf(mods []weights.Module, m *weights.Module) weights.SchemeKind {
	for i := range mods {
		p := &mods[i]
		if p.Kind == weights.Linear && p.Name == m.Name {
			return p.Scheme.Kind
		}
	}
	return weights.Never
}

func (l *loader) rewriteLinear(m *weights.Module) {
	switch m.Scheme.Kind {
	case weights.FP8Online:
		l.fp8OnlineLinear(m)
	case weights.FP8Block:
		l.fp8BlockLinear(m)
	case weights.FP8Tensor:
		l.fp8TensorLinear(m)
	case weights.MXFP8:
		l.mxfp8Linear(m)
	case weights.Int4:
		l.int4Linear(m)
	case weights.NVFP4:
		l.nvfp4Linear(m)
	}
}

func (l *loader) rewriteExperts(m *weights.Module) {
	switch m.Scheme.Kind {
	case weights.Never:
		l.plainExperts(m)
	case weights.FP8Online:
		l.fp8OnlineExperts(m)
	case weights.FP8Tensor:
		l.fp8TensorExperts(m)
	case weights.Int4:
		l.int4Experts(m)
	case weights.NVFP4:
		l.nvfp4Experts(m)
	case weights.MXFP4:
		l.mxfp4Experts(m)
	case weights.MXFP4Fp8:
		l.v4Experts(m)
	}
}

// temps allocates tensors that live until the returned function is called.
type temps struct {
	l  *loader
	g  weights.Group
	hs []weights.Handle
}

func (l *loader) temps(g weights.Group) *temps { return &temps{l: l, g: g} }

// add allocates a tensor that lives until free.
func (t *temps) add(d weights.DType, shape ...int64) {
	t.hs = append(t.hs, t.l.mem.New(t.g, d, shape...))
}

// runLimit bounds the temporaries of experts that are replayed: twice what the
// largest model makes. Beyond it the cache has long been as large as it gets.
const runLimit = 1 << 19

// run allocates count tensors of each elements that live until free.
func (t *temps) run(d weights.DType, count, each int64) {
	if t.l.runs += count; t.l.runs > runLimit {
		return
	}
	t.hs = t.l.mem.Run(t.hs, t.g, d, count, each)
}

// pass allocates a tensor and drops it at once.
func (t *temps) pass(d weights.DType, shape ...int64) {
	t.l.mem.Free(t.l.mem.New(t.g, d, shape...))
}

func (t *temps) free() {
	for _, h := range t.hs {
		t.l.mem.Free(h)
	}
	t.hs = t.hs[:0]
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// plainExperts shuffles bf16 experts into TensorRT-LLM's block layout, expert
// by expert, and joins them.
func (l *loader) plainExperts(m *weights.Module) {
	if !l.back.trtllm() {
		return
	}
	t := l.temps(m.Group)
	i := m.Inter
	l.stack(t, &m.Held[weights.W], m.Group, weights.BF16, m.Experts, m.Gate()*i*m.In)
	l.stack(t, &m.Held[weights.W2], m.Group, weights.BF16, m.Experts, m.In*i)
	t.free()
}

// stack rewrites a tensor of all experts: a copy of each, then all joined in a
// new tensor that takes the old one's place. The copies live on in t.
func (l *loader) stack(t *temps, h *weights.Handle, g weights.Group, d weights.DType, experts, each int64) {
	t.run(d, experts, each)
	l.mem.Swap(h, g, d, experts, each)
}
