package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

var severityStyle = map[finding.Severity]style{finding.Error: red, finding.Warning: yellow, finding.Info: blue}

// Findings writes findings alone, the worst first.
func Findings(w io.Writer, fs []finding.Finding, o Options) error {
	var b strings.Builder
	o.problems(&b, fs)
	o.notes(&b, fs)
	_, err := io.WriteString(w, b.String())
	return err
}

// problems writes errors, then warnings, and reports whether there were any.
func (o Options) problems(b *strings.Builder, fs []finding.Finding) bool {
	any := false
	for sev := finding.Error; sev > finding.Info; sev-- {
		for _, f := range fs {
			if f.Severity == sev {
				o.finding(b, f)
				any = true
			}
		}
	}
	return any
}

// notes are the findings that only tell: one short paragraph each.
func (o Options) notes(b *strings.Builder, fs []finding.Finding) {
	for _, f := range fs {
		if f.Severity == finding.Info {
			b.WriteString(o.paintLines(dim, newFlow("", "  ", " ", o.width()).text(o, "", "note: "+textOf(f)).line()))
		}
	}
}

func (o Options) finding(b *strings.Builder, f finding.Finding) {
	head := newFlow("", "  ", " ", o.width())
	head.add(o.paint(severityStyle[f.Severity], f.Severity.String()))
	head.add(o.paint(bold, word(string(f.Code))))
	if f.Flag != "" {
		head.add(word(f.Flag))
	}
	if at := place(f.Position); at != "" {
		head.text(o, dim, "("+at+")")
	}
	if f.Ignored {
		head.text(o, dim, "ignored as asked")
	}
	b.WriteString(head.line())
	b.WriteString(o.para("", textOf(f), "  "))
	for _, fx := range f.Fixes {
		fix := newFlow("  ", "       ", " ", o.width())
		fix.add(o.paint(green, "fix:"))
		b.WriteString(fix.text(o, "", fixText(fx)).line())
	}
}

// textOf is what a finding says about this launch, else what its code says.
func textOf(f finding.Finding) string {
	if f.Detail == "" {
		return f.Summary
	}
	return f.Detail
}

// fixText is the title of a fix with the edits that it does not spell out.
func fixText(fx finding.Fix) string {
	var edits []string
	rename := len(fx.Edits) == 2 && fx.Edits[0].Remove && strings.Contains(fx.Title, fx.Edits[1].Flag)
	for _, e := range fx.Edits {
		switch {
		case rename, e.Remove && strings.Contains(fx.Title, e.Flag), !e.Remove && e.Value != "" && strings.Contains(fx.Title, e.Value), e.Value == "" && strings.Contains(fx.Title, e.Flag):
		case e.Remove:
			edits = append(edits, "without "+e.Flag)
		default:
			edits = append(edits, strings.TrimSpace(e.Flag+" "+e.Value))
		}
	}
	if len(edits) == 0 {
		return fx.Title
	}
	return fx.Title + ": " + strings.Join(edits, " ")
}

// place says where a flag stands.
func place(p *finding.Position) string {
	if p == nil {
		return ""
	}
	var parts []string
	if p.File != "" {
		at := p.File
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		parts = append(parts, at)
	}
	if p.Container != "" {
		parts = append(parts, p.Container)
	}
	if p.Word > 0 && p.File == "" {
		parts = append(parts, fmt.Sprintf("word %d", p.Word))
	}
	return strings.Join(parts, ", ")
}
