package startup

import (
	"context"
	"io"
	"time"

	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// Options say what belongs to the start that is watched. Everything is
// optional; the more is given, the sooner a failure is seen.
type Options struct {
	// URL of the server, "http://127.0.0.1:30000". "" takes the port of the
	// log's arguments; without either nothing is asked, and the ready line of
	// the log is the success.
	URL string
	Key string // API key, for the questions about identity
	// Log is the name of the log file, which may not be there yet. LogReader
	// is a log as a stream instead: its end means that the launch has closed
	// it. Watch reads it in a goroutine that ends with the stream.
	Log       string
	LogReader io.Reader
	PID       int // the launcher, 0 unknown
	// Release decides what the port's answers mean; zero is not known.
	Release release.Release
	Expect  *Expectation // what a plan says will start
	// Timeout ends the watch; 0 is DefaultTimeout.
	Timeout time.Duration
	// Poll is how often everything but the port is looked at (0: 500 ms),
	// Probe how often the port is asked and how far apart its two successes
	// must be (0: 1 s).
	Poll, Probe time.Duration
	// Stall is how long a phase may stand still, by phase; a missing one has
	// its default, a negative one no limit.
	Stall map[serverlog.Phase]time.Duration
	// Available reads the memory that the host has left; nil does not watch
	// it. Reserve is what must stay.
	Available func(ctx context.Context) (units.Bytes, error)
	Reserve   units.Bytes
	// KillOnHostOOM ends the launch (SIGTERM to PID, then SIGKILL) when host
	// memory falls below half of Reserve while host pools are pinned. It is
	// the only case in which a signal is sent.
	KillOnHostOOM bool

	root string // of /proc and /sys, for tests
}

// Expectation is the part of a plan that a start can be compared with.
type Expectation struct {
	ModelPath string
	Tokens    [2]int64 // low and high of max_total_num_tokens, 0 unknown
	HostTotal units.Bytes
}

// DefaultTimeout bounds a watch that was given none: the longest starts take
// about half of it.
const DefaultTimeout = 30 * time.Minute

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.Timeout, DefaultTimeout)
	set(&o.Poll, 500*time.Millisecond)
	set(&o.Probe, time.Second)
	if o.root == "" {
		o.root = "/"
	}
	return o
}

// budgets say how long a phase may stand still. Compilation and the first
// shard from a network disk take minutes without a line.
var budgets = map[serverlog.Phase]time.Duration{
	serverlog.Starting:    3 * time.Minute,
	serverlog.Arguments:   3 * time.Minute,
	serverlog.Distributed: 5 * time.Minute, // waits for other nodes
	serverlog.Weights:     5 * time.Minute, // twice that where reading cannot be seen
	serverlog.Pools:       2 * time.Minute,
	serverlog.Graphs:      15 * time.Minute,
	serverlog.Sizes:       5 * time.Minute,
	serverlog.HostPools:   time.Minute, // and the time to pin what was announced
	serverlog.HTTP:        5 * time.Minute,
	serverlog.Warmup:      10 * time.Minute, // SGLang gives its own request 600 s
}

// How fast host memory is filled and pinned at the very least, in bytes a
// second: by all ranks together, and by one (12 GB have taken 29 s).
const (
	pinRate     = 1e9
	rankPinRate = 0.2e9
)
