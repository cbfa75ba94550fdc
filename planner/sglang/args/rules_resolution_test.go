package args

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// ruleCards are the cards that rules are tried on: MiB and compute capability.
var ruleCards = map[string][3]int64{
	"H100": {81559, 9, 0}, "A100": {81920, 8, 0}, "B200": {183359, 10, 0}, "RTX-PRO-6000": {97887, 12, 0},
}

// launch makes a vector of a rule's words under one release.
func (c ruleCase) launch(version string, argv []string) vector {
	v := vector{Tag: "v" + version, Argv: append([]string{"--model-path", c.Model}, argv...)}
	card := ruleCards[c.GPU]
	v.GPU.Name, v.GPU.MemMiB, v.GPU.Capability = c.GPU, card[0], [2]int{int(card[1]), int(card[2])}
	return v
}

// TestRulesOnModels tries the rules that need a model and a card, most of them
// judged while values are resolved: a launch that is refused and one that is
// not, or one whose value the rule decides.
func TestRulesOnModels(t *testing.T) {
	configs := testConfigs(t)
	n := 0
	for _, c := range ruleCases(t) {
		if c.Model == "" {
			continue
		}
		for _, version := range c.ends() {
			r := release.MustParse(version)
			run := func(argv []string) (*Args, []finding.Finding) {
				v := c.launch(version, argv)
				parsed, _ := Parse(r, words(v.Argv...), ParseOptions{})
				a, found := resolved(v, configs[c.Model])
				return a, append(found, Judge(r, parsed, a, v.facts(configs), found)...)
			}
			if c.Bad != nil && knows(r, c.Bad) {
				_, found := run(c.Bad)
				if finding.Worst(found) != finding.Error {
					t.Errorf("%s under %s lets %v through", c.ID, version, c.Bad)
				}
				n++
			}
			if c.OK != nil && knows(r, *c.OK) {
				_, found := run(*c.OK)
				if finding.Worst(found) == finding.Error {
					t.Errorf("%s under %s refuses %v: %+v", c.ID, version, *c.OK, found)
				}
				n++
			}
			if c.Launch != nil && knows(r, *c.Launch) {
				a, found := run(*c.Launch)
				for field, want := range c.Expect {
					if got, ok := a.Get(field); ok && !vectorEqual(got.V, want) {
						t.Errorf("%s under %s, %v: %s is %v, want %v (%+v)", c.ID, version, *c.Launch, field, got.V, want, found)
					}
				}
				n++
			}
		}
	}
	t.Logf("%d launches", n)
	require.Positive(t, n)
}
