package args

import "sync"

// conditions are the compiled conditions of rules, by position; nil where a
// rule has none. They are data of the release tables, so one that does not
// compile is a mistake of the build, which TestRuleConditions catches.
var conditions = sync.OnceValue(func() []expr {
	out := make([]expr, len(rules))
	for i := range rules {
		if rules[i].Condition == "" {
			continue
		}
		e, err := compile(rules[i].Condition)
		if err != nil {
			panic("args: rule " + rules[i].ID + ": " + err.Error())
		}
		out[i] = e
	}
	return out
})
