package pool

import "github.com/sglplan/sglplan/planner/units"

// Refusal is why SGLang would not make the pools; None when it does.
type Refusal int

// The refusals.
const (
	None           Refusal = iota
	NoMemory               // weights leave nothing under this fraction
	NoTokens               // what is left holds no token
	NoStates               // no slot of recurrent state fits
	NoRequests             // the state slots serve no request
	WindowTooSmall         // the window pool holds no request
	WindowTooLarge         // the window pool leaves no room for the full one
	NoLayers               // no layer to size a pool by: an unusable configuration
)

// String is a short name for logs and JSON.
func (r Refusal) String() string {
	return [...]string{"none", "no-memory", "no-tokens", "no-states", "no-requests", "window-too-small", "window-too-large", "no-layers"}[r]
}

// Result is what one fraction gives. Counts are per attention-DP rank.
type Result struct {
	Refused Refusal

	MaxTotalTokens     int64 // max_total_num_tokens
	FullTokens         int64 // full-attention pool; MaxTotalTokens without window pools
	SWATokens          int64 // window pool, 0 without one
	StateSlots         int64 // max_mamba_cache_size, 0 without recurrent layers
	MaxRunningRequests int64
	RequestRows        int64 // size of the request table, before its extra rows
	C4StateRows        int64 // DeepSeek-V4: rows of the four-token states

	// Bytes as allocated on the rank of the tightest stage.
	Bytes Footprint
}

// Footprint is what the pools take on the card, allocation padding included.
type Footprint struct {
	KV          units.Bytes // keys and values, latents and index keys of all token pools
	States      units.Bytes // recurrent states with verify states and padding slots
	Requests    units.Bytes // the request-to-token table
	Bookkeeping units.Bytes // free lists and the full-to-window map
	Draft       units.Bytes // the draft's own pool
}

// Total is the sum of all parts: what the pools phase takes from the card.
func (f Footprint) Total() units.Bytes {
	return f.KV + f.States + f.Requests + f.Bookkeeping + f.Draft
}

// PoolInfo describes one pool on a rank of the first stage.
type PoolInfo struct {
	Name          string // "full", "swa", "mamba", "indexer", "c4", "c128", "state"
	Layers        int
	BytesPerToken int64 // of one token over all its layers, 0 for slots
	BytesPerSlot  int64 // of one request's state over all its layers
	Tokens        TokenKind
	// Geometry of one layer on a rank, for the host copy of the pool.
	Heads, HeadDim, VHeadDim int
	Latent                   int // width of an MLA row as stored, 0 for heads
	ElementBytes             int
	DType                    string
}

// TokenKind says which count of Result fills a pool.
type TokenKind int

// The counts.
const (
	CountFull TokenKind = iota
	CountSWA
	CountSlots
)
