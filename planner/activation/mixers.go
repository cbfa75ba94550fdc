package activation

import "github.com/sglplan/sglplan/planner/caching"

// Attention is multi-head or grouped-query attention.
type Attention struct {
	Q, KV   int64 // query heads x head_dim, key (or value) heads x head_dim
	Heads   int64 // query heads
	Gated   bool  // a sigmoid gate beside the query (Qwen3-Next, Qwen3.5)
	Copies  int64 // query-sized tensors that the backend makes: contiguous copies, own output
	Narrow  bool  // one-byte KV cache: query, key and value are converted first
	InBytes int64 // bytes per element of the quantised copy of a GEMM input, 0 when none
}

// mix: qkv (tokens x (q + 2 kv)), the output, between segments the backend's
// copies and the softmax sums, then o_proj; qkv is freed after it.
func (a Attention) mix(p *pass) caching.Block {
	p.quantise(a.InBytes, p.tokens*p.body.Hidden)
	width := a.Q + 2*a.KV
	if a.Gated {
		width += a.Q
	}
	qkv := p.alloc(width)
	var gate, q, k caching.Block
	if a.Gated {
		t := p.alloc(a.Q)
		gate, q, k = p.alloc(a.Q), p.alloc(a.Q), p.alloc(a.KV)
		p.free(t)
	}
	out := a.attend(p)
	var o caching.Block
	if a.Gated {
		sigmoid := p.alloc(a.Q)
		p.free(gate)
		product := p.alloc(a.Q)
		o = p.reduce(p.alloc(p.body.Hidden))
		p.free(product, sigmoid, q, k)
	} else {
		p.quantise(a.InBytes, p.tokens*a.Q)
		o = p.reduce(p.alloc(p.body.Hidden))
	}
	p.free(qkv, out)
	return o
}

// attend runs the attention itself and returns its output, none when the
// output is held for the next layer.
func (a Attention) attend(p *pass) caching.Block {
	var out caching.Block
	if p.captured {
		out = p.hold(p.alloc(a.Q))
	}
	at := p.between()
	var tmp [8]caching.Block
	n := 0
	take := func(bytes int64) { tmp[n] = at.Alloc(bytes); n++ }
	copies := a.Copies
	if a.Gated {
		copies--
	}
	for range min(max(copies, 0), 3) {
		take(p.tokens * a.Q * elem)
	}
	if a.Narrow {
		take(p.tokens * a.Q)
		take(p.tokens * a.KV)
		take(p.tokens * a.KV)
	}
	if !p.captured {
		out = p.alloc(a.Q)
	}
	take(p.tokens * a.Heads * 4)
	for _, b := range tmp[:n] {
		at.Free(b)
	}
	return out
}

// hold keeps an attention output until the next one is made, where the body
// does so, and returns what the layer itself must free.
func (p *pass) hold(out caching.Block) caching.Block {
	if !p.body.HoldOutput {
		return out
	}
	p.held.release()
	p.held = heldOutput{p.graph, out}
	return 0
}

// DeltaNet is gated linear attention with a convolution before it (Qwen3-Next,
// Qwen3.5). It runs whole between graph segments.
type DeltaNet struct {
	K, V  int64 // key heads x key dim, value heads x value dim
	Heads int64 // value heads
}

// stateDim is the key and value dimension of a state in the chunked kernels,
// chunkRows the tokens of one chunk.
const (
	stateDim  = 128
	chunkRows = 64
)

func (d DeltaNet) mix(p *pass) caching.Block {
	one := [...]caching.Block{
		p.alloc(2*d.K + 2*d.V), p.alloc(2 * d.Heads), p.alloc(2*d.K + d.V),
		p.alloc(d.V), p.alloc(d.Heads), p.alloc(d.Heads),
	}
	var out caching.Block
	if p.captured {
		out = p.alloc(d.V)
	}
	at := p.between()
	t := p.tokens
	var tmp [14]caching.Block
	for i, n := range [...]int64{
		(2*d.K + d.V) * elem, d.K * elem, d.K * elem, d.V * elem, d.Heads * 4, d.Heads * 4, // convolved q, k, v and gates
		d.K * elem, d.K * elem, d.Heads * 4, d.Heads * chunkRows * elem, d.V * elem, d.V * elem, // normed copies, A, w, u
	} {
		tmp[i] = at.Alloc(t * n)
	}
	states := at.Alloc((t/chunkRows + 1) * d.Heads * stateDim * stateDim * elem)
	tmp[12] = at.Alloc(t * d.V * elem)
	own := at.Alloc(t * d.V * elem)
	for _, b := range tmp {
		at.Free(b)
	}
	at.Free(states)
	if p.captured {
		at.Free(own)
	} else {
		out = own
	}
	norm := p.alloc(d.V)
	o := p.reduce(p.alloc(p.body.Hidden))
	p.free(norm)
	p.free(one[:]...)
	p.free(out)
	return o
}

