package planner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/units"
)

// rejected checks a launch that must be rejected and returns the finding of a
// code beside the plan.
func rejected(t *testing.T, r planner.Request, code finding.Code) (*planner.Plan, finding.Finding) {
	t.Helper()
	p := planner.Check(r)
	require.Equal(t, planner.Reject, p.Verdict)
	for _, f := range p.Findings {
		if f.Code == code {
			return p, f
		}
	}
	require.Failf(t, "not found", "%s in %v", code, p.Findings)
	return nil, finding.Finding{}
}

// TestRefusedLaunchesAreMended: the first fix of a launch that the release
// refuses takes the refusal away, the recommended command carries it, and that
// command passes.
func TestRefusedLaunchesAreMended(t *testing.T) {
	for _, tc := range []struct {
		gpus, version, line string
		code                finding.Code
		edits               []finding.Edit
	}{
		{"8xH200", "0.5.23", "--model-path zai-org/GLM-4.7-Flash --tp 8", "attention-heads-not-divisible",
			[]finding.Edit{{Flag: "--tp-size", Value: "4"}}},
		{"8xH200", "0.5.23", "--model-path Qwen/Qwen2.5-7B --tp-size 8", "attention-heads-not-divisible",
			[]finding.Edit{{Flag: "--tp-size", Value: "4"}}},
		{"8xH200", "0.5.20", "--model-path Qwen/Qwen3-235B-A22B-FP8 --tp-size 8", "weights-do-not-divide",
			[]finding.Edit{{Flag: "--ep-size", Value: "8"}}},
		{"2xH100", "0.5.17", "--model-path Qwen/Qwen3-32B --tp-size 4", "ranks-exceed-gpus",
			[]finding.Edit{{Flag: "--tp-size", Value: "2"}}},
		{"2xH100", "0.5.17", "--model-path Qwen/Qwen3-32B --tp-size 2 --page-size 0", "value-out-of-range",
			[]finding.Edit{{Flag: "--page-size", Remove: true}}},
		{"8xH100", "0.5.17", "--model-path Qwen/Qwen3-32B --tp-size 8 --dp-size 3 --enable-dp-attention", "parallel-sizes-do-not-divide",
			[]finding.Edit{{Flag: "--dp-size", Value: "2"}}},
		{"8xH100", "0.5.17", "--model-path Qwen/Qwen3-32B --tp-size 8 --lora-paths a=/x --max-loras-per-batch 0", "rule-refused",
			[]finding.Edit{{Flag: "--max-loras-per-batch", Remove: true}}},
		{"8xH100", "0.5.23", "--model-path Qwen/Qwen3-32B --tp-size 8 --cuda-graph-max-bs 64", "ambiguous-flag",
			[]finding.Edit{{Flag: "--cuda-graph-max-bs", Remove: true}, {Flag: "--cuda-graph-max-bs-decode", Value: "64"}}},
		{"8xB200", "0.5.21", "--model-path deepseek-ai/DeepSeek-V4-Flash --tp-size 8 --enable-hierarchical-cache --hicache-size 40", "hicache-size-unsupported",
			[]finding.Edit{{Flag: "--hicache-size", Remove: true}, {Flag: "--hicache-ratio", Value: "2.0"}}},
	} {
		r := request(t, host(t, tc.gpus, 4*units.TB, 4*units.TB), tc.version, tc.line)
		p, f := rejected(t, r, tc.code)
		require.NotEmpty(t, f.Fixes, tc.line)
		require.Equal(t, tc.edits, f.Fixes[0].Edits, tc.line)
		require.Equal(t, tc.edits, p.Recommend.Changed[:len(tc.edits)], tc.line)

		cmd, err := launch.FromArgv(p.Recommend.Argv)
		require.NoError(t, err)
		r.Launch = cmd
		require.NotEqual(t, planner.Reject, planner.Check(r).Verdict, p.Recommend.Argv)
	}
}

