package hostmem

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// maxCommand is how much of a command line is kept.
const maxCommand = 4096

// Running reads the processes of SGLang servers and those with the given
// identifiers (the ones that NVML lists on the cards), and the files of
// shared-memory users in /dev/shm. It only reads.
func (f *FS) Running(pids ...int) machine.Running {
	var r machine.Running
	ids := f.pids()
	for _, pid := range ids {
		p, ok := f.proc(pid)
		if ok && (p.IsSGLang() || slices.Contains(pids, pid)) {
			p.Blocked = p.State == "D" || f.blocked(pid)
			p.SHMBytes = f.rssShmem(pid)
			r.Procs = append(r.Procs, p)
		}
	}
	r.SHM = f.shmFiles(ids)
	return r
}

// pids lists the processes, in order.
func (f *FS) pids() []int {
	entries, err := os.ReadDir(f.path("/proc"))
	if err != nil {
		return nil
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// proc reads one process; ok is false when it has just ended.
func (f *FS) proc(pid int) (p machine.Proc, ok bool) {
	text, err := f.read(procPath(pid, "stat"))
	if err != nil {
		return p, false
	}
	p = machine.Proc{PID: pid}
	p.Name, p.State, p.Parent, ok = parseStat(text)
	if command, err := f.read(procPath(pid, "cmdline")); err == nil {
		command = command[:min(len(command), maxCommand)]
		p.Command = strings.ToValidUTF8(strings.TrimSpace(strings.ReplaceAll(command, "\x00", " ")), "?")
	}
	return p, ok
}

// parseStat reads the name, state and parent of /proc/PID/stat. The name may
// hold brackets and blanks, so it ends at the last closing bracket.
func parseStat(text string) (name, state string, parent int, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", "", 0, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return "", "", 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return strings.ToValidUTF8(text[open+1:end], "?"), fields[0], parent, err == nil
}

// blocked reports whether a thread of the process is in state D.
func (f *FS) blocked(pid int) bool {
	const most = 4096 // threads looked at
	tasks, err := os.ReadDir(f.path(procPath(pid, "task")))
	if err != nil {
		return false
	}
	for _, t := range tasks[:min(len(tasks), most)] {
		text, err := f.read(procPath(pid, filepath.Join("task", t.Name(), "stat")))
		if err != nil {
			continue
		}
		if _, state, _, ok := parseStat(text); ok && state == "D" {
			return true
		}
	}
	return false
}

// rssShmem reads the shared memory that a process has mapped in.
func (f *FS) rssShmem(pid int) *units.Bytes {
	text, err := f.read(procPath(pid, "status"))
	if err != nil {
		return nil
	}
	if v, ok := parseKB(text)["RssShmem"]; ok {
		return &v
	}
	return nil
}

// shmNames are the beginnings of the files that SGLang, Python's shared memory,
// NCCL and PyTorch make in /dev/shm.
var shmNames = []string{"sglang", "psm_", "nccl-", "torch_", "sem.mp-"}

// shmFiles lists those files and whether a process still has them.
func (f *FS) shmFiles(pids []int) []machine.SHMFile {
	const most = 10000
	entries, err := os.ReadDir(f.path("/dev/shm"))
	if err != nil {
		return nil
	}
	var files []machine.SHMFile
	for _, e := range entries[:min(len(entries), most)] {
		known := slices.ContainsFunc(shmNames, func(p string) bool { return strings.HasPrefix(e.Name(), p) })
		info, err := e.Info()
		if !known || err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, machine.SHMFile{Name: e.Name(), Bytes: occupied(info)})
	}
	if len(files) == 0 {
		return nil
	}
	held, all := f.heldSHM(pids)
	for i := range files {
		switch in := held[files[i].Name]; {
		case in:
			files[i].Held = &in
		case all:
			files[i].Held = &in
		}
	}
	return files
}

// heldSHM finds the files of /dev/shm that processes have mapped or open; all
// is false when a process could not be looked at.
func (f *FS) heldSHM(pids []int) (held map[string]bool, all bool) {
	held, all = map[string]bool{}, true
	for _, pid := range pids {
		maps, err := f.read(procPath(pid, "maps"))
		if err != nil && !ended(err) {
			all = false
		}
		for line := range strings.Lines(maps) {
			if _, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "/dev/shm/"); ok {
				held[strings.TrimSuffix(name, " (deleted)")] = true
			}
		}
		fds, err := os.ReadDir(f.path(procPath(pid, "fd")))
		if err != nil && !ended(err) {
			all = false
		}
		for _, fd := range fds {
			target, err := os.Readlink(f.path(procPath(pid, filepath.Join("fd", fd.Name()))))
			if name, ok := strings.CutPrefix(target, "/dev/shm/"); ok && err == nil {
				held[name] = true
			}
		}
	}
	return held, all
}

// ended reports whether a process has gone, or is a zombie without memory:
// the kernel answers ESRCH for the second.
func ended(err error) bool { return missing(err) || errors.Is(err, syscall.ESRCH) }
