// Package hostmem reads the real memory of this host or container as machine
// values: what a launch from here can allocate, and which limit says so.
//
// Import it to plan for the machine the program runs on. The memory figures
// come from gopsutil; the limits of cgroup v1, v2 and hybrid trees with all
// their ancestors, NUMA nodes, huge pages and the rest are read here, since
// /proc/meminfo shows the whole host inside a container. The file system's root
// is given once, so that a copy of /proc and /sys can be read in its place.
package hostmem

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// FS reads below one root directory.
type FS struct {
	root string
	live bool // the running system: sizes of mounts may be asked of the kernel
}

// New returns a reader of the tree below root: "/" for this machine, or a
// folder with copies of /proc and /sys.
func New(root string) *FS {
	abs, err := filepath.Abs(root)
	if err != nil {
		abs = root
	}
	return &FS{root: abs, live: abs == "/"}
}

// ErrNoMemory says that neither /proc/meminfo nor a cgroup told how much
// memory there is.
var ErrNoMemory = errors.New("the host's memory is not known: /proc/meminfo cannot be used and no cgroup has a limit")

// Host reads the memory of the host as a launch from here would find it. What
// is available is the smallest of the kernel's MemAvailable and the room in
// every limited cgroup; swap is not counted, since pinned pages cannot leave.
//
// Figures that are not there stay nil, and the notes say what is missing or
// unusual. The error wraps ErrNoMemory when nothing at all is known; everything
// else of the host is returned even then.
func (f *FS) Host(ctx context.Context) (machine.Host, []string, error) {
	var h machine.Host
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }

	vm, err := mem.VirtualMemoryWithContext(context.WithValue(ctx, common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: f.path("/proc"),
		common.HostSysEnvKey:  f.path("/sys"),
	}))
	if err != nil {
		say("/proc/meminfo cannot be used: %s", brief(err))
		vm = &mem.VirtualMemoryStat{}
	} else {
		f.meminfo(&h, vm, say)
	}
	cg := f.readCgroups()
	notes = append(notes, cg.notes...)
	f.limits(&h, cg, say)
	f.numa(&h, say)
	f.rest(&h, vm, say)
	if h.TotalBytes == nil && h.AvailableBytes == nil {
		return h, notes, ErrNoMemory
	}
	return h, notes, nil
}

// meminfo takes the kernel's figures for the whole host. lxcfs has served zero
// totals and more available than there is; such figures are not believed.
func (f *FS) meminfo(h *machine.Host, vm *mem.VirtualMemoryStat, say func(string, ...any)) {
	switch {
	case vm.Total == 0 || vm.Total > 1<<62:
		say("/proc/meminfo tells no total; only the cgroups can say how much memory there is")
		return
	case vm.Available > vm.Total:
		say("/proc/meminfo says %v available of %v; the first is not believed", units.Bytes(vm.Available&(1<<62-1)), units.Bytes(vm.Total))
		h.TotalBytes = ptr(units.Bytes(vm.Total))
		return
	}
	h.TotalBytes = ptr(units.Bytes(vm.Total))
	h.AvailableBytes, h.Limit = ptr(units.Bytes(vm.Available)), machine.LimitMeminfo
	h.MemAvailableBytes = ptr(units.Bytes(vm.Available))
}

// limits applies the cgroups to what is available.
func (f *FS) limits(h *machine.Host, cg cgroups, say func(string, ...any)) {
	h.CgroupLimit, h.Cgroups = cg.state, cg.limited
	lxc := f.lxcfs()
	if lxc {
		say("/proc/meminfo is served by lxcfs: it shows the container's limit, not the host; what the host itself has left is not visible")
	}
	if lxc && knownRoom(cg.limited) {
		// Older lxcfs takes page cache for used memory; the cgroup's own
		// figures know better.
		h.AvailableBytes = nil
	}
	for _, g := range cg.limited {
		h.TotalBytes = least(h.TotalBytes, g.LimitBytes)
		room := g.LimitBytes
		if r := g.Room(); r != nil {
			room = max(*r, 0)
		} else {
			say("the usage of cgroup %s cannot be read; its whole limit is taken as free", g.Path)
		}
		if h.AvailableBytes != nil && *h.AvailableBytes <= room {
			continue
		}
		h.AvailableBytes, h.Limit, h.LimitBytes = &room, machine.LimitCgroup, ptr(g.LimitBytes)
		h.CgroupUsageBytes, h.CgroupFileBytes = g.UsageBytes, ptr(g.Reclaimable())
		if g.File == "memory.high" {
			say("the limit of cgroup %s is memory.high: above it the kernel does not kill but throttles, and pinned memory stalls almost for ever", g.Path)
		}
	}
}

// knownRoom reports whether a cgroup tells its limit and its usage.
func knownRoom(limited []machine.Cgroup) bool {
	for _, g := range limited {
		if g.UsageBytes != nil {
			return true
		}
	}
	return false
}

// lxcfs reports whether /proc/meminfo is overlaid by lxcfs.
func (f *FS) lxcfs() bool {
	text, err := f.read("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for _, m := range parseMountinfo(text) {
		if m.point == "/proc/meminfo" && (m.fstype == "fuse.lxcfs" || m.source == "lxcfs") {
			return true
		}
	}
	return false
}

// least returns the smaller of a figure that may be unknown and one that is
// known.
func least(a *units.Bytes, b units.Bytes) *units.Bytes {
	if a != nil && *a <= b {
		return a
	}
	return &b
}
