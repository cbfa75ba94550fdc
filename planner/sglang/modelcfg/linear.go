package modelcfg

import "slices"

// LinearKind is a family of recurrent layers.
type LinearKind string

// The families; the kind decides the shape of a state and which releases'
// switches apply.
const (
	GDN       LinearKind = "gdn"       // gated delta net (Qwen3-Next, Qwen3.5)
	KDA       LinearKind = "kda"       // Kimi delta attention
	Mamba2    LinearKind = "mamba2"    // also Falcon-H1, Nemotron-H, Granite, LFM2's short convolutions
	Mamba1    LinearKind = "mamba1"    // full-rank selective scan
	Lightning LinearKind = "lightning" // no convolution
	CCA       LinearKind = "cca"       // Zaya
	ShortConv LinearKind = "sconv"     // Inkling's convolutions
)

// Linear describes the recurrent layers of a hybrid.
type Linear struct {
	Kind       LinearKind
	Layers     []int // the layers that keep a state
	FullLayers []int // the layers that keep K and V

	Inner, Groups, Heads, HeadDim, State, Kernel int
	// KeyHeads is the number of key heads (gated delta net, KDA).
	KeyHeads int
	// ConvBytes and StateBytes are the sizes of an element of the convolution
	// and the recurrent state.
	ConvBytes, StateBytes int
	// Flat adds elements to the convolution state that are not sharded (CCA).
	Flat int
	// ModelTP says that the states follow the whole TP size, not attention TP.
	ModelTP bool
	// Streams holds the widths of Inkling's convolutions.
	Streams *Streams
}

// Streams are the widths of Inkling's short convolutions: over K and V of full
// and of window layers, and twice over the residual stream.
type Streams struct {
	FullKVHeads, FullHeadDim int
	SWAKVHeads, SWAHeadDim   int
	Hidden                   int
}

// State is the state of one request in one layer on one rank.
type State struct {
	ConvDim   int // channels
	ConvTaps  int // kept steps of the convolution
	ConvElems int
	SSMElems  int
	// NoDedup: the intermediate convolution windows cannot overlap.
	NoDedup bool
	// Heads, HeadDim, StateDim, KeyHeads shape the recurrent state on a rank.
	Heads, HeadDim, StateDim, KeyHeads int
}

// Divides reports whether the states can be split over tp ranks.
func (l *Linear) Divides(tp int) bool {
	switch l.Kind {
	case ShortConv:
		return true
	case CCA:
		return l.Inner%tp == 0
	case Mamba1:
		return l.Inner%tp == 0
	}
	g := l.groupsAt(tp)
	return l.Heads%tp == 0 && (l.Inner+2*g*l.State)%tp == 0
}

// groupsAt extends the groups so that every rank has those its heads need
// (extra_groups_for_head_shards).
func (l *Linear) groupsAt(tp int) int {
	if l.Groups%tp == 0 {
		return l.Groups
	}
	return l.Groups + tp - l.Groups
}

// StateAt returns the state of one layer for a rank of tp.
func (l *Linear) StateAt(tp int) State {
	taps := max(0, l.Kernel-1)
	switch l.Kind {
	case KDA:
		dim := l.Heads*l.HeadDim/tp + 2*(l.KeyHeads*l.State/tp)
		return State{ConvDim: dim, ConvTaps: taps, ConvElems: dim * taps, SSMElems: l.Heads / tp * l.HeadDim * l.HeadDim, NoDedup: true,
			Heads: l.Heads / tp, HeadDim: l.HeadDim, StateDim: l.HeadDim, KeyHeads: ceilDiv(l.KeyHeads, tp)}
	case Mamba1:
		dim := l.Inner / tp
		return State{ConvDim: dim, ConvTaps: taps, ConvElems: dim * taps, SSMElems: dim * l.State, Heads: dim, HeadDim: 1, StateDim: l.State, KeyHeads: 1}
	case CCA:
		dim := l.Inner / tp
		return State{ConvDim: dim, ConvTaps: taps, ConvElems: dim*taps + l.Flat, Heads: 1, HeadDim: 1}
	case ShortConv:
		return l.Streams.stateAt(tp, taps)
	}
	dim := (l.Inner + 2*l.groupsAt(tp)*l.State) / tp
	return State{ConvDim: dim, ConvTaps: taps, ConvElems: dim * taps, SSMElems: l.Heads / tp * l.HeadDim * l.State,
		Heads: l.Heads / tp, HeadDim: l.HeadDim, StateDim: l.State, KeyHeads: ceilDiv(l.Groups, tp)}
}

// BytesPerRequest is the state of one request over n layers on a rank of tp.
func (l *Linear) BytesPerRequest(tp, n int) int64 {
	s := l.StateAt(tp)
	return int64(s.ConvElems*l.ConvBytes+s.SSMElems*l.StateBytes) * int64(n)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (s *Streams) stateAt(tp, taps int) State {
	full, local := max(1, s.FullKVHeads/tp)*s.FullHeadDim, max(1, s.SWAKVHeads/tp)*s.SWAHeadDim
	dim := 2 * (full + local + s.Hidden)
	return State{ConvDim: dim, ConvTaps: taps, ConvElems: dim * taps, NoDedup: true}
}

// linear fills m.Linear for hybrids and state-space models.
func (d *deriver) linear() {
	m := d.m
	for _, f := range linearFamilies {
		if !f.archs.has(d.r, m.Arch) && !f.archs.has(d.r, d.v.arch) {
			continue
		}
		if m.IsDraft && !f.drafts {
			return // a draft of these has attention layers alone
		}
		l := f.build(d)
		if l == nil {
			return
		}
		d.stateDTypes(l, f)
		m.Linear = l
		return
	}
}

// stateDTypes sets the element sizes: bfloat16 convolutions and float32
// states, unless the flag, the variable or (0.5.9 on) the file says otherwise.
func (d *deriver) stateDTypes(l *Linear, f linearFamily) {
	l.ConvBytes, l.StateBytes = 2, 4
	if n := DTypeBytes(d.opt.ConvDType); n > 0 {
		l.ConvBytes = n
	}
	if d.r.AtLeast("0.5.9") && !f.ignoresFileDType {
		if n := DTypeBytes(d.v.text.str("mamba_ssm_dtype")); n > 0 {
			l.StateBytes = n
		}
	}
	if n := DTypeBytes(d.opt.SSMDType); n > 0 {
		l.StateBytes = n
	}
	if l.Kind == ShortConv {
		l.ConvBytes, l.StateBytes = 2, 2
	}
}

// without returns the layers of 0..n-1 that are not in skip.
func without(n int, skip []int) []int {
	var out []int
	for i := range n {
		if !slices.Contains(skip, i) {
			out = append(out, i)
		}
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// where returns the positions of list whose entry is one of want.
func where(list []string, want ...string) []int {
	var out []int
	for i, s := range list {
		if slices.Contains(want, s) {
			out = append(out, i)
		}
	}
	return out
}
