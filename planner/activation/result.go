package activation

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// Result is what a launch takes after its pools, counted from the free memory
// where the pools end.
type Result struct {
	Start   figure.Bytes // the worst moment up to ready
	Ready   figure.Bytes // what stays
	Serving figure.Bytes // the worst moment of the first load

	// StartFloor and ServingFloor count only what is alive at once and the
	// low end of the rest: with less than that free the launch surely fails.
	// Between floor and band it may live on retries, because outside a
	// capture the allocator empties its cache before it gives up.
	StartFloor, ServingFloor units.Bytes

	// Terms are the named shares, in the order in which they appear.
	Terms []Term
	// Unmeasured names what nobody has measured about this class of launch;
	// the bands are wide for it.
	Unmeasured []string
	// PerRequest is what each running request takes beyond DecodeBatch, which
	// the needs assume to decode at once.
	PerRequest  units.Bytes
	DecodeBatch int64

	// LongPrompt is what the last chunk of a prompt as long as the context may
	// take beyond Serving: MLA projects the whole prefix up to full heads.
	LongPrompt units.Bytes

	// NoPrefillGraphs is the same launch after the gate has left its prefill
	// graphs out; nil without such a gate. GateAt is the free memory where
	// the pools end below which that happens.
	NoPrefillGraphs *Result
	GateAt          figure.Bytes

	eager  EagerBuffers
	tokens int64
	// staying was added by Staying, for the variant behind the gate.
	staying units.Bytes
}

// Safe is the free memory where the pools end from which on the launch is known
// to live: the high end of both needs, and room for the longest prompt.
func (r Result) Safe() units.Bytes { return max(r.Start.High, r.Serving.High+r.LongPrompt) }

// At returns the result at another size of the pool. It allocates nothing;
// Terms stay those of the first size.
func (r Result) At(tokens int64) Result {
	d := r.eager.At(tokens) - r.eager.At(r.tokens)
	for _, f := range [...]*figure.Bytes{&r.Start, &r.Ready, &r.Serving, &r.GateAt} {
		f.Value, f.Low, f.High = f.Value+d, f.Low+d, f.High+d
	}
	r.StartFloor += d
	r.ServingFloor += d
	r.tokens = tokens
	return r
}

// Staying returns the result with b more bytes taken for good after the
// captures, by something that is not part of the model (buffers for transfers
// to host pools).
func (r Result) Staying(b units.Bytes) Result {
	for _, f := range [...]*figure.Bytes{&r.Ready, &r.Serving} {
		f.Value, f.Low, f.High = f.Value+b, f.Low+b, f.High+b
	}
	r.ServingFloor += b
	r.staying += b
	return r
}
