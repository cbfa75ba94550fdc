package weights

import (
	"maps"
	"slices"

	"github.com/sglplan/sglplan/planner/model"
)

func sortedKeys(s model.Section) []string { return slices.Sorted(maps.Keys(s)) }

// SchemeKind names a storage format.
type SchemeKind uint8

// The storage formats.
const (
	Auto      SchemeKind = iota // as the quantisation section says
	Never                       // the model's own type
	FP8Tensor                   // e4m3, a scale per matrix
	FP8Channel
	FP8Block  // e4m3, a scale per block of Rows x Cols
	FP8Online // built in the model's type, made e4m3 while loading
	MXFP8     // e4m3, a one-byte scale per 32 columns
	Int4      // packed integers, scales per group
	NVFP4     // e2m1 pairs, e4m3 scale per 16
	MXFP4     // e2m1 pairs, one-byte scale per 32
	MXFP4Fp8  // the same inside an fp8 checkpoint (DeepSeek-V4), scales built wide
)

// Scheme is how the weights of a module are stored in the checkpoint and so
// how the module is built.
type Scheme struct {
	Kind       SchemeKind
	Rows, Cols int64 // of a block
	Group      int64 // input columns per scale, -1 for whole rows
	Bits       int64
	Zeros      bool // asymmetric: zero points
	ActOrder   bool
	Packed     bool // compressed-tensors naming and tables
	GPTQ, AWQ  bool
	Static     bool // scales for activations
	ModelOpt   bool
	WeightOnly bool
	UE8M0      bool
}

// The slots of Module.Held.
const (
	W  = iota // weight, or w13 of experts
	S         // its scale
	W2        // w2 of experts
	S2        // its scale
	A         // further tables in the order of the scheme
	B
	C
	D
	Bias1
	Bias2
	X
	Y
)

func up(n, to int64) int64 {
	if to <= 0 {
		return n
	}
	return (n + to - 1) / to
}

// Assign sets how quant stores each module.
func Assign(mods []Module, quant *Quant) {
	for i := range mods {
		mods[i].Scheme = quant.Of(&mods[i])
	}
}

// Build allocates the tensors of all modules as their classes make them.
func Build(mods []Module, r *Replay, rules *Rules) {
	for i := range mods {
		m := &mods[i]
		if m.Kind == Drop {
			giveUp(mods[m.Out:m.In], r)
			continue
		}
		if !m.Late {
			m.build(r, rules)
		}
	}
}

func giveUp(mods []Module, r *Replay) {
	for i := range mods {
		m := &mods[i]
		if m.Kind == Rotary {
			continue // kept for all layers
		}
		for _, h := range m.Held {
			r.Free(h)
		}
		*m = Module{Name: m.Name, Kind: Gone, Group: m.Group, Split: m.Split}
	}
}

// Make allocates a module that is made after loading.
func (m *Module) Make(r *Replay) { m.build(r, nil) }

func (m *Module) build(r *Replay, rules *Rules) {
	switch m.Kind {
	case Linear, Vocab:
		m.buildLinear(r)
		if m.Dropped {
			r.Free(m.Held[W])
			m.Held[W] = 0
		}
	case MoE:
		m.buildExperts(r, rules)
	case Rotary:
		m.buildRotary(r)
	case Param:
		for range m.Parts {
			m.Held[W] = r.New(m.Group, m.DType, m.Out, m.In)
		}
	}
}

// buildRotary computes a cos/sin table as RotaryEmbedding does: positions,
// angles, cosines and sines live until the table is joined of them, and what
// they leave behind serves the tensors that follow.
func (m *Module) buildRotary(r *Replay) {
	t := r.New(m.Group, FP32, m.Out)
	f := r.New(m.Group, FP32, m.Out, m.In/2)
	c, s := r.New(m.Group, FP32, m.Out, m.In/2), r.New(m.Group, FP32, m.Out, m.In/2)
	m.Held[W] = r.New(m.Group, FP32, m.Out, m.In)
	for _, h := range []Handle{t, f, c, s} {
		r.Free(h)
	}
}

