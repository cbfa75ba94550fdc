// Package launch turns what people launch SGLang with into typed values: an
// argument vector, a shell script, a docker line, a Compose file or a
// manifest. It keeps where each word stands, so that findings can point at it.
// It does not know what any flag means; planner/sglang does.
package launch

import (
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// Word is one word of a command with its place.
type Word struct {
	Text string
	Pos  finding.Position
	// Unknown is set when the word cannot be known without running something
	// (a command substitution, an unset variable); Text is then the source text.
	Unknown bool
}

// Command is one SGLang launch.
type Command struct {
	Prefix    []Word            // everything before SGLang's own flags: wrappers, interpreter, module
	Flags     []Word            // SGLang's own words, from the first flag on
	Env       map[string]string // environment set by the command, its script or its manifest
	Python    string            // interpreter that would run it, "" when not named
	Container *Container        // nil outside a container
	Source    finding.Position  // file, line and container it was found in
	Nodes     int               // hosts the launcher starts it on (Slurm, LeaderWorkerSet), 0 when not said
}

// Argv returns the whole command as plain words.
func (c *Command) Argv() []string {
	out := make([]string, 0, len(c.Prefix)+len(c.Flags))
	for _, ws := range [][]Word{c.Prefix, c.Flags} {
		for _, w := range ws {
			out = append(out, w.Text)
		}
	}
	return out
}

// Container is what the container or unit around a launch grants it. Nil and
// zero mean not said.
type Container struct {
	Name        string
	Image       string
	GPUs        *int         // number of GPUs granted
	GPUDevices  []string     // particular GPUs granted (indices or UUIDs)
	MemoryBytes *units.Bytes // memory limit
	SHMBytes    *units.Bytes // size of /dev/shm
	IPCHost     bool         // shares the host's /dev/shm
	Memlock     *int64       // ulimit, -1 unlimited
}
