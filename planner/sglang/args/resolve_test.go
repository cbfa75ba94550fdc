package args

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

var h100 = machine.Card{Name: "NVIDIA H100 80GB HBM3", TotalMiB: 81559, Major: 9}

func resolveWords(v string, card machine.Card, w ...string) (*Args, []finding.Finding) {
	r := release.MustParse(v)
	a, _ := Parse(r, words(w...), ParseOptions{})
	return Resolve(r, a, nil, nil, card, 8, nil)
}

// TestResolveUnknownModel: without the model's files the rules of the card and
// the flags still apply.
func TestResolveUnknownModel(t *testing.T) {
	for _, c := range []struct {
		release  string
		fraction float64
		origin   Kind
	}{
		{"0.4.6", 0.88, FromRule}, {"0.4.9", 0.874, FromRule}, {"0.5.2", 0.874, FromRule},
		{"0.5.5", 0.835, FromRule}, {"0.5.9", 0.835, FromRule}, {"0.5.23", 0.83, FromRule},
	} {
		a, found := resolveWords(c.release, h100, "--model-path", "m")
		require.NotEqual(t, finding.Error, finding.Worst(found), "%s: %v", c.release, found)
		f, _ := a.Get("mem_fraction_static")
		require.InDelta(t, c.fraction, f.V, 1e-9, c.release)
		require.Equal(t, c.origin, f.Origin.Kind, c.release)
		require.NotEmpty(t, RuleReason(f.Origin.Rule))
		require.Equal(t, int64(8192), a.Int("chunked_prefill_size"), c.release)
	}
}

// TestResolveKeepsItsInput: the arguments given are not changed, the user's
// own values keep their origin.
func TestResolveKeepsItsInput(t *testing.T) {
	r := release.MustParse("0.5.23")
	a, _ := Parse(r, words("--model-path", "m", "--mem-fraction-static", "0.7"), ParseOptions{})
	before := a.Clone()
	out, _ := Resolve(r, a, nil, nil, h100, 8, nil)
	require.Equal(t, before, a)
	f, _ := out.Get("mem_fraction_static")
	require.Equal(t, FromFlag, f.Origin.Kind)
	require.Equal(t, 0.7, f.V)
}

// TestOverriddenIsSaid: a value of the user that a rule replaces is a warning
// at its word.
func TestOverriddenIsSaid(t *testing.T) {
	_, found := resolveWords("0.5.23", h100, "--model-path", "m", "--tp-size", "8", "--moe-a2a-backend", "deepep", "--ep-size", "2")
	for _, f := range found {
		if f.Code == CodeOverridden && f.Flag == "--ep-size" {
			require.Equal(t, finding.Warning, f.Severity)
			require.Equal(t, 7, f.Position.Word)
			return
		}
	}
	t.Fatalf("no finding about --ep-size: %v", found)
}

// TestRuleReasons: each rule id in the code has a reason and each reason a
// rule.
func TestRuleReasons(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("resolve*.go")
	require.NoError(t, err)
	literal := regexp.MustCompile(`"([a-z0-9]+(?:-[a-z0-9]+)*)"\)|\bid = "([a-z0-9-]+)"|, "(dwdp)"`)
	for _, f := range files {
		if f == "resolve_reasons.go" {
			continue
		}
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range literal.FindAllStringSubmatch(string(b), -1) {
			used[m[1]+m[2]+m[3]] = true
		}
	}
	for id := range ruleReasons {
		require.True(t, used[id], "no rule has the id %q", id)
	}
	calls := regexp.MustCompile(`x\.(?:rule|fill|autoRunner|disableGraphs)\(.*"([a-z0-9]+(?:-[a-z0-9]+)*)"\)`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range calls.FindAllStringSubmatch(string(b), -1) {
			require.NotEmpty(t, RuleReason(m[1]), "%s: rule %q has no reason", f, m[1])
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	cfg := testConfigs(b)["Qwen__Qwen3-235B-A22B-FP8"]
	r := release.MustParse("0.5.23")
	a, _ := Parse(r, words("--model-path", "m", "--tp-size", "8", "--enable-hierarchical-cache"), ParseOptions{})
	info, _ := modelcfg.Derive(r, cfg, modelcfg.Options{})
	for b.Loop() {
		Resolve(r, a, info, cfg, h100, 8, nil)
	}
}