func (m *Module) buildLinear(r *Replay) {
	g, s, out, in := m.Group, m.Scheme, m.Out, m.In
	switch s.Kind {
	case FP8Tensor, FP8Channel:
		m.Held[W] = r.New(g, FP8, out, in)
		if s.Kind == FP8Channel {
			m.Held[S] = r.New(g, FP32, out)
		} else {
			m.Held[S] = r.New(g, FP32, m.Parts)
		}
		if s.Static {
			m.Held[A] = r.New(g, FP32, m.Parts)
		}
	case FP8Block:
		m.Held[W] = r.New(g, FP8, out, in)
		m.Held[S] = r.New(g, FP32, up(out, s.Rows), up(in, s.Cols))
	case MXFP8:
		m.Held[W] = r.New(g, FP8, out, in)
		m.Held[S] = r.New(g, U8, out, up(in, s.Cols))
	case Int4:
		m.buildInt4(r)
	case NVFP4:
		m.Held[A] = r.New(g, FP32, m.Parts)
		m.Held[B] = r.New(g, FP32, m.Parts)
		m.Held[W] = r.New(g, U8, out, in/2)
		m.Held[S] = r.New(g, FP8, out, in/max(s.Group, 1))
	case MXFP4, MXFP4Fp8:
		m.Held[W] = r.New(g, U8, out, in/2)
		m.Held[S] = r.New(g, U8, out, up(in, 32))
	default:
		if m.Kind == Vocab && m.DType == FP32 {
			// Made in the model's type, then brought to fp32.
			r.Free(r.New(g, BF16, out, in))
		}
		m.Held[W] = r.New(g, m.DType, out, in)
	}
	if m.Bias {
		m.Held[Bias1] = r.New(g, BF16, out)
	}
}

// buildInt4 follows gptq_marlin, awq_marlin and compressed-tensors' WNA16:
// packed words, scales per group, zero points where asymmetric, group indices
// where the columns may be reordered.
func (m *Module) buildInt4(r *Replay) {
	g, s := m.Group, m.Scheme
	per := 32 / max(s.Bits, 1)
	groups := int64(1)
	if s.Group > 0 {
		groups = up(m.In, s.Group)
	}
	m.Held[W] = r.New(g, I32, up(mul(m.In, m.Out), per))
	m.Held[S] = r.New(g, BF16, groups, m.Out)
	if s.Zeros || s.GPTQ {
		m.Held[A] = r.New(g, I32, groups, up(m.Out, per))
	}
	if s.GPTQ || s.ActOrder {
		m.Held[B] = r.New(g, I32, m.In)
	}
	if s.Packed {
		m.Held[C] = r.New(g, I64, 2)
	}
}

func (m *Module) buildExperts(r *Replay, rules *Rules) {
	if p := rules.PadInter; p > 0 && m.Scheme.Kind != NVFP4 && m.Scheme.Kind != MXFP4 {
		m.Inter = roundUp(m.Inter, p)
	}
	g, s, e, h, i, k := m.Group, m.Scheme, m.Experts, m.In, m.Inter, m.Gate()
	switch s.Kind {
	case FP8Tensor, FP8Channel:
		m.Held[W] = r.New(g, FP8, e, k*i, h)
		m.Held[W2] = r.New(g, FP8, e, h, i)
		if s.Kind == FP8Channel {
			m.Held[S], m.Held[S2] = r.New(g, FP32, e, k*i), r.New(g, FP32, e, h)
		} else {
			m.Held[S], m.Held[S2] = r.New(g, FP32, e, k), r.New(g, FP32, e)
		}
		if s.Static {
			m.Held[A], m.Held[B] = r.New(g, FP32, e), r.New(g, FP32, e)
		}
	case FP8Block:
		m.Held[W] = r.New(g, FP8, e, k*i, h)
		m.Held[W2] = r.New(g, FP8, e, h, i)
		m.Held[S] = r.New(g, FP32, e, k*up(i, s.Rows), up(h, s.Cols))
		m.Held[S2] = r.New(g, FP32, e, up(h, s.Rows), up(i, s.Cols))
	case MXFP8:
		m.Held[W] = r.New(g, FP8, e, k*i, h)
		m.Held[W2] = r.New(g, FP8, e, h, i)
		m.Held[S] = r.New(g, U8, e, k*i, up(h, s.Cols))
		m.Held[S2] = r.New(g, U8, e, h, up(i, s.Cols))
	case Int4:
		m.buildInt4Experts(r, rules)
	case NVFP4:
		m.buildNVFP4Experts(r, rules)
	case MXFP4:
		m.buildMXFP4Experts(r, rules)
	case MXFP4Fp8:
		m.buildMXFP4Fp8Experts(r, rules)
	default:
		m.Held[W] = r.New(g, BF16, e, k*i, h)
		if m.Bias {
			m.Held[Bias1] = r.New(g, BF16, e, k*i)
		}
		m.Held[W2] = r.New(g, BF16, e, h, i)
		if m.Bias {
			m.Held[Bias2] = r.New(g, BF16, e, h)
		}
	}
}

