package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/units"
)

// TestDrafts: a draft that is not here leaves the launch undecided, unless it
// fails without one already; a target that drafts for itself is named.
func TestDrafts(t *testing.T) {
	one := host(t, "1xH100", units.TB, units.TB)
	for _, tc := range []struct {
		line    string
		verdict planner.Verdict
		code    string
	}{
		{"--model-path meta-llama/Llama-3.1-8B --speculative-algorithm EAGLE3 --speculative-draft-model-path some/draft", planner.Undecided, "draft-model-not-found"},
		{"--model-path meta-llama/Llama-3.1-8B --speculative-algorithm EAGLE3 --speculative-draft-model-path some/draft --mem-fraction-static 0.999", planner.Reject, "draft-model-not-found"},
		{"--model-path meta-llama/Llama-3.1-8B --speculative-algorithm NGRAM --speculative-draft-model-path some/draft", planner.OK, ""},
		{"--model-path meta-llama/Llama-3.1-8B --speculative-algorithm EAGLE", planner.Warn, "target-is-its-own-draft"},
		{"--model-path XiaomiMiMo/MiMo-7B-Base --speculative-algorithm EAGLE --speculative-draft-model-path XiaomiMiMo/MiMo-7B-Base", planner.OK, ""},
	} {
		p := planner.Check(request(t, one, "0.5.17", tc.line))
		require.Equal(t, tc.verdict, p.Verdict, "%s: %v", tc.line, p.Findings)
		for _, code := range []string{"draft-model-not-found", "target-is-its-own-draft"} {
			require.Equal(t, code == tc.code, found(p, code), tc.line)
		}
		require.NotNil(t, p.GPU.MaxTotalNumTokens, tc.line)
	}
}
