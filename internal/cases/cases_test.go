package cases_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
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
	var cold, calibrated []errorOf
	inside := 0
	for _, c := range all(t) {
		if c.Observed.Tokens == 0 || !c.FractionGiven && !c.Measured {
			continue
		}
		p := plan(t, c, cases.Begin)
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
			v := plan(t, c, cases.Loaded).GPU.MaxTotalNumTokens.Value
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
	served, ok, died, rejected := 0, 0, 0, 0
	for _, c := range all(t) {
		v := plan(t, c, cases.Begin).Verdict
		switch {
		case c.Outcome == cases.Ready:
			served++
			require.NotEqual(t, planner.Reject, v, "%s served", c.ID)
			if v == planner.OK {
				ok++
			}
		case c.Outcome.Died():
			died++
			require.NotEqual(t, planner.OK, v, "%s died (%s)", c.ID, c.Outcome)
			if v == planner.Reject {
				rejected++
			}
		}
	}
	t.Logf("served %d, called ok %d; died %d, rejected %d", served, ok, died, rejected)
	require.GreaterOrEqual(t, ok*2, served)
	require.GreaterOrEqual(t, rejected*3, died)
}

func all(t *testing.T) []cases.Case {
	t.Helper()
	out, err := cases.All()
	require.NoError(t, err)
	return out
}

func plan(t *testing.T, c cases.Case, known cases.Known) *planner.Plan {
	t.Helper()
	r, err := c.Request(known)
	require.NoError(t, err)
	return planner.Check(r)
}
