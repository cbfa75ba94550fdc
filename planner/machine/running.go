package machine

import (
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// Proc is a process of this machine that has to do with GPUs or SGLang.
type Proc struct {
	PID     int    `json:"pid"`
	Parent  int    `json:"parent,omitempty"`
	Name    string `json:"name"`              // the kernel's short name, at most 15 bytes: "sglang::schedul"
	Command string `json:"command,omitempty"` // the command line, shortened
	// State is the kernel's letter: R running, S sleeping, D in the kernel and
	// not to be interrupted, Z dead and not yet collected by its parent.
	State string `json:"state"`
	// Blocked: a thread is in state D. The group's first thread may be dead
	// already (Z) while the others still hold everything.
	Blocked  bool         `json:"blocked,omitempty"`
	SHMBytes *units.Bytes `json:"shm_bytes,omitempty"` // shared memory in its page tables (RssShmem): HiCache pools are there
}

// IsSGLang reports whether the process belongs to an SGLang server.
func (p Proc) IsSGLang() bool {
	return strings.HasPrefix(p.Name, "sglang") || strings.Contains(p.Command, "sglang::") ||
		strings.Contains(p.Command, "sglang.launch_server") || strings.Contains(p.Command, "sglang serve")
}

// Dying reports whether the process has ended and the kernel is still taking
// its memory apart.
func (p Proc) Dying() bool { return p.State == "D" || p.Blocked }

// Dead reports whether only the entry in the process table is left.
func (p Proc) Dead() bool { return p.State == "Z" && !p.Blocked }

// SHMFile is a file in /dev/shm. It is RAM until it is removed.
type SHMFile struct {
	Name  string      `json:"name"`
	Bytes units.Bytes `json:"bytes"` // what it occupies
	// Held says whether a process still has it open or mapped; nil when the
	// processes could not all be looked at.
	Held *bool `json:"held,omitempty"`
}

// Running is what runs on a machine and what ended runs left there.
type Running struct {
	Procs []Proc    `json:"procs,omitempty"`
	SHM   []SHMFile `json:"shm,omitempty"`
}
