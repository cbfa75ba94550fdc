package cases

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/units"
)

type errorOf struct {
	id  string
	rel float64
}

func quantile(es []errorOf, q float64) float64 {
	slices.SortFunc(es, func(a, b errorOf) int { return cmp.Compare(math.Abs(a.rel), math.Abs(b.rel)) })
	return math.Abs(es[int(q*float64(len(es)-1))].rel)
}

// TestTokens holds the token predictions to the public and measured logs.
func TestTokens(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	var cold, calibrated []errorOf
	inside := 0
	for _, c := range all {
		if c.Observed.Tokens == 0 || !c.FractionGiven && !c.Measured {
			continue
		}
		p := plan(t, c, false)
		require.NotNil(t, p.GPU, c.ID)
		require.NotNil(t, p.GPU.MaxTotalNumTokens, c.ID)
		m := *p.GPU.MaxTotalNumTokens
		cold = append(cold, errorOf{c.ID, float64(m.Value)/float64(c.Observed.Tokens) - 1})
		if m.Holds(c.Observed.Tokens) {
			inside++
		} else {
			t.Logf("outside the band: %s: %d (%d..%d) for %d", c.ID, m.Value, m.Low, m.High, c.Observed.Tokens)
		}
		if c.Observed.LoadBegin > 0 && c.Observed.LoadEnd-c.Observed.PoolEnd > 5 {
			v := plan(t, c, true).GPU.MaxTotalNumTokens.Value
			calibrated = append(calibrated, errorOf{c.ID, float64(v)/float64(c.Observed.Tokens) - 1})
		}
	}
	t.Logf("cold: n=%d median %.3f%% p90 %.2f%%, in band %d", len(cold), 100*quantile(cold, 0.5), 100*quantile(cold, 0.9), inside)
	t.Logf("calibrated: n=%d median %.3f%% p90 %.2f%%", len(calibrated), 100*quantile(calibrated, 0.5), 100*quantile(calibrated, 0.9))
	require.LessOrEqual(t, quantile(cold, 0.5), 0.01)
	require.LessOrEqual(t, quantile(cold, 0.9), 0.05)
	require.LessOrEqual(t, quantile(calibrated, 0.9), 0.002)
	require.GreaterOrEqual(t, float64(inside), 0.9*float64(len(cold)))
}

// TestVerdicts: no launch that ran out of memory is called ok, none that
// served is refused.
func TestVerdicts(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	served, ok, died, rejected := 0, 0, 0, 0
	for _, c := range all {
		v := plan(t, c, false).Verdict
		switch {
		case c.Outcome == "ready":
			served++
			require.NotEqual(t, planner.Reject, v, "%s served", c.ID)
			if v == planner.OK {
				ok++
			}
		case strings.HasPrefix(c.Outcome, "oom"), c.Outcome == "host-oom":
			died++
			require.NotEqual(t, planner.OK, v, "%s died (%s)", c.ID, c.Outcome)
			if v == planner.Reject {
				rejected++
			}
		}
	}
	t.Logf("served %d, called ok %d; died %d, rejected %d", served, ok, died, rejected)
	require.GreaterOrEqual(t, ok*2, served)
	require.GreaterOrEqual(t, rejected*2, died)
}

// TestNeeds holds the needs after the pools to the measured launches.
func TestNeeds(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	n, inside := 0, 0
	for _, c := range all {
		if c.Outcome != "ready" || c.Observed.NeedServing == 0 {
			continue
		}
		g := plan(t, c, false).GPU
		const rounding = 30 * units.MiB // of two log lines and of the samples
		for what, need := range map[string]float64{"start": c.Observed.NeedStart, "serving": c.Observed.NeedServing} {
			band := g.NeedStartBytes
			if what == "serving" {
				band = g.NeedServingBytes
			}
			n++
			if v := units.FromGiB(need); band.Low-rounding <= v && v <= band.High+rounding {
				inside++
			} else {
				t.Logf("outside the band: %s %s: %.2f (%.2f..%.2f) for %.2f GiB", c.ID, what, band.Value.GiB(), band.Low.GiB(), band.High.GiB(), need)
			}
		}
	}
	t.Logf("needs inside their bands: %d of %d", inside, n)
	require.GreaterOrEqual(t, float64(inside), 0.9*float64(n))
}

func plan(t *testing.T, c Case, calibrated Calibrated) *planner.Plan {
	t.Helper()
	r, err := c.Request(calibrated)
	require.NoError(t, err)
	return planner.Check(r)
}
