package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

var (
	templateLine = regexp.MustCompile(`^\s*(?:\{\{.*\}\}|\{%.*%\})\s*$`)
	templateExpr = regexp.MustCompile(`\{\{.*?\}\}`)
)

// withoutTemplates makes holes of the template expressions of a text, and
// empty lines of those that only steer the template. Lines keep their numbers;
// those changed are returned, counted from 1.
func (h *holes) withoutTemplates(text string) (string, []int) {
	if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") {
		return text, nil
	}
	var changed []int
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		switch {
		case templateLine.MatchString(l):
			lines[i] = ""
		case templateExpr.MatchString(l):
			lines[i] = templateExpr.ReplaceAllStringFunc(l, h.mark)
		default:
			continue
		}
		changed = append(changed, i+1)
	}
	return strings.Join(lines, "\n"), changed
}

// sayTemplates names the lines of a document that are templates.
func (d *document) sayTemplates(lines []int) {
	if len(lines) == 0 {
		return
	}
	var at []string
	for _, l := range lines[:min(len(lines), 8)] {
		at = append(at, strconv.Itoa(d.first+l))
	}
	if more := len(lines) - len(at); more > 0 {
		at = append(at, fmt.Sprintf("and %d more", more))
	}
	f := finding.New(CodeTemplate, finding.Warning, "", fmt.Sprintf("Template expressions at line %s: their values are not known.", strings.Join(at, ", ")))
	f.Position = &finding.Position{File: d.file, Line: d.first + lines[0]}
	d.r.findings = append(d.r.findings, f)
}
