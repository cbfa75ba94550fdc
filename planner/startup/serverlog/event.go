package serverlog

import (
	"github.com/sglplan/sglplan/planner/finding"
)

// Kind says what an Event reports.
type Kind string

// The kinds of event.
const (
	NewStart   Kind = "start"    // an arguments line: everything before it belongs to an earlier start
	PhaseBegun Kind = "phase"    // the start is in another phase
	Advanced   Kind = "progress" // a bar moved
	Reported   Kind = "figure"   // a rank printed a figure; it is in the Start
	BecameUp   Kind = "ready"    // the ready line
	Failed     Kind = "failed"   // a fatal line
	Ended      Kind = "stopped"  // the server was asked to end
)

// Event is what one line changed. The figures are in Parser.Start.
type Event struct {
	Kind    Kind
	Phase   Phase  // of the whole start after the line
	Rank    string // who said it, "" for the main process or a single rank
	Stamp   string // the log's own time, "" when the line has none
	Message string // the line without its envelope, shortened
}

// Failure is why a start ended.
type Failure struct {
	Code  finding.Code `json:"code"`
	Phase Phase        `json:"phase"` // where it failed; Ready means while serving
	Rank  string       `json:"rank,omitempty"`
	Cause string       `json:"cause"` // the line that names it
	Exit  *int         `json:"exit,omitempty"`
	Stamp string       `json:"stamp,omitempty"`
}

// Vague reports a failure of which the log only says that something failed or
// was killed, not why.
func (f Failure) Vague() bool {
	switch f.Code {
	case CodeKilled, CodeChildFailed, CodeRankDied, CodeInitFailed:
		return true
	}
	return false
}
