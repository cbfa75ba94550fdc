package args

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Judgement says where a rule of SGLang is judged.
type Judgement string

// The judgements of rules.
const (
	ByParse      Judgement = "parse"      // while the command is parsed
	ByResolution Judgement = "resolution" // while values are resolved, in the release's own order
	ByCondition  Judgement = "condition"  // by its condition over the resolved fields
	ByLedger     Judgement = "ledger"     // where the host's or the card's memory is counted
	NotJudged    Judgement = "none"       // not from a command: an installed package, another platform, a file
)

// Rule is one cross-flag rule of SGLang.
type Rule struct {
	ID     string // stable, tp-pp-nnodes
	Topic  string
	Stage  string // parse, post_init, check or runtime: when SGLang applies it
	Since  string // first release it is known of
	Until  string // last one, "" while it holds
	Flags  []string
	When   string // what triggers it, in words
	Effect string // what SGLang does: error, or what it overrides
	Judged Judgement
	Why    string // for NotJudged
	// Condition is the expression that Judge evaluates, for ByCondition.
	Condition string
}

// CodeRule is said of a launch that a rule refuses.
var CodeRule = finding.Define("rule-refused",
	"SGLang refuses this combination of arguments",
	"A rule of the release's argument checking ends the launch before anything is loaded.",
	"Change one of the flags that the finding names.")

// Holds reports whether the rule is one of release r.
func (u *Rule) Holds(r release.Release) bool {
	if u.Until == "" {
		return r.AtLeast(u.Since)
	}
	return r.Within(u.Since, u.Until)
}

// Rules lists the rules of the release nearest to r.
func Rules(r release.Release) []Rule {
	base, _ := Nearest(r)
	var out []Rule
	for i := range rules {
		if rules[i].Holds(base) {
			out = append(out, rules[i])
		}
	}
	return out
}

// RuleFacts are what rules ask for besides the arguments.
type RuleFacts struct {
	Arch    string // the model's first architecture, "" when not known
	Compute int    // compute capability of the card, 90 for 9.0, 0 when not known
}

// Judge evaluates the rules that are conditions over fields. parsed is what
// Parse returned, resolved what became of it (parsed again where resolution is
// not wanted). A rule whose flags a finding in already refuses is not said
// again, and one that reads a value not known statically is left out. Texts
// that SGLang reads as JSON after parsing are looked into as well.
func Judge(r release.Release, parsed, resolved *Args, facts RuleFacts, already []finding.Finding) []finding.Finding {
	base, _ := Nearest(r)
	refused := map[string]bool{}
	for _, f := range already {
		if f.Severity == finding.Error || f.Ignored {
			refused[f.Flag] = true
		}
	}
	at, all := indexOf(base), conditions()
	out := jsonTexts(at, parsed)
	for i := range rules {
		u := &rules[i]
		if u.Condition == "" || !u.Holds(base) || u.says(refused) {
			continue
		}
		c := &all[i]
		if !c.moved(parsed) && !c.moved(resolved) {
			continue
		}
		s := &ruleScope{at: at, parsed: parsed, resolved: resolved, facts: facts}
		if truth(c.holds(s)) && !s.unknown {
			f := u.finding(base, s)
			refused[f.Flag] = true
			out = append(out, f)
		}
	}
	return out
}

func (u *Rule) says(refused map[string]bool) bool {
	for _, f := range u.Flags {
		if refused[f] {
			return true
		}
	}
	return false
}

// finding is about the first of the rule's flags that the user set.
func (u *Rule) finding(r release.Release, s *ruleScope) finding.Finding {
	flag := u.Flags[0]
	var o Origin
	for _, f := range u.Flags {
		if v, ok := s.parsed.Get(fieldOf(f, s.at)); ok && v.Origin.Kind != FromDefault {
			flag, o = f, v.Origin
			break
		}
	}
	f := finding.New(CodeRule, finding.Error, flag,
		fmt.Sprintf("SGLang %s refuses: %s (rule %s).%s", r, strings.TrimSuffix(u.When, "."), u.ID, s.values(u.Flags)))
	if o.Pos != (finding.Position{}) {
		f.Position = &o.Pos
	}
	return f
}

// fieldOf returns the field that a flag sets in a release, "" when it has no
// such flag.
func fieldOf(flag string, at int) string {
	if s := find(flag, at); s != nil {
		return s.field
	}
	return ""
}

// ruleScope gives a condition the arguments of one launch.
type ruleScope struct {
	at               int
	parsed, resolved *Args
	facts            RuleFacts
	unknown          bool // a value that is not known statically was read
}

func (s *ruleScope) read(a *Args, name string) any {
	v, _ := a.Get(name)
	if p, _ := s.parsed.Get(name); p.Origin.Kind == FromUnknown {
		s.unknown = true
	}
	return v.V
}

// field returns a resolved field, or what rules name across releases:
// dp_attention is on or off, attn_dp its width (--dp-size to 0.5.21).
func (s *ruleScope) field(name string) any {
	switch name {
	case "dp_attention":
		width, _ := s.read(s.resolved, "attn_dp_size").(int64)
		return truth(s.read(s.resolved, "enable_dp_attention")) || width > 1
	case "attn_dp":
		if width, ok := s.read(s.resolved, "attn_dp_size").(int64); ok && width > 1 {
			return width
		}
		if truth(s.read(s.resolved, "enable_dp_attention")) {
			return s.read(s.resolved, "dp_size")
		}
		return int64(1)
	case "arch":
		if s.facts.Arch == "" {
			return nil
		}
		return s.facts.Arch
	case "compute":
		if s.facts.Compute == 0 {
			return nil
		}
		return int64(s.facts.Compute)
	case "lora_on":
		return truth(s.read(s.resolved, "enable_lora")) || truth(s.read(s.resolved, "lora_paths"))
	}
	return s.read(s.resolved, name)
}

func (s *ruleScope) asked(name string) any  { return s.read(s.parsed, name) }
func (s *ruleScope) given(name string) bool { s.read(s.parsed, name); return s.parsed.Given(name) }

// values shows what the flags of a rule stand at.
func (s *ruleScope) values(flags []string) string {
	var parts []string
	for _, f := range flags {
		if v, ok := s.resolved.Get(fieldOf(f, s.at)); ok {
			parts = append(parts, f+" "+showValue(v.V))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Here: " + strings.Join(parts, ", ") + "."
}
