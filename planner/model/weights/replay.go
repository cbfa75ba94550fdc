package weights

import "github.com/sglplan/sglplan/planner/caching"

// DType is the type of a tensor's elements.
type DType uint8

// The element types that weights have.
const (
	BF16 DType = iota // any two-byte float
	FP32
	FP8
	U8
	I32
	I64
	C64
)

var dtypeBytes = [...]int64{BF16: 2, FP32: 4, FP8: 1, U8: 1, I32: 4, I64: 8, C64: 8}

// Bytes returns the size of one element.
func (d DType) Bytes() int64 { return dtypeBytes[d] }

// Group is a part of the model in the table of weights.
type Group uint8

// The groups, in the order in which they are printed.
const (
	Attention Group = iota
	Experts
	SharedExperts
	DenseMLP
	Embedding
	LMHead
	Vision
	Router
	Norms
	Rope
	Indexer
	LinearAttention
	LookupTables
	Other
	groups
	// Unlisted tensors are on the card but belong to no module: those of
	// modules that were replaced and live on in some cache.
	Unlisted = groups
)

var groupNames = [...]string{
	Attention: "attention", Experts: "experts", SharedExperts: "shared experts", DenseMLP: "dense_mlp",
	Embedding: "embedding", LMHead: "lm_head", Vision: "vision", Router: "router", Norms: "norms",
	Rope: "rope", Indexer: "indexer", LinearAttention: "linear attention", LookupTables: "lookup tables", Other: "other",
}

// String returns the name used in JSON.
func (g Group) String() string { return groupNames[g] }

// Replay follows the tensors of one rank from construction to the end of
// loading, through the allocator's rules.
type Replay struct {
	mem     caching.Allocator
	tensors []tensor // by handle
	live    [groups + 1]int64
}

// tensor is what a replay keeps of a live tensor.
type tensor struct {
	group Group
	bytes int64 // unrounded
}

// Handle names a live tensor of a Replay. The zero value is no tensor.
type Handle = caching.Block

// maxTensor bounds one request, so that sums of absurd shapes cannot overflow.
const maxTensor = 1 << 50

// NewReplay returns an empty replay with room for about n tensors.
func NewReplay(n int) *Replay {
	return &Replay{tensors: make([]tensor, 1, n+1)}
}

// New allocates a tensor of the given shape.
func (r *Replay) New(g Group, d DType, shape ...int64) Handle {
	bytes := d.Bytes()
	for _, n := range shape {
		bytes = mul(bytes, n)
	}
	if bytes <= 0 {
		return 0
	}
	bytes = min(bytes, maxTensor)
	h := r.mem.Alloc(bytes)
	r.keep(h, g, bytes)
	return h
}

// Run allocates count tensors of each elements that are dropped together, and
// appends what is to be freed to hs.
func (r *Replay) Run(hs []Handle, g Group, d DType, count, each int64) []Handle {
	bytes := min(mul(d.Bytes(), each), maxTensor)
	if bytes <= 0 {
		return hs
	}
	r.mem.AllocRun(bytes, min(count, maxRun), func(h Handle, n int64) {
		r.keep(h, g, n*bytes)
		hs = append(hs, h)
	})
	return hs
}

// maxRun bounds the tensors of one run: no layer has as many experts.
const maxRun = maxExperts

func (r *Replay) keep(h Handle, g Group, bytes int64) {
	for int(h) >= len(r.tensors) {
		r.tensors = append(r.tensors, tensor{})
	}
	r.tensors[h] = tensor{g, bytes}
	r.live[g] += bytes
}

// Free drops a tensor; the zero handle is none.
func (r *Replay) Free(h Handle) {
	if h == 0 {
		return
	}
	t := r.tensors[h]
	r.live[t.group] -= t.bytes
	r.mem.Free(h)
}

// Swap drops *h and keeps a new tensor in its place; the new one is allocated
// first, as an assignment of a fresh tensor does.
func (r *Replay) Swap(h *Handle, g Group, d DType, shape ...int64) {
	n := r.New(g, d, shape...)
	r.Free(*h)
	*h = n
}

// Live returns the bytes of the tensors of a group.
func (r *Replay) Live(g Group) int64 { return r.live[g] }

// Total returns the bytes of all modules' tensors.
func (r *Replay) Total() int64 {
	var n int64
	for _, v := range r.live[:groups] {
		n += v
	}
	return n
}

// EmptyCache gives unused segments back, as SGLang does before it prints what
// loading took.
func (r *Replay) EmptyCache() { r.mem.EmptyCache() }

// Reserved returns what the allocator holds of the card, Peak its highest.
func (r *Replay) Reserved() int64 { return int64(r.mem.Reserved()) }

// Peak returns the most that the allocator has held.
func (r *Replay) Peak() int64 { return int64(r.mem.ReservedPeak()) }

// mul multiplies sizes and stays at maxTensor instead of overflowing;
// negative sizes count as none.
func mul(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > maxTensor/b {
		return maxTensor
	}
	return a * b
}
