package startup

import (
	"time"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// Kind says what an Event is about.
type Kind string

// The kinds of event.
const (
	PhaseChanged Kind = "phase"
	Progressed   Kind = "progress"
	Warned       Kind = "warning"
	Finished     Kind = "outcome" // the last event
)

// Outcome is how a watch ended.
type Outcome string

// The outcomes.
const (
	Ready     Outcome = "ready"
	HasFailed Outcome = "failed"
	TimedOut  Outcome = "timeout"
)

// Event is one change of a start.
type Event struct {
	Time     time.Time
	Kind     Kind
	Phase    serverlog.Phase
	Progress *serverlog.Progress // nil outside phases with a bar
	Message  string
	Code     finding.Code // of a warning or a failure
	Outcome  Outcome      // of the last event
	Cause    string       // why it failed or timed out, in one sentence
	Fix      string       // what to do about it
	Tail     []string     // the last useful lines of the log, with a failure
	// Start is what the log has said so far; it is nil without a log and
	// belongs to the watch until the last event.
	Start *serverlog.Start
}
