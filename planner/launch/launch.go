// Package launch turns what people launch SGLang with into typed values: an
// argument vector, a shell script, a docker line, a Compose file, a manifest,
// a systemd unit, a batch job or the line that a server logs about itself. It
// keeps where each word stands, so that findings can point at it. It runs
// nothing and guesses nothing: what is known only at run time is marked. It
// does not know what any flag means; planner/sglang does.
//
// Import it to read launches for package planner.
package launch

import (
	"slices"
	"strings"

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
	Python    string            // interpreter (or path of the sglang script) that would run it, "" when not named
	Container *Container        // nil outside a container
	Source    finding.Position  // file, line and container it was found in
	Nodes     int               // hosts the launcher starts it on (Slurm, LeaderWorkerSet), 0 when not said
	// Host tells hosts of one file apart: launches of a file with the same
	// Host start on one host and share it.
	Host string
	// Quoted is set when the launch stands inside the text of a shell
	// argument: docker run IMAGE bash -c "... launch ...".
	Quoted *Quoted
	// Logged are the arguments by SGLang's field names where the launch is
	// known from the line that its server logged; Flags are empty then.
	Logged map[string]any
	// Findings are about how the launch is written down: words that are known
	// only when it runs, limits that cannot be read.
	Findings []finding.Finding
}

// Quoted is a shell command line that is itself one word of a command.
type Quoted struct {
	Outer  []Word // the words before it, the shell and its -c included
	Before string // its text up to the launch
	After  string // its text from the end of the launch on
	Rest   []Word // the words after it
}

// Argv returns the whole command as plain words.
func (c *Command) Argv() []string {
	own := texts(slices.Concat(c.Prefix, c.Flags))
	q := c.Quoted
	if q == nil {
		return own
	}
	out := append(texts(q.Outer), q.Before+shellLine(slices.Concat(c.Prefix, c.Flags))+q.After)
	return append(out, texts(q.Rest)...)
}

// shellLine writes words as a shell reads them; those that only the shell
// knows stay as they are written.
func shellLine(ws []Word) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Text
		if !w.Unknown {
			out[i] = Quote([]string{w.Text})
		}
	}
	return strings.Join(out, " ")
}

// Container is what the container or unit around a launch grants it. Nil and
// zero mean not said.
type Container struct {
	Name        string       `json:"name,omitempty"`
	Image       string       `json:"image,omitempty"`
	GPUs        *int         `json:"gpus,omitempty"`         // number of GPUs granted
	GPUDevices  []string     `json:"gpu_devices,omitempty"`  // particular GPUs granted (indices or UUIDs)
	MemoryBytes *units.Bytes `json:"memory_bytes,omitempty"` // memory limit
	SHMBytes    *units.Bytes `json:"shm_bytes,omitempty"`    // size of /dev/shm
	IPCHost     bool         `json:"ipc_host,omitempty"`     // shares the host's /dev/shm
	Memlock     *int64       `json:"memlock,omitempty"`      // ulimit, -1 unlimited
	// Exclusive says that a scheduler hands the GPUs out, each to one
	// container (Kubernetes, Slurm); docker gives every container the first
	// ones.
	Exclusive bool `json:"exclusive,omitempty"`
	// HostFiles says that the launch sees the host's own file system: a
	// systemd unit or a batch job bounds memory without an image.
	HostFiles bool `json:"host_files,omitempty"`
}

// File is what a file holds.
type File struct {
	Commands []*Command
	// Findings are about the file as a whole; those about one launch are in
	// its Command.
	Findings []finding.Finding
}
