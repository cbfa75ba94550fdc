package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// Findings about what earlier runs left, or still hold.
var (
	// CodeGPUInUse: a live server has memory on a card.
	CodeGPUInUse = finding.Define("gpu-in-use",
		"a running process holds memory on the GPU",
		"SGLang takes its fraction of what is free when loading begins, so memory of another process lowers the pool twice: the free memory shrinks, and the share that must stay free is reckoned from the smaller figure. A server that runs there now will also fight for compute.",
		"Stop the other process first, or plan for other cards with --base-gpu-id or CUDA_VISIBLE_DEVICES.")
	// CodeGPUUnexplained: memory is used and no process is seen that holds it.
	CodeGPUUnexplained = finding.Define("gpu-memory-unexplained",
		"GPU memory is used and no visible process holds it",
		"After a crash or SIGKILL the kernel first unpins the host pools and only then frees the GPU; meanwhile tens of GiB are used and no compute process is listed (26 s were measured for one rank with 243 GB pinned; several ranks take minutes). Processes of another container are not listed either.",
		"Wait while the figure falls (`nvidia-smi`); look for processes in state D or Z (`ps -eo pid,stat,comm`), on the host too. If it stays, the owner is outside this container, or the driver needs a reset of the card.")
	// CodeRankDying: an SGLang process is in state D or Z.
	CodeRankDying = finding.Define("rank-dying",
		"a process of an earlier launch has not finished dying",
		"State D: the kernel is still freeing its pinned memory; neither SIGKILL nor waiting in the shell changes that. State Z: it holds no memory any more, but its parent has not collected it.",
		"Wait: about 2 minutes and 0.15 s for each pinned GB are normal. Do not start the next launch before it is gone. A zombie goes when its parent (PID 1 of the container) ends: start containers with --init.")
	// CodeSHMLeftover: files of an earlier run lie in /dev/shm.
	CodeSHMLeftover = finding.Define("shm-leftover",
		"files of an earlier launch occupy /dev/shm",
		"Python, NCCL and SGLang keep shared memory as files in /dev/shm. A killed process leaves them behind, and they stay in RAM, which neither `free` nor MemAvailable gives back.",
		"Remove the files that no process holds: `lsof /dev/shm` shows the ones in use.")
)

// What an idle card uses without any process: the driver's contexts and
// persistence (0.3 to 1 GiB). Without the v2 memory call the driver's reserve
// is part of it.
const (
	idleBytes   = units.GiB
	idleV1Bytes = 2 * units.GiB
)

// Leftovers says what stands in the way of a launch on this machine: GPU
// memory of live, dying or unknown owners and leaked shared memory. It looks
// only at its arguments, and nothing is killed or removed.
func Leftovers(m Machine, r Running) []finding.Finding {
	byPID := map[int]Proc{}
	for _, p := range r.Procs {
		byPID[p.PID] = p
	}
	var said []finding.Finding
	for _, g := range m.GPUs {
		said = append(said, gpuLeftovers(g, byPID, r)...)
	}
	said = append(said, dyingRanks(r)...)
	return append(said, shmLeftovers(r)...)
}

// gpuLeftovers judges the memory of one card.
func gpuLeftovers(g GPU, byPID map[int]Proc, r Running) []finding.Finding {
	var said []finding.Finding
	var explained units.Bytes
	hidden, unsized := 0, false
	for _, p := range g.Processes {
		if p.Bytes != nil {
			explained += *p.Bytes
		} else {
			unsized = true // MIG, WSL or missing rights: only `used` counts
		}
		proc, seen := byPID[p.PID]
		switch {
		case !seen:
			hidden++ // NVML gives host PIDs: the owner is in another container
		case proc.Dying() || proc.Dead():
			// Said once for the process, not for each card.
		default:
			said = append(said, gpuInUse(g, p, proc))
		}
	}
	if g.UsedBytes == nil || unsized && hidden == 0 {
		return said
	}
	idle := idleBytes
	if g.ReservedBytes == nil {
		idle = idleV1Bytes
	}
	switch rest := *g.UsedBytes - explained; {
	case hidden > 0 && *g.UsedBytes >= idle:
		said = append(said, unexplained(g, *g.UsedBytes, "held by something outside this container or not visible to this user"))
	case rest >= idle && slices.ContainsFunc(r.Procs, func(p Proc) bool { return p.IsSGLang() && p.Dying() }):
		said = append(said, unexplained(g, rest, "being taken back from a dying SGLang process"))
	case rest >= idle:
		said = append(said, unexplained(g, rest, "an ended run that is still being cleaned up, or a process of another container"))
	}
	return said
}

func gpuInUse(g GPU, p Process, proc Proc) finding.Finding {
	what := proc.Name
	if proc.IsSGLang() {
		what = "a live SGLang server, " + proc.Name
	}
	held, figures := "memory", map[string]int64{"gpu": int64(g.Index), "pid": int64(p.PID)}
	if p.Bytes != nil {
		held = p.Bytes.String()
		figures["bytes"] = int64(*p.Bytes)
	}
	f := finding.New(CodeGPUInUse, finding.Warning, "", fmt.Sprintf("GPU %d: process %d (%s) holds %s", g.Index, p.PID, what, held))
	f.Figures = figures
	return f
}

func unexplained(g GPU, bytes units.Bytes, who string) finding.Finding {
	f := finding.New(CodeGPUUnexplained, finding.Warning, "", fmt.Sprintf("GPU %d: %v used without a visible owner: %s", g.Index, bytes, who))
	f.Figures = map[string]int64{"gpu": int64(g.Index), "bytes": int64(bytes)}
	return f
}

// dyingRanks names SGLang processes that have ended and are still there.
func dyingRanks(r Running) []finding.Finding {
	var said []finding.Finding
	for _, p := range r.Procs {
		if !p.IsSGLang() || !p.Dying() && !p.Dead() {
			continue
		}
		detail := fmt.Sprintf("process %d (%s) is in state %s", p.PID, p.Name, p.State)
		switch {
		case p.Dead():
			detail += fmt.Sprintf(" and waits to be collected by process %d; it holds no memory", p.Parent)
		case p.State == "Z":
			detail += " but a thread of it is in state D: it still holds its memory"
		}
		f := finding.New(CodeRankDying, finding.Warning, "", detail)
		f.Figures = map[string]int64{"pid": int64(p.PID)}
		said = append(said, f)
	}
	return said
}

// shmLeftovers sums the files that nobody holds. A few small ones are said, not
// warned about.
func shmLeftovers(r Running) []finding.Finding {
	var names []string
	var sum units.Bytes
	for _, s := range r.SHM {
		if s.Held != nil && !*s.Held {
			names, sum = append(names, s.Name), sum+s.Bytes
		}
	}
	if len(names) == 0 {
		return nil
	}
	severity := finding.Info
	if sum >= units.GiB {
		severity = finding.Warning
	}
	count := len(names)
	const most = 5
	if count > most {
		names = append(names[:most:most], "...")
	}
	f := finding.New(CodeSHMLeftover, severity, "", fmt.Sprintf("%d files in /dev/shm that no process holds occupy %v: %s", count, sum, strings.Join(names, ", ")))
	f.Figures = map[string]int64{"files": int64(count), "bytes": int64(sum)}
	return []finding.Finding{f}
}
