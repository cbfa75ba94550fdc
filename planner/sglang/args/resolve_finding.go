package args

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

// CodeOverridden is said of every value of the user that SGLang replaces.
var CodeOverridden = finding.Define("flag-overridden",
	"SGLang replaces a value that was given",
	"A rule of the release rewrites this argument after parsing, whatever the command says. Most rewrites only leave a line in the log.",
	"Drop the flag, or change what triggers the rule named in the finding.")

// refuse records that SGLang ends the launch here. asked says what was asked
// and the rule; fixes are ways out.
func (x *resolver) refuse(code finding.Code, flag, detail string, fixes ...finding.Fix) {
	f := finding.New(code, finding.Error, flag, detail)
	f.Fixes = fixes
	x.findings = append(x.findings, x.at(f))
}

// at points a finding at the word that set its flag.
func (x *resolver) at(f finding.Finding) finding.Finding {
	v, _ := x.Get(strings.ReplaceAll(strings.TrimPrefix(f.Flag, "--"), "-", "_"))
	if pos := v.Origin.Pos; pos != (finding.Position{}) {
		f.Position = &pos
	}
	return f
}

// fix is one way out that sets flags.
func fix(title string, edits ...finding.Edit) finding.Fix {
	return finding.Fix{Title: title, Edits: edits}
}

func setFlag(flag, value string) finding.Edit { return finding.Edit{Flag: flag, Value: value} }
func dropFlag(flag string) finding.Edit       { return finding.Edit{Flag: flag, Remove: true} }

// overridden says that a rule replaces a value of the user.
func (x *resolver) overridden(field string, old Value, now any, id string) {
	flag := "--" + strings.ReplaceAll(field, "_", "-")
	detail := fmt.Sprintf("%s was asked, SGLang %s uses %s: %s.", show(old.V), x.r, show(now), RuleReason(id))
	f := finding.New(CodeOverridden, finding.Warning, flag, detail).With("leave the flag out", dropFlag(flag))
	if pos := old.Origin.Pos; pos != (finding.Position{}) {
		f.Position = &pos
	}
	x.findings = append(x.findings, f)
}

// show prints a value as a person would type it.
func show(v any) string {
	switch t := v.(type) {
	case nil:
		return "none"
	case bool:
		if t {
			return "on"
		}
		return "off"
	case []any:
		return fmt.Sprintf("a list of %d", len(t))
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

func quoted(names []string) string { return strings.Join(names, ", ") }
