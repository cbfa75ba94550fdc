package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

// Upgrade writes what changes for a launch between two releases: the verdicts
// and figures side by side, what is wrong with the flags, the command for the
// newer release, and every resolved value that moves.
func Upgrade(w io.Writer, u *planner.UpgradePlan, o Options) error {
	var b strings.Builder
	title := fmt.Sprintf("SGLang %s -> %s", u.From.Launch.SGLangVersion, u.To.Launch.SGLangVersion)
	b.WriteString(o.paint(bold, title) + "\n\n")
	o.change(&b, "verdict", string(u.From.Verdict), string(u.To.Verdict))
	o.change(&b, "KV tokens", tokensOf(u.From), tokensOf(u.To))
	if hostOf(u.From) != "none" || hostOf(u.To) != "none" {
		o.change(&b, "host pools", hostOf(u.From), hostOf(u.To))
	}
	b.WriteByte('\n')
	if n := b.Len(); o.problems(&b, append(atLeast(u.Findings, finding.Warning), atLeast(u.To.Findings, finding.Warning)...)) && b.Len() > n {
		b.WriteByte('\n')
	}
	if u.Rewritten {
		b.WriteString("The command for " + u.To.Launch.SGLangVersion + ":\n" + Command(u.Argv, "  ", o.width()) + "\n")
	} else {
		b.WriteString("The command stays as it is.\n\n")
	}
	if len(u.Changes) > 0 {
		b.WriteString("Resolved values that change:\n")
		for _, c := range u.Changes {
			o.change(&b, c.Field, value(c.From), value(c.To))
		}
		b.WriteByte('\n')
	}
	o.notes(&b, u.To.Findings)
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// change is one line of before and after.
func (o Options) change(b *strings.Builder, what, before, after string) {
	lead := fmt.Sprintf("  %-32s ", word(what))
	line := newFlow(lead, "    ", " ", o.width())
	line.add(word(before))
	line.add(o.paint(dim, "->"))
	line.add(word(after))
	b.WriteString(line.line())
}

func atLeast(fs []finding.Finding, sev finding.Severity) []finding.Finding {
	var out []finding.Finding
	for _, f := range fs {
		if f.Severity >= sev {
			out = append(out, f)
		}
	}
	return out
}

func tokensOf(p *planner.Plan) string {
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil {
		return "?"
	}
	return count(p.GPU.MaxTotalNumTokens.Value)
}

func hostOf(p *planner.Plan) string {
	switch {
	case p.Host == nil:
		return "?"
	case p.Host.TotalBytes == 0:
		return "none"
	}
	return gb(p.Host.TotalBytes) + " GB"
}

// value prints a value on one line; long ones are cut.
func value(v any) string {
	s := fmt.Sprint(v)
	if v == nil {
		s = "none"
	}
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	return s
}