// buildInt4Experts follows CompressedTensorsWNA16MoE and GPTQMarlinMoEMethod;
// the four index tables are emptied after loading when there is no act-order.
func (m *Module) buildInt4Experts(r *Replay, rules *Rules) {
	g, s, e, h, i, k := m.Group, m.Scheme, m.Experts, m.In, m.Inter, m.Gate()
	per := 32 / max(s.Bits, 1)
	g1, g2 := int64(1), int64(1)
	if s.Group > 0 {
		g1, g2 = h/s.Group, i/s.Group
	}
	m.Held[W] = r.New(g, I32, e, h/per, k*i)
	m.Held[W2] = r.New(g, I32, e, i/per, h)
	m.Held[S] = r.New(g, BF16, e, g1, k*i)
	m.Held[S2] = r.New(g, BF16, e, g2, h)
	if s.Packed {
		r.New(g, BF16, e, 2)
		r.New(g, BF16, e, 2)
	}
	if s.Zeros || s.GPTQ {
		m.Held[X], m.Held[Y] = r.New(g, I32, e, g1, k*i/per), r.New(g, I32, e, g2, h/per)
	}
	if rules.Int4Index && !s.AWQ {
		m.Held[A], m.Held[B] = r.New(g, I32, e, h), r.New(g, I32, e, i)
		m.Held[C], m.Held[D] = r.New(g, I32, e, h), r.New(g, I32, e, i)
	}
}

// buildNVFP4Experts follows ModelOptNvFp4FusedMoEMethod.create_weights.
func (m *Module) buildNVFP4Experts(r *Replay, rules *Rules) {
	g, s, e, h, i, k := m.Group, m.Scheme, m.Experts, m.In, m.Inter, m.Gate()
	if rules.NVFP4PadInter > 0 {
		i = roundUp(i, rules.NVFP4PadInter)
	}
	m.Held[W] = r.New(g, U8, e, k*i, h/2)
	m.Held[W2] = r.New(g, U8, e, h, i/2)
	sc := max(s.Group, 1)
	m.Held[S] = r.New(g, FP8, e, k*i, h/sc)
	if rules.NVFP4Swizzled {
		m.Held[A] = swizzled(r, g, e, k*i, h/sc)
	}
	m.Held[S2] = r.New(g, FP8, e, h, i/sc)
	if rules.NVFP4Swizzled {
		m.Held[B] = swizzled(r, g, e, h, i/sc)
	}
	r.New(g, FP32, e, k)
	r.New(g, FP32, e)
	r.New(g, FP32, e, k)
	r.New(g, FP32, e)
}

// swizzled makes block scales in the interleaved layout: rows padded to 128,
// columns to 4.
func swizzled(r *Replay, g Group, e, rows, cols int64) Handle {
	rows, cols = roundUp(rows, 128), roundUp(cols, 4)
	t := r.New(g, FP8, e, rows, cols)
	h := r.New(g, FP8, e, rows, cols)
	r.Free(t)
	return h
}

// buildMXFP4Experts follows Mxfp4MoEMethod.create_weights: widths padded as the
// kernel of the card wants them.
func (m *Module) buildMXFP4Experts(r *Replay, rules *Rules) {
	g, e, k := m.Group, m.Experts, m.Gate()
	h, i := roundUp(m.In, max(rules.MXFP4PadHidden, 1)), roundUp(m.Inter, max(rules.MXFP4PadInter, 1))
	m.Held[W] = r.New(g, U8, e, k*i, h/2)
	m.Held[S] = r.New(g, U8, e, k*i, h/32)
	if m.Bias {
		m.Held[Bias1] = r.New(g, BF16, e, k*i)
	}
	m.Held[W2] = r.New(g, U8, e, h, i/2)
	m.Held[S2] = r.New(g, U8, e, h, up(i, 32))
	if m.Bias {
		m.Held[Bias2] = r.New(g, BF16, e, h)
	}
}

// buildMXFP4Fp8Experts follows Fp8MoEMethod with is_fp4_experts.
func (m *Module) buildMXFP4Fp8Experts(r *Replay, rules *Rules) {
	g, e, h, i, k := m.Group, m.Experts, m.In, m.Inter, m.Gate()
	d := FP32
	if rules.MXFP4NarrowScales {
		d = U8
	}
	m.Held[W] = r.New(g, U8, e, k*i, h/2)
	m.Held[W2] = r.New(g, U8, e, h, i/2)
	m.Held[S] = r.New(g, d, e, k*i, h/32)
	m.Held[S2] = r.New(g, d, e, h, i/32)
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
