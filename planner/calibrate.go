package planner

import (
	"math"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// calibratedWeights is what loading took by an earlier log. The token count of
// that log tells it more exactly than the two-decimal figures: with the pool
// rule turned round, memory after the load = tokens x cell + P x (1 - f). It is
// used where the rule then gives the logged count again.
func (g *gpuModel) calibratedWeights(c *Calibration) units.Bytes {
	logged := *c.Weights
	if g.sizer == nil || g.pre == nil || c.MaxTotalTokens == nil || c.MemFraction == nil || *c.MaxTotalTokens <= 0 {
		return logged
	}
	pre, f := g.pre.Value, *c.MemFraction
	// Half a token more, so that rounding down gives the count.
	pool := units.Bytes(math.Ceil((float64(*c.MaxTotalTokens) + 0.5) * g.sizer.KVBytesPerToken()))
	after := pool + units.FromGiB(pre.GiB()*(1-f))
	w := pre - after
	const rounding = 20 * units.MiB // of the two log lines
	if w < logged-rounding || w > logged+rounding {
		return logged // a cap, a state pool or another rule stood between
	}
	if got := g.sizer.At(f, pre.GiB(), after.GiB()).MaxTotalTokens; got != *c.MaxTotalTokens {
		return logged
	}
	return w
}

// calibrateNeeds lays what an earlier launch showed over the model's needs: a
// need that was measured replaces its band, a death says that the need was
// larger than what was free.
func calibrateNeeds(r activation.Result, c *Calibration) activation.Result {
	if c == nil {
		return r
	}
	if n := c.NeedStart; n != nil {
		r.Start, r.StartFloor = *n, min(r.StartFloor, n.Low)
	}
	if n := c.NeedServing; n != nil {
		r.Serving, r.ServingFloor = *n, min(r.ServingFloor, n.Low)
	}
	if free := c.PoolEndFree; free != nil {
		if c.DiedInCapture {
			r.Start, r.StartFloor = above(r.Start, *free), *free
		}
		if c.DiedServing {
			r.Serving, r.ServingFloor = above(r.Serving, *free), *free
		}
	}
	return r
}

// above raises a need that was seen to be more than b.
func above(f figure.Bytes, b units.Bytes) figure.Bytes {
	f.Low, f.Value = max(f.Low, b), max(f.Value, b)
	f.High = max(f.High, f.Value+f.Value/10) // how much more is not known
	return f
}
