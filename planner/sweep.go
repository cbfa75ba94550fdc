package planner

import (
	"math"

	"github.com/sglplan/sglplan/planner/finding"
)

// step is the grid of fractions that recommend and sweep look at, in
// thousandths: SGLang takes any float, and five thousandths of a card are less
// than the bands of what is left over.
const step = 5

// thousandth returns n/1000 as the float that the same text on a command line
// would be.
func thousandth(n int) float64 { return float64(n) / 1000 }

// Sweep judges the launch as Check does and adds what every fraction would
// give, from the smallest that has a pool to the whole card.
func Sweep(req Request) *Plan {
	j := prepare(req)
	p := j.check()
	if j.gpu == nil || !j.gpu.canPlan() {
		return p
	}
	for n := j.gpu.firstStep(); n < 1000; n += step {
		p.Sweep = append(p.Sweep, j.gpu.sweepPoint(thousandth(n)))
	}
	return p
}

func (g *gpuModel) sweepPoint(f float64) SweepPoint {
	pt := g.at(f)
	s := SweepPoint{
		MemFractionStatic: f, MaxTotalNumTokens: pt.tokens.Value, Tokens: pt.tokens,
		PoolEndFreeBytes: pt.poolEnd.Value, HeadroomBytes: pt.headroom(), Phase: pt.phase, Verdict: OK,
	}
	switch pt.severity {
	case finding.Error:
		s.Verdict = Reject
	case finding.Warning:
		s.Verdict = Warn
	}
	return s
}

// firstStep is the smallest fraction on the grid that leaves room for a pool.
func (g *gpuModel) firstStep() int {
	n := int(math.Ceil(g.minimum()*1000/step)) * step
	return min(max(n, step), 1000)
}

// best returns the largest fraction on the grid such that it and every smaller
// one with a pool leaves more than the high end of both needs. ok is false
// when there is none.
func (g *gpuModel) best() (f float64, ok bool) {
	for n := g.firstStep(); n < 1000; n += step {
		pt := g.at(thousandth(n))
		if pt.phase == phasePool && !pt.overfull() {
			continue // below the fractions that surely have a pool
		}
		if pt.severity != 0 {
			break
		}
		f, ok = thousandth(n), true
	}
	return f, ok
}

// bestGated is the largest fraction above best that lives only because the
// release leaves its prefill graphs out when little is free; ok is false where
// there is none.
func (g *gpuModel) bestGated(above float64) (f float64, ok bool) {
	if g.needs == nil || g.needs.NoPrefillGraphs == nil {
		return 0, false
	}
	for n := int(math.Round(above*1000)) + step; n < 1000; n += step {
		if g.at(thousandth(n)).severity == 0 {
			f, ok = thousandth(n), true
		}
	}
	return f, ok
}
