package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

// The parts of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes one test case for each launch: failed when it is rejected,
// skipped when it is undecided.
func JUnit(w io.Writer, plans []*planner.Plan) error {
	suite := junitSuite{Name: "sglplan", Tests: len(plans)}
	for i, p := range plans {
		c := junitCase{Name: caseName(p, i), Class: "sglplan." + p.Launch.SGLangVersion, Out: report(p.Findings, finding.Info)}
		if p.Source != nil {
			c.File, c.Line = p.Source.File, p.Source.Line
		}
		switch p.Verdict {
		case planner.Reject:
			suite.Failures++
			c.Failure = &junitMessage{Message: headline(p), Type: string(worst(p.Findings).Code), Text: report(p.Findings, finding.Error)}
		case planner.Undecided:
			suite.Skipped++
			c.Skipped = &junitMessage{Message: "undecided: " + report(p.Findings, finding.Warning)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	out := junitSuites{Name: "sglplan", Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func caseName(p *planner.Plan, i int) string {
	name := p.Launch.ModelPath
	if name == "" {
		name = fmt.Sprintf("launch %d", i+1)
	}
	if p.Source != nil && p.Source.Container != "" {
		name = p.Source.Container + ": " + name
	}
	return name
}

// report lists the findings from a severity on, one a line.
func report(fs []finding.Finding, from finding.Severity) string {
	var lines []string
	for _, f := range fs {
		if f.Severity >= from {
			lines = append(lines, fmt.Sprintf("%s %s: %s", f.Severity, f.Code, sentence(f)))
		}
	}
	return strings.Join(lines, "\n")
}

func sentence(f finding.Finding) string {
	s := f.Detail
	if s == "" {
		s = f.Summary
	}
	for _, fx := range f.Fixes {
		s += " Fix: " + fx.Title + "."
	}
	return s
}

var githubLevel = map[finding.Severity]string{finding.Error: "error", finding.Warning: "warning", finding.Info: "notice"}

// GitHub writes the findings as workflow commands, which become annotations at
// the file and line they are about.
func GitHub(w io.Writer, plans []*planner.Plan) error {
	var b strings.Builder
	for _, p := range plans {
		for _, f := range p.Findings {
			b.WriteString("::" + githubLevel[f.Severity] + " " + githubPlace(p, f) + "title=" + property("sglplan "+string(f.Code)) + "::" + message(sentence(f)) + "\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(string(p.Verdict)), word(caseName(p, 0)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func githubPlace(p *planner.Plan, f finding.Finding) string {
	at := finding.Position{}
	if p.Source != nil {
		at.File, at.Line = p.Source.File, p.Source.Line
	}
	if f.Position != nil && f.Position.File != "" {
		at = *f.Position
	}
	if at.File == "" {
		return ""
	}
	s := "file=" + property(at.File) + ","
	if at.Line > 0 {
		s += fmt.Sprintf("line=%d,", at.Line)
	}
	return s
}

// message and property escape what the workflow command syntax reserves.
func message(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
