package args

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// facts of a vector's model and card.
func (v vector) facts(configs map[string]*model.Config) RuleFacts {
	f := RuleFacts{Compute: v.GPU.Capability[0]*10 + v.GPU.Capability[1]}
	if c := configs[v.model()]; c != nil {
		if archs := c.Top.Strs("architectures"); len(archs) > 0 {
			f.Arch = archs[0]
		}
	}
	return f
}

// TestJudgeResolvedVectors: after resolution, too, no condition refuses a
// launch that SGLang accepts.
func TestJudgeResolvedVectors(t *testing.T) {
	configs := testConfigs(t)
	n := 0
	for _, v := range readLines[vector](t, "testdata/server_args.jsonl.gz") {
		if v.Error != nil {
			continue
		}
		r := release.MustParse(strings.TrimPrefix(v.Tag, "v"))
		parsed, _ := Parse(r, words(v.Argv...), ParseOptions{})
		out, found := resolved(v, configs[v.model()])
		if finding.Worst(found) == finding.Error {
			continue // the other test's matter
		}
		require.Empty(t, Judge(r, parsed, out, v.facts(configs), found), "%s %v", v.Tag, v.Argv)
		n++
	}
	t.Logf("%d launches", n)
	require.Greater(t, n, 2000)
}