// TestLargestRatioThatFits: pools that take no size get a ratio for this host.
func TestLargestRatioThatFits(t *testing.T) {
	r := request(t, host(t, "8xB200", 2*units.TB, 1980*units.GB), "0.5.21",
		"--model-path deepseek-ai/DeepSeek-V4-Flash --tp-size 8 --enable-hierarchical-cache --hicache-ratio 8 --mem-fraction-static 0.85")
	p, f := rejected(t, r, "host-pool-exceeds-memory")
	fix := f.Fixes[0].Edits[0]
	require.Equal(t, "--hicache-ratio", fix.Flag)
	cmd, err := launch.FromArgv(strings.Fields(strings.Replace(strings.Join(p.Launch.Argv, " "), "ratio 8", "ratio "+fix.Value, 1)))
	require.NoError(t, err)
	r.Launch = cmd
	fits := planner.Check(r)
	require.NotEqual(t, planner.Reject, fits.Verdict, fix.Value)
	require.Less(t, fits.Host.HeadroomBytes.GB(), 200.0, "most of the room is used")
}

// TestGuessesAreNotRecommended: what a misspelled flag means is for the person
// to say.
func TestGuessesAreNotRecommended(t *testing.T) {
	p, f := rejected(t, kimi(t, "0.5.9", "--hicache-sze 48"), "unknown-flag")
	require.NotEmpty(t, f.Fixes)
	require.Contains(t, p.Recommend.Argv, "--hicache-sze")
}

// TestPoolsBeyondTheCard: a table of requests that the fraction does not count
// is named, with a shorter context among the ways out.
func TestPoolsBeyondTheCard(t *testing.T) {
	r := request(t, host(t, "8xH200", 2*units.TB, 2*units.TB), "0.5.23", "--model-path meta-llama/Llama-4-Scout-17B-16E-Instruct --tp-size 8")
	p, f := rejected(t, r, planner.CodePoolsExceed)
	require.Equal(t, "pool", p.GPU.Phase)
	require.Contains(t, f.Detail, "The table of 2048 requests x 10485760 tokens")
	var flags []string
	for _, fix := range f.Fixes {
		flags = append(flags, fix.Edits[0].Flag)
	}
	require.Contains(t, flags, "--context-length")
}

// TestTooFewGPUs: where no flag helps, the number of GPUs that would is named;
// where more are there, they are the fix.
func TestTooFewGPUs(t *testing.T) {
	eight := host(t, "8xH200", 2*units.TB, 2*units.TB)
	_, f := rejected(t, request(t, eight, "0.5.23", "--model-path zai-org/GLM-5 --tp-size 8"), planner.CodeNoRoom)
	require.Contains(t, f.Fixes[0].Title, "use 16 such GPUs")
	require.Empty(t, f.Fixes[0].Edits)

	_, f = rejected(t, request(t, eight, "0.5.23", "--model-path meta-llama/Meta-Llama-3.1-405B --tp-size 4"), planner.CodeNoRoom)
	require.Equal(t, finding.Edit{Flag: "--tp-size", Value: "8"}, f.Fixes[0].Edits[0])
}

// TestFindingsPointAtTheirFlag: a finding about a flag that the command gives
// says which word that is.
func TestFindingsPointAtTheirFlag(t *testing.T) {
	p := planner.Check(kimi(t, "0.5.9", "--mem-fraction-static 0.93 --hicache-size 300"))
	for _, f := range p.Findings {
		if f.Flag != "--hicache-size" && f.Flag != "--mem-fraction-static" {
			continue
		}
		require.NotNil(t, f.Position, f.Code)
		require.Equal(t, f.Flag, p.Launch.Argv[f.Position.Word-1])
	}
}

// TestLedgerBands: every line of the GPU's ledger lies in its band, and the
// pool's band is that of its tokens.
func TestLedgerBands(t *testing.T) {
	for _, r := range launches(t) {
		g := planner.Check(r).GPU
		var sum units.Bytes
		for _, e := range g.Ledger {
			sum += e.Bytes
			require.LessOrEqual(t, e.Low, e.Bytes, e.Name)
			require.GreaterOrEqual(t, e.High, e.Bytes, e.Name)
			if e.Name == "kv_pool" && g.MaxTotalNumTokens.Low < g.MaxTotalNumTokens.High {
				require.Less(t, e.Low, e.High)
			}
		}
		require.InDelta(t, g.PreLoadFreeBytes.GiB(), sum.GiB(), 1e-6)
	}
}
