// Package activation says what a server takes from the GPU after its pools
// are allocated: eager buffers and workspaces, the CUDA graphs of prefill and
// decode, the activations of the first long prompts. The large terms are not
// sums of tensors but what the caching allocator reserves for them, so the
// tensors of a few layers are replayed, in order and with their lifetimes,
// through the allocator's rules.
//
// It knows no SGLang release: planner/sglang/capture describes a launch in
// the terms used here.
package activation

import "github.com/sglplan/sglplan/planner/caching"

// Body is the transformer stack of one rank: what its layers allocate for a
// batch. Widths are elements per token on this rank.
type Body struct {
	Hidden int64
	Vocab  int64 // full vocabulary
	TP     int64 // ranks that share a layer by all-reduce; 1 when alone
	Layers int64 // layers on this rank
	// Stack holds the first layers in order, enough of them for the pattern
	// to repeat; the replay reaches its steady state within a dozen.
	Stack []Layer
	// ReduceMax is the largest message that the out-of-place custom
	// all-reduce takes, in bytes; larger ones go through NCCL in place.
	// Zero: NCCL for all.
	ReduceMax int64
	// HoldOutput: the attention output of a captured pass stays alive until
	// the next layer's attention makes its own.
	HoldOutput bool
	// Extra hidden states are returned beside the last ones, for a draft
	// model: this many tensors of tokens x Hidden.
	Extra int64
	// Lead hidden-sized tensors are alive through the whole pass: a draft's
	// embeddings and the wider input of its first layer.
	Lead int64
	// Gather is the number of ranks whose tokens the feed-forward parts see
	// together (DP attention); 0 and 1 are none.
	Gather int64
}

// Layer is one decoder layer: a token mixer and a feed-forward part.
type Layer struct {
	Mixer Mixer
	MLP   MLP
}

// Mixer is attention or another token mixer. mix allocates and frees its
// tensors and returns the output of its last projection (tokens x Hidden),
// which the caller owns.
type Mixer interface{ mix(p *pass) caching.Block }

// MLP is the feed-forward part. run takes the mixer's output, frees it when
// it is done, and returns the hidden states of the layer.
type MLP interface {
	run(p *pass, mixed caching.Block) caching.Block
}

// elem is the size of an activation element: bf16 or fp16.
const elem = 2

// pass is one forward of a body.
type pass struct {
	body     *Body
	graph    *caching.Allocator // the tensors of graph segments, or all of an eager pass
	eager    *caching.Allocator // what runs between graph segments: attention itself
	tokens   int64
	prefix   int64 // cached tokens that the chunk attends to, decompressed by MLA
	captured bool
	held     heldOutput
}

// heldOutput is the attention output that outlives its layer.
type heldOutput struct {
	in *caching.Allocator
	b  caching.Block
}

func (h *heldOutput) release() {
	if h.in != nil {
		h.in.Free(h.b)
	}
	*h = heldOutput{}
}

func (p *pass) alloc(width int64) caching.Block { return p.graph.Alloc(p.tokens * width * elem) }

func (p *pass) free(bs ...caching.Block) {
	for _, b := range bs {
		p.graph.Free(b)
	}
}

// between is the allocator of what runs between graph segments.
func (p *pass) between() *caching.Allocator {
	if p.captured {
		return p.eager
	}
	return p.graph
}

// reduce is the all-reduce of a hidden-sized tensor over the ranks. The
// custom kernel writes to a tensor of its own, NCCL in place.
func (p *pass) reduce(b caching.Block) caching.Block {
	if p.body.TP <= 1 || p.tokens*p.body.Hidden*elem > p.body.ReduceMax {
		return b
	}
	out := p.alloc(p.body.Hidden)
	p.free(b)
	return out
}

// quantise is the copy that a quantised GEMM makes of its input of n
// elements: bytes per element, and a scale for every 128 of them.
func (p *pass) quantise(bytes, n int64) {
	if bytes > 0 {
		p.free(p.graph.Alloc(n * bytes))
		p.free(p.graph.Alloc(n * 4 / 128))
	}
}

// maxAux bounds the hidden states kept for a draft model.
const maxAux = 8

// output is what a pass returns: the hidden states, and those kept for a
// draft model.
type output struct {
	hidden caching.Block
	aux    [maxAux]caching.Block
}

func (o *output) free(a *caching.Allocator) {
	a.Free(o.hidden)
	for _, b := range o.aux {
		a.Free(b)
	}
}

// forward runs the body and returns its output in p.graph. The held attention
// output of the last layer stays in p.held.
//
// The embedding becomes the residual of the first layer, which makes a normed
// copy; later layers normalise in place. The input of a layer stays alive
// until the layer returns, because its caller holds it.
func (p *pass) forward() output {
	h := p.body.Hidden
	var out output
	kept, extra := 0, int(min(p.body.Extra, maxAux))
	var lead caching.Block
	if p.body.Lead > 0 {
		lead = p.alloc(p.body.Lead * h)
	}
	hidden := p.reduce(p.alloc(h))
	var residual caching.Block
	for i, l := range p.body.Stack {
		input := hidden
		var normed caching.Block
		if residual == 0 {
			residual, normed = hidden, p.alloc(h)
		} else if kept < extra && i >= p.body.keepAt(kept) {
			out.aux[kept] = p.alloc(h) // sum of hidden states and residual
			kept++
		}
		mixed := l.Mixer.mix(p)
		p.free(normed)
		hidden = l.MLP.run(p, mixed)
		if input != residual {
			p.free(input)
		}
	}
	for ; kept < extra; kept++ {
		out.aux[kept] = p.alloc(h)
	}
	p.free(residual, lead)
	out.hidden = hidden
	return out
}

// keepAt is the layer before which the n-th extra hidden state is kept: spread
// from the third layer to the third but last.
func (b *Body) keepAt(n int) int {
	first, last := 2, max(2, len(b.Stack)-3)
	return first + n*(last-first)/max(1, int(b.Extra)-1)
}

// exchanged runs f on the tokens of all ranks of DP attention: their hidden
// states are gathered into one buffer, and the result is scattered into a
// local one. f takes and frees the gathered input.
func (p *pass) exchanged(mixed caching.Block, f func(p *pass, mixed caching.Block) caching.Block) caching.Block {
	if p.body.Gather <= 1 {
		return f(p, mixed)
	}
	all := *p
	all.tokens *= p.body.Gather
	global := all.alloc(p.body.Hidden)
	p.free(mixed)
	out := f(&all, global)
	local := p.alloc(p.body.Hidden)
	all.free(out)
	return local
}
