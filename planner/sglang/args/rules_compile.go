package args

import "sync"

// condition is a compiled condition and the fields it reads.
type condition struct {
	holds expr
	reads []string
}

// conditions are those of rules, by position; empty where a rule has none.
// They are data of the release tables, so one that does not compile is a
// mistake of the build, which TestRuleConditions catches.
var conditions = sync.OnceValue(func() []condition {
	out := make([]condition, len(rules))
	for i := range rules {
		if rules[i].Condition == "" {
			continue
		}
		e, reads, err := compile(rules[i].Condition)
		if err != nil {
			panic("args: rule " + rules[i].ID + ": " + err.Error())
		}
		out[i] = condition{e, reads}
	}
	return out
})

// moved reports whether any of the fields the condition reads stands elsewhere
// than at its default; defaults alone break no rule.
func (c *condition) moved(a *Args) bool {
	for _, f := range c.reads {
		if _, ok := a.m[f]; ok {
			return true
		}
	}
	return false
}
