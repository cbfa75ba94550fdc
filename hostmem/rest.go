package hostmem

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// rest reads what bounds a launch besides plain memory.
func (f *FS) rest(h *machine.Host, vm *mem.VirtualMemoryStat, say func(string, ...any)) {
	f.shm(h)
	f.memlock(h)
	if total, free, ok := f.hugepages(); ok {
		h.HugepagesBytes, h.HugepagesFreeBytes = &total, &free
	}
	if text, err := f.read("/proc/sys/vm/overcommit_memory"); err == nil {
		if mode, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			h.Overcommit = &mode
		}
	}
	// Under strict accounting alone the kernel refuses to map more.
	if h.Overcommit != nil && *h.Overcommit == 2 && vm.CommitLimit > 0 && vm.CommitLimit < 1<<62 {
		left := max(units.Bytes(vm.CommitLimit)-units.Bytes(min(vm.CommittedAS, 1<<62)), 0)
		h.CommitLeftBytes = &left
	}
	if arc := f.arc(); arc > 0 {
		h.ARCBytes = &arc
		say("the ZFS cache could give back %v; it counts as used and shrinks slowly, so it is not added to what is available", arc)
	}
	h.CPUs = len(f.statusList("Cpus_allowed_list"))
}

// shm reads the size of /dev/shm: from the kernel on the running system, else
// from the mount's options. tmpfs without a size may take half of the RAM.
func (f *FS) shm(h *machine.Host) {
	if f.live {
		if u, err := disk.Usage("/dev/shm"); err == nil && u.Fstype == "tmpfs" && u.Total < 1<<62 && u.Free < 1<<62 {
			h.SHMBytes, h.SHMFreeBytes = ptr(units.Bytes(u.Total)), ptr(units.Bytes(u.Free))
			return
		}
	}
	text, err := f.read("/proc/self/mountinfo")
	if err != nil {
		return
	}
	for _, m := range slices.Backward(parseMountinfo(text)) { // the last mount lies on top
		if m.point != "/dev/shm" || m.fstype != "tmpfs" {
			continue
		}
		if v, ok := m.option("size"); ok {
			h.SHMBytes = tmpfsSize(v, h.TotalBytes)
		} else if h.TotalBytes != nil {
			h.SHMBytes = ptr(*h.TotalBytes / 2)
		}
		return
	}
}

// tmpfsSize reads the size option of a tmpfs: bytes with k, m or g behind, or
// a share of the RAM.
func tmpfsSize(v string, ram *units.Bytes) *units.Bytes {
	if share, ok := strings.CutSuffix(v, "%"); ok {
		n, err := strconv.ParseInt(share, 10, 64)
		if err != nil || n < 0 || n > 1000 || ram == nil {
			return nil
		}
		return ptr(*ram / 100 * units.Bytes(n))
	}
	size, err := units.Parse(v)
	if err != nil {
		return nil
	}
	return &size
}

// memlock reads the soft limit on locked memory; unlimited stays nil.
func (f *FS) memlock(h *machine.Host) {
	text, err := f.read("/proc/self/limits")
	if err != nil {
		return
	}
	for line := range strings.Lines(text) {
		v, ok := strings.CutPrefix(line, "Max locked memory")
		fields := strings.Fields(v)
		if !ok || len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && n >= 0 && n < math.MaxInt64 {
			h.MemlockBytes = ptr(units.Bytes(n))
		}
		return
	}
}

// arc reads what the ZFS cache holds above its minimum.
func (f *FS) arc() units.Bytes {
	text, err := f.read("/proc/spl/kstat/zfs/arcstats")
	if err != nil {
		return 0
	}
	stats := parseKeyed(text)
	return max(stats["size"]-stats["c_min"], 0)
}

func sortNodes(nodes []machine.NUMANode) {
	slices.SortFunc(nodes, func(a, b machine.NUMANode) int { return cmp.Compare(a.Node, b.Node) })
}
