package startup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// cgroup is the memory cgroup of a watched process.
type cgroup struct {
	dir string // "" when there is none to be seen
	v1  bool
	top string // where its tree is mounted
}

// cgroupOf finds the memory cgroup of a process.
func (p proc) cgroupOf(pid int) cgroup {
	b, err := os.ReadFile(p.path(strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return cgroup{}
	}
	sys := filepath.Join(p.root, "sys/fs/cgroup")
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || strings.Contains(f[2], "..") {
			continue
		}
		var g cgroup
		switch {
		case f[1] == "":
			g = cgroup{dir: filepath.Join(sys, f[2]), top: sys}
		case strings.Contains(","+f[1]+",", ",memory,"):
			top := filepath.Join(sys, "memory")
			g = cgroup{dir: filepath.Join(top, f[2]), top: top, v1: true}
		default:
			continue
		}
		if _, err := os.Stat(g.eventFile()); err == nil {
			return g
		}
	}
	return cgroup{}
}

func (g cgroup) eventFile() string {
	if g.v1 {
		return filepath.Join(g.dir, "memory.oom_control")
	}
	return filepath.Join(g.dir, "memory.events")
}

// kills counts the processes that the OOM killer took in the cgroup and below.
func (g cgroup) kills() int64 {
	if g.dir == "" {
		return 0
	}
	return counter(g.eventFile(), "oom_kill ")
}

// kills counts the processes that the OOM killer took on the whole host.
func (p proc) kills() int64 { return counter(p.path("vmstat"), "oom_kill ") }

// counter reads one line of a file of names and numbers.
func counter(file, name string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
			return n
		}
	}
	return 0
}

// room is what the limited cgroups of a process leave, nil without a limit.
func (g cgroup) room() *units.Bytes {
	if g.dir == "" {
		return nil
	}
	var least *units.Bytes
	for dir := g.dir; strings.HasPrefix(dir, g.top); dir = filepath.Dir(dir) {
		if r := (cgroup{dir: dir, v1: g.v1}).own(); r != nil && (least == nil || *r < *least) {
			least = r
		}
	}
	return least
}

// own is the room under the limit of this very cgroup: clean file pages can
// be dropped, so they count as free.
func (g cgroup) own() *units.Bytes {
	limit, usage := "memory.max", "memory.current"
	if g.v1 {
		limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
	}
	l, ok1 := number(filepath.Join(g.dir, limit))
	u, ok2 := number(filepath.Join(g.dir, usage))
	if !ok1 || !ok2 || l >= 1<<60 {
		return nil
	}
	stat := filepath.Join(g.dir, "memory.stat")
	r := units.Bytes(l - u + counter(stat, "inactive_file ") + counter(stat, "active_file "))
	return &r
}

func number(file string) (int64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
