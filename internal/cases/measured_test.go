package cases_test

import (
	"bytes"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/internal/cases/gen/measured"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// logged is the rounding of two log lines.
const logged = units.GiB / 100

// compared is one figure of a launch beside what was measured.
type compared struct {
	name              string
	value, low, high  float64
	measured, allowed float64 // allowed: how far off it may be; 0 asks for the band
}

func (c compared) within() bool {
	if c.allowed > 0 {
		return math.Abs(c.value-c.measured) <= c.allowed
	}
	return c.low-logged.GiB() <= c.measured && c.measured <= c.high+logged.GiB()
}

func gib(name string, f *figure.Bytes, measured, allowed float64) (compared, bool) {
	if f == nil || measured == 0 {
		return compared{}, false
	}
	return compared{name, f.Value.GiB(), f.Low.GiB(), f.High.GiB(), measured, allowed}, true
}

// figures are the ledger entries of a launch of which a measurement exists:
// the pre-load free memory from the reading before the start alone, the rest
// with what the log says was free when loading began.
func figures(t *testing.T, c cases.Case) []compared {
	blind, g, o := plan(t, c, cases.Nothing).GPU, plan(t, c, cases.Begin).GPU, c.Observed
	var out []compared
	add := func(v compared, ok bool) {
		if ok {
			out = append(out, v)
		}
	}
	if c.Note == "" {
		add(gib("pre-load free", &blind.PreLoad, o.LoadBegin, 0.3))
	}
	add(gib("weights", &g.WeightsBytes, o.Weights, 0.3))
	add(gib("pool end free", g.PoolEndFreeBytes, o.PoolEnd, 0.3))
	if m := g.MaxTotalNumTokens; m != nil && o.Tokens > 0 && o.LoadEnd-o.PoolEnd > 10 {
		add(compared{"tokens", float64(m.Value), float64(m.Low), float64(m.High), float64(o.Tokens), 0.01 * float64(o.Tokens)}, true)
	}
	if c.Outcome == cases.Ready || c.Outcome == cases.OOMServing {
		add(gib("need start", g.NeedStartBytes, o.NeedStart, 0))
		add(gib("need serving", g.NeedServingBytes, o.NeedServing, 0))
	}
	return out
}

// atLeast is the share of each figure's comparisons that must hold, in percent.
// What misses: the weights and the tokens of an EAGLE3 draft.
var atLeast = map[string]int{"pre-load free": 100, "weights": 95, "pool end free": 95, "tokens": 100, "need start": 90, "need serving": 90}

// TestMeasured plans every measured launch and prints each figure beside its
// measurement.
func TestMeasured(t *testing.T) {
	n, held := map[string]int{}, map[string]int{}
	for _, c := range all(t) {
		if !c.Measured {
			continue
		}
		t.Logf("%s (%s) %s %s", c.ID, c.Outcome, plan(t, c, cases.Begin).Verdict, c.Note)
		for _, f := range figures(t, c) {
			n[f.name]++
			mark := " <-- outside"
			if f.within() {
				mark = ""
				held[f.name]++
			}
			t.Logf("    %-14s %12.2f (%.2f..%.2f) measured %12.2f error %+.2f%s", f.name, f.value, f.low, f.high, f.measured, f.value-f.measured, mark)
		}
	}
	for name, percent := range atLeast {
		t.Logf("%s: %d of %d", name, held[name], n[name])
		require.NotZero(t, n[name], name)
		require.GreaterOrEqual(t, 100*held[name], percent*n[name], name)
	}
}

// phases are where a launch with each outcome fails, in the plan's words.
var phases = map[cases.Outcome][]string{
	cases.OOMWeights: {"weights"},
	cases.OOMPool:    {"pool"},
	cases.OOMGraph:   {"graph capture"},
	cases.OOMServing: {"serving"},
}

// TestDeathsForeseen: every measured launch that ran out of GPU memory is told
// where it will.
func TestDeathsForeseen(t *testing.T) {
	for _, c := range all(t) {
		want, ok := phases[c.Outcome]
		if !c.Measured || !ok {
			continue
		}
		p := plan(t, c, cases.Begin)
		t.Logf("%s (%s): %s, %q", c.ID, c.Outcome, p.Verdict, p.GPU.Phase)
		require.NotEqual(t, planner.OK, p.Verdict, c.ID)
		require.Contains(t, want, p.GPU.Phase, c.ID)
	}
}

// TestRecommendAtTheEdge: where the edge of the fraction was searched, what
// recommend says is never above the largest that lived, and within 0.03 of it.
func TestRecommendAtTheEdge(t *testing.T) {
	for _, e := range cases.Edges(all(t)) {
		if !e.Searched() {
			continue
		}
		r := planner.Check(request(t, e.Case)).Recommend
		require.NotNil(t, r.MemFractionStatic, e.Case.ID)
		t.Logf("%s: recommends %.3f, lived %.3f, died %.3f", e.Case.Edge, *r.MemFractionStatic, e.Lived, e.Died)
		require.LessOrEqual(t, *r.MemFractionStatic, e.Lived, e.Case.ID)
		require.GreaterOrEqual(t, *r.MemFractionStatic, e.Lived-0.03, e.Case.ID)
	}
}

func request(t *testing.T, c cases.Case) planner.Request {
	t.Helper()
	r, err := c.Request(cases.Begin)
	require.NoError(t, err)
	return r
}

// TestGenerated: the embedded rows are those of testdata/launches.
func TestGenerated(t *testing.T) {
	rows, err := measured.ReadAll("../../testdata/launches")
	require.NoError(t, err)
	var want bytes.Buffer
	require.NoError(t, cases.Write(&want, rows))
	got, err := os.ReadFile("data/measured.jsonl.gz")
	require.NoError(t, err)
	require.True(t, slices.Equal(want.Bytes(), got), "run go generate ./internal/cases")
}
