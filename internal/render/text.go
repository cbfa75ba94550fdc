// Package render turns plans into what people and programs read: text for a
// terminal, one HTML page, JUnit XML and annotations for CI. A plan is data;
// nothing here decides anything.
package render

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

// Text writes a plan for people, what matters first: the verdict and its
// reason, a bar for a GPU and one for the host, what is wrong and how to mend
// it, the command to run; then the figures behind it and the notes.
func Text(w io.Writer, p *planner.Plan, o Options) error {
	var b strings.Builder
	o.head(&b, p)
	if p.Recommended {
		o.command(&b, p)
	}
	o.bars(&b, p)
	o.wrong(&b, p)
	if !p.Recommended {
		o.command(&b, p)
	}
	o.details(&b, p)
	o.furtherNotes(&b, p.Findings)
	_, err := io.WriteString(w, b.String())
	return err
}

var verdictStyle = map[planner.Verdict]style{
	planner.OK: green, planner.Warn: yellow, planner.Reject: red, planner.Undecided: purple,
}

// head is the verdict, what was judged, and the one sentence to remember.
func (o Options) head(b *strings.Builder, p *planner.Plan) {
	o.title(b, p)
	if s := headline(p); s != "" {
		b.WriteString(o.para("", s, ""))
	}
}

// title is the verdict and what was judged.
func (o Options) title(b *strings.Builder, p *planner.Plan) {
	if s := p.Source; s != nil && s.File != "" {
		at := place(&finding.Position{File: s.File, Line: s.Line, Container: s.Container})
		b.WriteString(o.para(dim, at, ""))
	}
	line := newFlow("", "  ", " ", o.width())
	line.add(o.paint(bold+";"+verdictStyle[p.Verdict], strings.ToUpper(string(p.Verdict))) + " ")
	b.WriteString(line.text(o, "", subject(p)).line())
}

// subject is what was judged.
func subject(p *planner.Plan) string {
	s := "no model"
	if p.Launch.ModelPath != "" {
		s = path.Base(word(p.Launch.ModelPath))
	}
	if p.GPU != nil && p.GPU.Name != "" {
		s += fmt.Sprintf(" on %d x %s", p.GPU.Count, strings.TrimPrefix(word(p.GPU.Name), "NVIDIA "))
	}
	return s + ", SGLang " + p.Launch.SGLangVersion
}

// wrong is what speaks against the launch.
func (o Options) wrong(b *strings.Builder, p *planner.Plan) {
	var found strings.Builder
	if o.problems(&found, p.Findings) {
		b.WriteString("\n" + found.String())
	}
}

func (o Options) furtherNotes(b *strings.Builder, fs []finding.Finding) {
	var notes strings.Builder
	o.notes(&notes, fs)
	if notes.Len() > 0 {
		b.WriteString("\n" + notes.String())
	}
}

// command is what to run instead when the launch is not safe as it stands; a
// safe one is told what it leaves on the table.
func (o Options) command(b *strings.Builder, p *planner.Plan) {
	if title := runTitle(p); title != "" {
		b.WriteString("\n" + o.para("", title+":", "") + Command(p.Recommend.Argv, "  ", o.width()))
		if line := wins(p.Recommend); p.Recommended && line != "" {
			b.WriteString(o.para("", line, ""))
		}
	} else if p.Verdict == planner.OK && !p.Recommended {
		o.unused(b, p)
	}
}

// runTitle is what stands above the command to run, "" where there is none to
// show.
func runTitle(p *planner.Plan) string {
	r := p.Recommend
	switch {
	case r == nil || len(r.Argv) == 0 || p.Recommended && p.Verdict == planner.Reject:
		return ""
	case p.Recommended && p.Verdict == planner.Undecided && len(r.Changed) == 0:
		return "" // nothing was found out that speaks for it
	case p.Recommended:
		return word("Run" + changed(r.Changed))
	case p.Verdict == planner.OK || len(r.Changed) == 0 || !mended(p):
		return ""
	}
	return "Run instead"
}

// changed names the flags that a recommendation sets.
func changed(edits []finding.Edit) string {
	if len(edits) == 0 {
		return " it as it is"
	}
	var s []string
	for _, e := range edits {
		switch name := strings.TrimPrefix(e.Flag, "--"); {
		case e.Remove:
			s = append(s, "no "+name)
		case e.Value == "":
			s = append(s, name)
		default:
			s = append(s, name+" "+e.Value)
		}
	}
	return " with " + strings.Join(s, ", ")
}

// mended reports whether the recommended command does away with every error:
// a command that still has an unknown flag in it is no advice.
func mended(p *planner.Plan) bool {
	for _, f := range p.Findings {
		if f.Severity == finding.Error && !mends(p.Recommend.Changed, f) {
			return false
		}
	}
	return true
}

// mends reports edits that change the flag of a finding, or make its first fix.
func mends(edits []finding.Edit, f finding.Finding) bool {
	if slices.ContainsFunc(edits, func(e finding.Edit) bool { return e.Flag == f.Flag }) {
		return true
	}
	if len(f.Fixes) == 0 || len(f.Fixes[0].Edits) == 0 {
		return false
	}
	for _, e := range f.Fixes[0].Edits {
		if !slices.Contains(edits, e) {
			return false
		}
	}
	return true
}

// unused says what a larger fraction would win.
func (o Options) unused(b *strings.Builder, p *planner.Plan) {
	r := p.Recommend
	if r == nil || p.GPU == nil || p.GPU.MaxTotalNumTokens == nil || r.MaxTotalNumTokens == nil || r.MemFractionStatic == nil {
		return
	}
	have, best := p.GPU.MaxTotalNumTokens.Value, r.MaxTotalNumTokens.Value
	if have <= 0 || float64(best) < 1.02*float64(have) {
		return
	}
	b.WriteString("\n" + o.para("", fmt.Sprintf("Room for more: --mem-fraction-static %s gives %s tokens, %.0f %% more.",
		fraction(*r.MemFractionStatic), count(best), (float64(best)/float64(have)-1)*100), ""))
}
