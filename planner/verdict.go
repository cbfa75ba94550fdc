package planner

import (
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
)

// verdict is the worst finding: an error rejects; else a deciding part that is
// not known leaves the launch undecided; else a warning is a warning.
func verdict(fs []finding.Finding, undecided bool) Verdict {
	switch w := finding.Worst(fs); {
	case w == finding.Error:
		return Reject
	case undecided:
		return Undecided
	case w == finding.Warning:
		return Warn
	}
	return OK
}

// ignore turns the errors that the user asked to ignore into warnings, which
// are still printed.
func ignore(fs []finding.Finding, codes []finding.Code) []finding.Finding {
	for i, f := range fs {
		if f.Severity == finding.Error && slices.Contains(codes, f.Code) {
			fs[i].Severity, fs[i].Ignored = finding.Warning, true
		}
	}
	return fs
}

// WorstOf returns the verdict of several launches together: rejected if any
// is, else undecided if any is, else the worst of the rest.
func WorstOf(plans []*Plan) Verdict {
	order := map[Verdict]int{OK: 0, Warn: 1, Undecided: 2, Reject: 3}
	w := OK
	for _, p := range plans {
		if order[p.Verdict] > order[w] {
			w = p.Verdict
		}
	}
	return w
}
