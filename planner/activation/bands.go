package activation

import (
	"math"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// result puts bands around what was added up: the spread of the measured
// launches, a share of the replay, and for classes that nobody measured a
// share of the need, combined as independent errors. The eager buffers are
// counted exactly and have no share in it, so that At can move them.
func (c *tally) result(l *Launch) Result {
	share := unmeasured(l.Unmeasured)
	r := Result{Terms: c.Terms, eager: l.Eager, tokens: l.Tokens, DecodeBatch: l.Serving.DecodeBatch, LongPrompt: c.longest,
		PerRequest: units.Bytes(l.Body.Vocab * (elem + 3*logitElem))}
	for _, u := range l.Unmeasured {
		r.Unmeasured = append(r.Unmeasured, u.What)
	}
	eager := l.Eager.At(l.Tokens)
	r.Start = around(c.start, l.Spread.Start+part(c.replay, l.Spread.Replay)+part(c.start-eager, share))
	ready := l.Spread.Ready + part(c.graph, l.Spread.Replay*1.25) + part(c.ready-eager, share)
	r.Ready = around(c.ready, ready)
	r.Serving = around(c.now, ready+l.Spread.Serving+part(c.now-c.ready, l.Spread.Load+share))
	r.Serving.Low = max(r.Serving.Low, r.Ready.Low)
	// What appears late may as well do so before the server is ready.
	r.Start.High = max(r.Start.High, min(r.Ready.High, r.Start.High+c.late))
	r.StartFloor = max(0, r.Start.Low-c.slack)
	r.ServingFloor = min(r.Serving.Low, r.Ready.Low+part(c.live, 1-share))
	return r
}

// unmeasured combines the shares as the root of their squares, at most all.
func unmeasured(shares []Share) float64 {
	sum := 0.0
	for _, u := range shares {
		sum += u.Part * u.Part
	}
	return min(1, math.Sqrt(sum))
}

func part(b units.Bytes, f float64) units.Bytes { return units.Bytes(float64(b) * f) }

func around(v, half units.Bytes) figure.Bytes {
	return figure.Band(v, max(0, v-half), v+half, figure.Estimated)
}