// MLA is multi-head latent attention.
type MLA struct {
	Heads           int64
	Nope, Rope, Val int64 // head dimensions: without and with position, value
	Latent          int64 // kv_lora_rank
	QLatent         int64 // q_lora_rank, 0 when the query is projected directly
	InBytes         int64 // as in Attention
	// AbsorbBelow: a chunk whose cached prefix is shorter than this many
	// tokens, but not empty, runs in the absorbed form.
	AbsorbBelow int64
	// Joined: the absorbed query is copied into one tensor with its rotary part.
	Joined bool
}

// mix runs one of two forms. Eager chunks without a prefix or with a long one
// project keys and values up to full heads. Captured passes and chunks with a
// short prefix are absorbed: queries and outputs of latent width, no keys.
func (m MLA) mix(p *pass) caching.Block {
	var h handful
	p.quantise(m.InBytes, p.tokens*p.body.Hidden)
	h.take(p.alloc(m.QLatent + m.Latent + m.Rope))
	if m.QLatent > 0 {
		h.take(p.alloc(m.QLatent))
		p.quantise(m.InBytes, p.tokens*m.QLatent)
	}
	h.take(p.alloc(m.Heads * (m.Nope + m.Rope)))
	h.take(p.alloc(m.Latent))
	if p.captured || (p.prefix > 0 && p.prefix < m.AbsorbBelow) {
		m.absorbed(p, &h)
	} else {
		m.full(p, &h)
	}
	p.quantise(m.InBytes, p.tokens*m.Heads*m.Val)
	o := p.reduce(p.alloc(p.body.Hidden))
	p.free(h.b[:h.n]...)
	return o
}

// handful is the tensors that a layer keeps until it returns.
type handful struct {
	b [16]caching.Block
	n int
}

func (h *handful) take(b caching.Block) { h.b[h.n] = b; h.n++ }

// full projects the latents of the chunk and of its prefix up to keys and
// values of all heads: in one piece up to maxPrefix tokens, beyond that the
// chunk by itself and the prefix piece by piece, whose outputs are merged.
func (m MLA) full(p *pass, h *handful) {
	rows := p.tokens + p.prefix
	if rows > maxPrefix {
		m.project(p, h, p.tokens)
		h.take(p.alloc(m.Heads * m.Val))
		h.take(p.alloc(m.Heads * m.Val))
		rows = min(p.prefix, maxPrefix)
	}
	if p.prefix > 0 {
		h.take(p.graph.Alloc(rows * (m.Latent + m.Rope) * elem))
	}
	m.project(p, h, rows)
	h.take(p.alloc(m.Heads * m.Val))
	p.free(p.graph.Alloc(p.tokens * m.Heads * 4)) // softmax sums
}

// project makes kv, of which the values are a view, and the keys joined with
// their rotary part.
func (m MLA) project(p *pass, h *handful, rows int64) {
	h.take(p.graph.Alloc(rows * m.Heads * (m.Nope + m.Val) * elem))
	h.take(p.graph.Alloc(rows * m.Heads * (m.Nope + m.Rope) * elem))
}

func (m MLA) absorbed(p *pass, h *handful) {
	p.quantise(m.InBytes, p.tokens*m.Heads*m.Nope)
	h.take(p.alloc(m.Heads * m.Latent))
	if m.Joined {
		h.take(p.alloc(m.Heads * (m.Latent + m.Rope)))
	}
	h.take(p.alloc(m.Heads * m.Latent)) // attention output
	if p.captured {                     // the kernel's own output, copied into the graph's
		x := p.eager.Alloc(p.tokens * m.Heads * m.Latent * elem)
		y := p.eager.Alloc(p.tokens * m.Heads * m.Rope * elem)
		p.eager.Free(x)
		p.eager.Free(y)
	} else {
		p.free(p.graph.Alloc(p.tokens * m.Heads * 4))
	}
	p.quantise(m.InBytes, p.tokens*m.Heads*m.Latent)
	h.take(p.alloc(m.Heads * m.Val))
}
