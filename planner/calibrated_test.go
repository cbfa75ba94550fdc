package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// TestMeasurementsOfAnotherLaunch: a log of another model or layout is left
// out, and weights that cannot be this model's never make a launch ok.
func TestMeasurementsOfAnotherLaunch(t *testing.T) {
	weights := units.FromGiB(72.33)
	for _, tc := range []struct {
		name string
		c    planner.Calibration
		code string
		used bool
	}{
		{"its own", planner.Calibration{ModelPath: "moonshotai/Kimi-K2.5", TPSize: 8, Weights: &weights}, "", true},
		{"from a folder", planner.Calibration{ModelPath: "/models/kimi", TPSize: 8, Weights: &weights}, "", true},
		{"another model", planner.Calibration{ModelPath: "Qwen/Qwen3-32B", TPSize: 8, Weights: &weights}, "calibration-of-another-launch", false},
		{"another layout", planner.Calibration{ModelPath: "moonshotai/Kimi-K2.5", TPSize: 4, Weights: &weights}, "calibration-of-another-launch", false},
	} {
		r := kimi(t, "0.5.9", "--mem-fraction-static 0.85 --hicache-size 40")
		r.Calibration = &tc.c
		p := planner.Check(r)
		require.Equal(t, tc.used, p.GPU.WeightsBytes.Basis == figure.Measured, tc.name)
		require.Equal(t, tc.code != "", found(p, tc.code), tc.name)
	}

	few := units.FromGiB(10)
	r := request(t, host(t, "1xH100", units.TB, units.TB), "0.5.17", "--model-path Qwen/Qwen3-32B")
	r.GPUWeights = &few
	p := planner.Check(r)
	require.True(t, found(p, "weights-far-from-estimate"))
	require.NotEqual(t, planner.OK, p.Verdict)
}

func found(p *planner.Plan, code string) bool {
	for _, f := range p.Findings {
		if string(f.Code) == code {
			return true
		}
	}
	return false
}
