package activation

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
)

// Phase is where a launch fails for want of GPU memory after its pools.
type Phase string

// The phases after the pools; the zero value is none.
const (
	Capture Phase = "graph capture"
	Load    Phase = "serving"
)

// Judge says whether a launch lives with so much free where its pools end.
// Severity 0 is yes; a warning is tight: inside the band, or alive only on the
// allocator's retries; an error is known not to fit. The phase is where it
// fails first.
func Judge(r Result, free figure.Bytes) (Phase, finding.Severity) {
	if r.NoPrefillGraphs == nil || free.Low >= r.GateAt.High {
		return judge(r, free)
	}
	without := r.Gated()
	if free.High < r.GateAt.Low {
		return judge(without, free)
	}
	// Near the gate either may happen: known to fail only if both fail.
	p, s := judge(r, free)
	q, t := judge(without, free)
	switch {
	case s == finding.Error && t == finding.Error:
		return p, s
	case s == 0 && t == 0:
		return "", 0
	case s >= t:
		return p, finding.Warning
	default:
		return q, finding.Warning
	}
}

// With returns what the launch takes when so much is free where its pools end:
// without prefill graphs below the gate, and with the low end of serving at
// what is alive at once where less than the high end is free, because the
// allocator then empties its cache and reserves less.
func (r Result) With(free figure.Bytes) Result {
	if r.NoPrefillGraphs != nil && free.Value < r.GateAt.Value {
		r = r.Gated()
	}
	if free.Value < r.Serving.High {
		r.Serving.Low = min(r.Serving.Low, r.ServingFloor)
	}
	return r
}

// Gated returns the result after the gate has left the prefill graphs out, at
// the same size of the pool; r itself where there is no gate.
func (r Result) Gated() Result {
	if r.NoPrefillGraphs == nil {
		return r
	}
	return r.NoPrefillGraphs.At(r.tokens).Staying(r.staying)
}

func judge(r Result, free figure.Bytes) (Phase, finding.Severity) {
	switch {
	case free.High < r.StartFloor:
		return Capture, finding.Error
	case free.High < r.ServingFloor && free.Value < r.Start.Low:
		return Capture, finding.Error
	case free.High < r.ServingFloor:
		return Load, finding.Error
	case free.Low >= r.Safe():
		return "", 0
	case free.Low < r.Start.High && r.Start.High >= r.Serving.High:
		return Capture, finding.Warning
	default:
		return Load, finding.Warning
	}
}
