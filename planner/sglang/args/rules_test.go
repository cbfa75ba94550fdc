package args

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

type ruleCase struct {
	ID     string
	Since  string
	Until  string
	Judged Judgement
	Bad    []string
	OK     *[]string
	Launch *[]string
	Expect map[string]any
	Model  string
	GPU    string
}

// ends are the first and the last release of a rule.
func (c ruleCase) ends() []string {
	if c.Until == "" {
		return []string{c.Since, release.Newest.String()}
	}
	return []string{c.Since, c.Until}
}

func ruleCases(t *testing.T) []ruleCase {
	t.Helper()
	b, err := os.ReadFile("gen/rules.json")
	require.NoError(t, err)
	var out []ruleCase
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

// judge parses a launch and evaluates the conditions, without resolution.
func judge(t *testing.T, r release.Release, argv []string) []finding.Finding {
	t.Helper()
	a, fs := Parse(r, words(append([]string{"--model-path", "m"}, argv...)...), ParseOptions{})
	for _, f := range fs {
		require.NotEqual(t, finding.Error, f.Severity, "%s %v: %s", r, argv, f.Detail)
	}
	return Judge(r, a, a, RuleFacts{}, nil)
}

func ruleIDs(fs []finding.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Detail)
	}
	return out
}

// TestRuleConditions runs, for each rule that is a condition, a launch that it
// refuses and one that it does not, under the first and the last release that
// have it.
func TestRuleConditions(t *testing.T) {
	bad, ok := 0, 0
	for _, c := range ruleCases(t) {
		if c.Judged != ByCondition || c.Model != "" {
			continue
		}
		for _, v := range c.ends() {
			r := release.MustParse(v)
			if c.Bad != nil && knows(r, c.Bad) {
				require.Contains(t, joinLines(ruleIDs(judge(t, r, c.Bad))), "(rule "+c.ID+")", "%s %s %v", c.ID, v, c.Bad)
				bad++
			}
			if c.OK != nil && knows(r, *c.OK) {
				require.NotContains(t, joinLines(ruleIDs(judge(t, r, *c.OK))), "(rule "+c.ID+")", "%s %s %v", c.ID, v, *c.OK)
				ok++
			}
		}
	}
	t.Logf("%d launches refused, %d let through", bad, ok)
}

