// Package cgrouptest makes real memory cgroups for tests. Only tests import it.
package cgrouptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Group is a memory cgroup with a limit, removed when the test ends.
type Group struct{ dir string }

// New makes a cgroup with a limit in bytes, below this process's own or at the
// top of the tree. It skips the test, with the reason, where that is not
// allowed.
func New(t *testing.T, limit int64) Group {
	t.Helper()
	for _, c := range candidates() {
		dir := filepath.Join(c.parent, fmt.Sprintf("sglplan-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		// A v2 cgroup that holds processes has children without the memory
		// controller, hence without this file.
		file := filepath.Join(dir, c.file)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if err := os.WriteFile(file, fmt.Append(nil, limit), 0o644); err == nil {
			return Group{dir}
		}
	}
	t.Skip("a cgroup with a limit cannot be made here: needs root, or a delegated memory controller")
	return Group{}
}

// Add moves a process into the cgroup and skips the test where that is refused.
func (g Group) Add(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), fmt.Append(nil, pid), 0o644); err != nil {
		t.Skip("a process cannot be moved into a cgroup here: ", err)
	}
}

type candidate struct{ parent, file string }

// candidates are the places to try, from the nearest.
func candidates() []candidate {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	const v1, v2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
	var all []candidate
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case strings.Contains(","+fields[1]+",", ",memory,"):
			all = append(all, candidate{v1 + fields[2], "memory.limit_in_bytes"}, candidate{v1, "memory.limit_in_bytes"})
		case fields[1] == "":
			all = append(all, candidate{v2 + fields[2], "memory.max"}, candidate{v2, "memory.max"})
		}
	}
	return all
}
