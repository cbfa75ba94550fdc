package activation

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// Group is the ledger line that a term belongs to.
type Group string

// The groups.
const (
	Graphs      Group = "graphs"
	Activations Group = "activations"
	Workspace   Group = "workspace"
	Buffers     Group = "buffers"
)

// Term is one named share of the needs.
type Term struct {
	Name   string
	Group  Group
	Bytes  figure.Bytes
	Source string // the rule or the measurement behind it
}

// Graphs of one phase: the sizes that are captured.
type Captures struct {
	Sizes []int64 // tokens (prefill) or requests (decode), from the largest down
	// Fixed are the terms that come with the capture beside the replay:
	// graph objects, tables, shared buffers. They stay.
	Fixed []Term
	// Extra is taken during the capture and given back after it.
	Extra []Term
}

// Max returns the largest captured size, 0 when none is.
func (c *Captures) Max() int64 {
	if c == nil || len(c.Sizes) == 0 {
		return 0
	}
	return c.Sizes[0]
}

// EagerBuffers are the input buffers sized by the pool: PerToken bytes for
// each of max(tokens, Floor) tokens.
type EagerBuffers struct {
	PerToken units.Bytes
	Floor    int64
}

// At returns the size at a pool of so many tokens.
func (e EagerBuffers) At(tokens int64) units.Bytes {
	return e.PerToken * units.Bytes(max(tokens, e.Floor))
}

// Serving is the load whose worst moment counts: the first long prompts and a
// full decode batch.
type Serving struct {
	Chunk  int64 // tokens of the largest prefill batch
	Prompt int64 // tokens of a long prompt
	Queue  int64 // long prompts that wait at once
	// Longest is the cached prefix of the last chunk of a prompt as long as the
	// context, where such a prefix takes more; else 0.
	Longest     int64
	DecodeBatch int64 // requests that decode at once
	DecodeRows  int64 // rows that a request has in a decode batch: its draft tokens; 0 is 1
	Fixed       []Term
}

type batch struct{ tokens, requests, prefix int64 }

// shortPrompt is the prompt of a burst of small requests.
const shortPrompt = 64

// batches yields the prefill batches in order: a prompt alone, then full
// chunks that end in the beginning of a prompt and start with the rest of the
// one before, whose cached part is the batch's prefix, then a chunk of small
// requests.
func (v *Serving) batches(yield func(batch) bool) {
	if v.Chunk <= 0 {
		return
	}
	first := min(v.Prompt, v.Chunk)
	if !yield(batch{first, 1, 0}) {
		return
	}
	left := max(v.Queue, 4)*v.Prompt - first
	done := v.Prompt - first // tokens of the prompt in work that wait
	for left > 0 {
		n := min(v.Chunk, left)
		prefix := int64(0)
		if done > 0 {
			prefix = v.Prompt - done
		}
		if !yield(batch{n, 2, min(prefix, maxPrefix)}) {
			return
		}
		left -= n
		done = left % v.Prompt
	}
	yield(batch{v.Chunk, max(1, min(v.DecodeBatch, v.Chunk/shortPrompt)), 0})
}

// maxPrefix bounds the tokens that MLA projects up at once
// (SGLANG_MAX_KV_CHUNK_CAPACITY).
const maxPrefix = 131072

// Share is a part of the needs that nobody measured for this class of launch,
// and how far off it may be.
type Share struct {
	What string
	Part float64 // of the need
}

// Stage is the captures of a further model, a draft: its prefill graphs go to
// a pool of their own, because another stream captures them.
type Stage struct {
	Name    string
	Body    Body
	Before  []Term
	Prefill *Captures // nil: none
	After   []Term    // the stage's decode-style graphs
}

// Launch is what runs after the pools, in the terms of this package.
type Launch struct {
	Body    Body
	Before  []Term // taken before the first capture, beside Eager
	Eager   EagerBuffers
	Tokens  int64     // max_total_num_tokens that Eager starts from
	Prefill *Captures // nil: no prefill graphs
	Decode  *Captures // nil: no decode graphs
	// CaptureWorkspace is the cuBLAS workspace of the capture stream.
	CaptureWorkspace units.Bytes
	// SharedOutput: the outputs of all prefill graphs go to one buffer
	// outside the graph pool; else that of the first stays in the pool.
	SharedOutput bool
	// Drafts are captured after the decode graphs of the target.
	Drafts []Stage
	// DecodeFirst: the decode graphs are captured before the prefill graphs.
	DecodeFirst bool
	// DecodeAlone is what a decode capture takes more when no prefill capture
	// came first.
	DecodeAlone []Term
	// AtReady are taken once the server answers its first request, Late after
	// that and before the first load.
	AtReady, Late []Term
	Serving       Serving
	// Gate: the prefill graphs are left out when less than this is free where
	// their capture would begin. 0: never.
	Gate       units.Bytes
	Unmeasured []Share
	// Spread is the fitted spread beside the terms' own bands.
	Spread Spread
}

// Spread is how far measurements lie from the model for a measured class.
type Spread struct {
	Start, Ready, Serving units.Bytes
	Replay                float64 // of the prefill replay
	Load                  float64 // of what serving adds
}