func joinLines(s []string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// knows reports whether a release has all flags of a command line: some came
// after the release that first had the rule.
func knows(r release.Release, argv []string) bool {
	_, fs := Parse(r, words(append([]string{"--model-path", "m"}, argv...)...), ParseOptions{})
	return finding.Worst(fs) < finding.Error
}

// TestRuleList: every rule says where it is judged, and those that are not say
// why.
func TestRuleList(t *testing.T) {
	count := map[Judgement]int{}
	for i := range rules {
		u := &rules[i]
		count[u.Judged]++
		require.Equal(t, u.Judged == ByCondition, u.Condition != "", u.ID)
		require.Equal(t, u.Judged == NotJudged, u.Why != "", u.ID)
		for _, f := range u.Flags {
			require.NotEmpty(t, Known(f), "%s names %s", u.ID, f)
		}
	}
	t.Logf("%v", count)
	require.Less(t, len(Rules(release.MustParse("0.5.5"))), len(Rules(release.Newest)))
}

// TestJudgeKeepsQuiet: what was refused before, or is not known, is not said.
func TestJudgeKeepsQuiet(t *testing.T) {
	ws := words("--model-path", "m", "--tp-size", "4", "--nnodes", "3")
	a, _ := Parse(release.Newest, ws, ParseOptions{})
	require.Len(t, Judge(release.Newest, a, a, RuleFacts{}, nil), 1)
	require.Empty(t, Judge(release.Newest, a, a, RuleFacts{}, []finding.Finding{finding.New(CodeRule, finding.Error, "--nnodes", "said")}))
	ws[5].Unknown = true
	a, _ = Parse(release.Newest, ws, ParseOptions{})
	require.Empty(t, Judge(release.Newest, a, a, RuleFacts{}, nil))
}

// TestDefaultsBreakNoRule evaluates every condition on nothing but defaults,
// which is why Judge may leave out rules that no word of a command touches.
func TestDefaultsBreakNoRule(t *testing.T) {
	for at, v := range versions {
		for i := range rules {
			if u := &rules[i]; u.Condition != "" && u.Holds(release.MustParse(v)) {
				a := defaults[at]()
				require.False(t, truth(conditions()[i].holds(&ruleScope{at: at, parsed: a, resolved: a})), "%s %s", v, u.ID)
			}
		}
	}
}

// TestJudgeVectors: no condition refuses a command that SGLang accepts.
func TestJudgeVectors(t *testing.T) {
	type row struct {
		Release  string
		Argv     []string
		Refused  string
		Accepted bool
	}
	n := 0
	for _, c := range readLines[row](t, "testdata/parse.jsonl.gz") {
		if !c.Accepted {
			continue
		}
		n++
		require.Empty(t, judge(t, release.MustParse(c.Release), c.Argv[2:]), "%s %v", c.Release, c.Argv)
	}
	require.Positive(t, n)
	t.Logf("%d launches", n)
}

func TestExpressions(t *testing.T) {
	a := New()
	a.Set("n", 6, Origin{})
	a.Set("f", 0.5, Origin{})
	a.Set("s", "x", Origin{Kind: FromFlag})
	a.Set("l", []any{int64(1), "all"}, Origin{})
	a.Set("none", nil, Origin{})
	for text, want := range map[string]bool{
		"n == 6": true, "n % 4 == 2": true, "-1 % 4 == 3": true, "n * 2 + 1 == 13": true, "n - 7 < 0": true,
		"f <= 0.5 and f > 0": true, "s in ('y', 'x')": true, "s not in ('y', None)": true, "none in (None, 1)": true,
		"not none": true, "none < 1": false, "absent == None": true, "len(l) == 2": true, "'all' in l": true, "'q' in l": false,
		"n == 1 or n == 6 and s == 'x'": true, "not (n == 6)": false, "given(s)": true, "given(n)": false, "asked(n) == 6.0": true,
		"n % 0 == None": true, "True == 1": true, "l": true, "s == n": false,
	} {
		e, _, err := compile(text)
		require.NoError(t, err, text)
		require.Equal(t, want, truth(e(&ruleScope{parsed: a, resolved: a})), text)
	}
	for _, text := range []string{"", "n ==", "(n", "n in (1", "n not 1", "'x", "n n", "len(n", "== 1", "n in (1 2)", "1.2.3"} {
		_, _, err := compile(text)
		require.Error(t, err, text)
	}
}

func FuzzExpressions(f *testing.F) {
	for i := range rules {
		f.Add(rules[i].Condition)
	}
	a, _ := Parse(release.Newest, words("--model-path", "m"), ParseOptions{})
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			return
		}
		if e, _, err := compile(text); err == nil {
			e(&ruleScope{parsed: a, resolved: a})
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	a, _ := Parse(release.Newest, words("--model-path", "m", "--tp-size", "8"), ParseOptions{})
	for b.Loop() {
		Judge(release.Newest, a, a, RuleFacts{}, nil)
	}
}

// TestJSONText: texts that SGLang reads as JSON later.
func TestJSONText(t *testing.T) {
	for argv, refused := range map[string]bool{
		"--json-model-override-args {}":                            false,
		"--json-model-override-args {a:1}":                         true,
		`--json-model-override-args {"a":1}`:                       false,
		"--hicache-storage-backend-extra-config @config.toml":      false,
		"--hicache-storage-backend-extra-config config.json":       false,
		`--model-loader-extra-config {"enable_multithread_load":1`: true,
	} {
		a, fs := Parse(release.Newest, words(append([]string{"--model-path", "m"}, strings.Fields(argv)...)...), ParseOptions{})
		require.Less(t, finding.Worst(fs), finding.Error)
		fs = Judge(release.Newest, a, a, RuleFacts{}, nil)
		require.Equal(t, refused, finding.Worst(fs) == finding.Error, "%s: %+v", argv, fs)
	}
}
