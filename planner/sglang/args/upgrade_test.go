package args

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

func TestUpgrade(t *testing.T) {
	for _, c := range []struct {
		from, to, argv, want string
		codes                []finding.Code
	}{
		{"0.5.9", "0.5.23", "--tp 8 --mem-fraction-static 0.88", "--tp 8 --mem-fraction-static 0.88", nil},
		{"0.5.9", "0.5.23", "--cuda-graph-max-bs 64 --tp=8", "--cuda-graph-max-bs-decode 64 --tp=8", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--cuda-graph-max-bs=64", "--cuda-graph-max-bs-decode=64", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--cuda-graph-bs 1 2 4 --port 1", "--cuda-graph-bs-decode 1 2 4 --port 1", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--disable-cuda-graph", "--cuda-graph-backend-decode=disabled --cuda-graph-backend-prefill=disabled", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--dp-size 8 --tp-size 8 --enable-dp-attention", "--tp-size 8 --attn-dp-size 8", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.21", "--dp-size 8 --enable-dp-attention", "--dp-size 8 --enable-dp-attention", nil},
		{"0.5.9", "0.5.23", "--dp-size 2 --tp-size 8", "--dp-size 2 --tp-size 8", nil},
		{"0.5.9", "0.5.23", "--context 8192", "--context-length 8192", []finding.Code{CodeUpgradeAmbiguous}},
		{"0.5.9", "0.5.23", "--kv-cache-dtype fp4_e2m1", "--kv-cache-dtype fp4_mx_block16", []finding.Code{CodeUpgradeValue}},
		{"0.5.2", "0.5.9", "--enable-ep-moe --tp-size 4", "--ep-size 4 --tp-size 4", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--nsa-prefill-backend flashmla_kv", "--dsa-prefill-backend flashmla_kv", []finding.Code{CodeUpgradeRenamed}},
		{"0.5.9", "0.5.23", "--hybrid-kvcache-ratio", "", []finding.Code{CodeUpgradeGone}},
		{"0.5.22", "0.5.23", "--speculative-skip-dp-mlp-sync", "", []finding.Code{CodeUpgradeGone}},
		{"0.5.9", "0.5.23", "--attention-backend cutlass_mla", "--attention-backend cutlass_mla", []finding.Code{CodeValueInvalid}},
	} {
		ws := words(append([]string{"--model-path", "m"}, strings.Fields(c.argv)...)...)
		u := Upgrade(release.MustParse(c.from), release.MustParse(c.to), ws, ParseOptions{})
		var texts []string
		for _, w := range u.Words[2:] {
			texts = append(texts, w.Text)
		}
		require.Equal(t, c.want, strings.Join(texts, " "), c.argv)
		require.Equal(t, c.want != c.argv, u.Rewritten, c.argv)
		var codes []finding.Code
		for _, f := range u.Findings {
			if f.Severity != finding.Info {
				codes = append(codes, f.Code)
				require.NotNil(t, f.Position, c.argv)
			}
		}
		require.Equal(t, c.codes, codes, "%s: %+v", c.argv, u.Findings)
	}
}

// TestUpgradeDefaults: what the command leaves to the release is compared,
// what it sets is not.
func TestUpgradeDefaults(t *testing.T) {
	details := func(argv ...string) []string {
		u := Upgrade(release.MustParse("0.5.19"), release.MustParse("0.5.20"), words(append([]string{"--model-path", "m"}, argv...)...), ParseOptions{})
		var out []string
		for _, f := range u.Findings {
			require.Equal(t, CodeUpgradeDefault, f.Code)
			out = append(out, f.Detail)
		}
		return out
	}
	require.Contains(t, details(), "The default of --swa-full-tokens-ratio is 0.8 in SGLang 0.5.19, None in 0.5.20.")
	require.NotContains(t, strings.Join(details("--swa-full-tokens-ratio", "0.5"), "\n"), "--swa-full-tokens-ratio")
	require.Len(t, details(), len(details("--swa-full-tokens-ratio", "0.5"))+1)
}

// TestUpgradeEveryRelease: a command made of every flag of one release,
// rewritten for the newest, is refused there for nothing but choices that are
// gone.
func TestUpgradeEveryRelease(t *testing.T) {
	for i, v := range versions {
		var argv []string
		for j := range spans {
			s := &spans[j]
			if !s.covers(i) || s.act == actHelp || s.use == useRefused || s.name == configFlag {
				continue
			}
			texts, _ := s.sample()
			argv = append(append(argv, s.name), texts...)
		}
		u := Upgrade(release.MustParse(v), release.Newest, words(argv...), ParseOptions{})
		for _, f := range u.Findings {
			if f.Severity == finding.Error {
				require.Equal(t, CodeValueInvalid, f.Code, "%s: %+v", v, f)
			}
		}
	}
}

// TestUpgradeUnknownWords: what is not known is taken over.
func TestUpgradeUnknownWords(t *testing.T) {
	ws := []launch.Word{{Text: "--cuda-graph-max-bs"}, {Text: "$BS", Unknown: true}, {Text: "$MORE", Unknown: true}}
	u := Upgrade(release.MustParse("0.5.9"), release.Newest, ws, ParseOptions{})
	require.Equal(t, []launch.Word{{Text: "--cuda-graph-max-bs-decode"}, {Text: "$BS", Unknown: true}, {Text: "$MORE", Unknown: true}}, u.Words)
}
