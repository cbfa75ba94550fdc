package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
)

// pair is a predicted figure beside what a log or a reading says.
type pair struct {
	row
	value, low, high float64
	basis            figure.Basis
	logged           float64
	grain            float64 // the log's rounding
}

func (p pair) rel() float64 { return p.value/p.logged - 1 }

func (p pair) inside() bool { return p.low-p.grain <= p.logged && p.logged <= p.high+p.grain }

// measure is one figure that is compared.
type measure struct {
	name, unit string
	relative   bool // errors are relative; else in GiB
	known      string
	// exact: SGLang's own arithmetic on readings with two decimals, so that
	// the plan prints no band.
	exact bool
	pick  func(row) (pair, bool)
}

func (p pair) err(m measure) float64 {
	if m.relative {
		return p.rel()
	}
	return p.value - p.logged
}

func (m measure) show(v float64) string {
	if m.unit == "tokens" {
		return thousands(int64(math.Round(v)))
	}
	return gib(v)
}

func (m measure) showErr(e float64) string {
	if m.relative {
		return percent(e)
	}
	return fmt.Sprintf("%+.2f", e)
}

// grain is the rounding of three log lines with two decimals: what was free
// when loading began, when it ended, and the figure itself.
const grain = 0.015

func bytesPair(r row, f *figure.Bytes, logged float64) (pair, bool) {
	if f == nil || logged == 0 {
		return pair{}, false
	}
	return pair{r, f.Value.GiB(), f.Low.GiB(), f.High.GiB(), f.Basis, logged, grain}, true
}

func tokensPair(r row, p *planner.Plan) (pair, bool) {
	if !r.comparable() || p.GPU == nil || p.GPU.MaxTotalNumTokens == nil {
		return pair{}, false
	}
	f := p.GPU.MaxTotalNumTokens
	return pair{r, float64(f.Value), float64(f.Low), float64(f.High), f.Basis, float64(r.Observed.Tokens), 0}, true
}

// reached reports that the need of a launch could be seen whole: it came so
// far and nobody killed it on the way.
func (r row) reached() bool {
	return r.Outcome == cases.Ready || r.Outcome == cases.OOMServing
}

var (
	tokensBlind = measure{"tokens, nothing given", "tokens", true, "the command and the machine before the start", false, func(r row) (pair, bool) {
		if r.Note != "" {
			return pair{}, false
		}
		return tokensPair(r, r.blind)
	}}
	tokensBegin = measure{"tokens, free memory given", "tokens", true, "and what was free when loading began (`--gpu-free`)", false, func(r row) (pair, bool) {
		return tokensPair(r, r.begin)
	}}
	tokensLoaded = measure{"tokens, weights given too", "tokens", true, "and what loading took (`--gpu-weights`, or `--calibrate` with an earlier log)", true, func(r row) (pair, bool) {
		if r.Observed.LoadBegin == 0 || r.Observed.LoadEnd == 0 || r.Draft != "" {
			return pair{}, false
		}
		return tokensPair(r, r.loaded)
	}}
	preLoad = measure{"free when loading begins", "GiB", false, "the command and the machine before the start", false, func(r row) (pair, bool) {
		if r.Note != "" {
			return pair{}, false
		}
		return bytesPair(r, &r.blind.GPU.PreLoad, r.Observed.LoadBegin)
	}}
	weights = measure{"weights per GPU", "GiB", false, "config.json alone", false, func(r row) (pair, bool) {
		return bytesPair(r, &r.begin.GPU.WeightsBytes, r.Observed.Weights)
	}}
	poolEnd = measure{"free after the pools", "GiB", false, "free memory at load begin given", false, func(r row) (pair, bool) {
		return bytesPair(r, r.begin.GPU.PoolEndFreeBytes, r.Observed.PoolEnd)
	}}
	needStart = measure{"taken by the rest of the start", "GiB", false, "free memory at load begin given", false, func(r row) (pair, bool) {
		if !r.reached() {
			return pair{}, false
		}
		return bytesPair(r, r.begin.GPU.NeedStartBytes, r.Observed.NeedStart)
	}}
	needServing = measure{"taken by serving", "GiB", false, "free memory at load begin given", false, func(r row) (pair, bool) {
		if !r.reached() {
			return pair{}, false
		}
		return bytesPair(r, r.begin.GPU.NeedServingBytes, r.Observed.NeedServing)
	}}
)

// measures are in the order of the page.
var measures = []measure{tokensBlind, tokensBegin, tokensLoaded, preLoad, weights, poolEnd, needStart, needServing}

// pairs are the rows of which a figure can be compared, worst first.
func pairs(rows []row, m measure) []pair {
	var out []pair
	for _, r := range rows {
		if p, ok := m.pick(r); ok {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b pair) int {
		return cmp.Compare(math.Abs(b.err(m)), math.Abs(a.err(m)))
	})
	return out
}

func errorsOf(ps []pair, m measure) stats {
	out := make(stats, len(ps))
	for i, p := range ps {
		out[i] = p.err(m)
	}
	return out
}
