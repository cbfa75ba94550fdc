package planner

import (
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
)

// verdict is the worst finding: an error rejects; else a deciding part that is
// not known leaves the launch undecided; else a warning is a warning.
func verdict(fs []finding.Finding, undecided bool) Verdict {
	return verdictOf(finding.Worst(fs), undecided)
}

func verdictOf(w finding.Severity, undecided bool) Verdict {
	switch {
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

// verdictOrder ranks verdicts from best to worst.
var verdictOrder = map[Verdict]int{OK: 0, Warn: 1, Undecided: 2, Reject: 3}

// WorstOf returns the verdict of several launches together: rejected if any
// is, else undecided if any is, else the worst of the rest.
func WorstOf(plans []*Plan) Verdict {
	w := OK
	for _, p := range plans {
		if verdictOrder[p.Verdict] > verdictOrder[w] {
			w = p.Verdict
		}
	}
	return w
}
