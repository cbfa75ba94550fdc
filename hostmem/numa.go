package hostmem

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// maxNodes bounds the memory nodes; the kernel's own limit is 1024.
const maxNodes = 1024

// numa reads the memory nodes this process may use. Nodes have no
// MemAvailable: free pages and what can be reclaimed stand for it.
func (f *FS) numa(h *machine.Host, say func(string, ...any)) {
	dirs, _ := filepath.Glob(f.path("/sys/devices/system/node/node[0-9]*"))
	allowed := f.allowedNodes()
	var sum, left units.Bytes
	outside := false
	for _, dir := range dirs[:min(len(dirs), maxNodes)] {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			continue
		}
		n := f.node(id)
		if n.TotalBytes != nil {
			sum += *n.TotalBytes
		}
		if allowed != nil && !allowed[id] {
			outside = outside || n.TotalBytes != nil && *n.TotalBytes > 0
			continue
		}
		if n.AvailableBytes != nil {
			left += *n.AvailableBytes
		}
		h.NUMA = append(h.NUMA, n)
	}
	sortNodes(h.NUMA)
	f.believeNodes(h, sum, say)
	if !outside || left == 0 {
		return
	}
	say("this process may use memory of %d of %d NUMA nodes only (cpuset.mems)", len(h.NUMA), len(dirs))
	if h.AvailableBytes == nil || left < *h.AvailableBytes {
		h.AvailableBytes, h.Limit = &left, machine.LimitCgroup
	}
}

// believeNodes drops the nodes' sizes where they do not add up to the host:
// guests with memory added later have shown one small node for all of it.
func (f *FS) believeNodes(h *machine.Host, sum units.Bytes, say func(string, ...any)) {
	text, err := f.read("/proc/meminfo")
	total := parseKB(text)["MemTotal"]
	if err != nil || sum == 0 || total == 0 || f.lxcfs() || sum >= total-total/10 {
		return
	}
	say("the NUMA nodes show %v of the host's %v; their sizes are not used", sum, total)
	for i := range h.NUMA {
		h.NUMA[i] = machine.NUMANode{Node: h.NUMA[i].Node}
	}
}

// node reads one memory node.
func (f *FS) node(id int) machine.NUMANode {
	n := machine.NUMANode{Node: id}
	text, err := f.read(fmt.Sprintf("/sys/devices/system/node/node%d/meminfo", id))
	if err != nil {
		return n
	}
	values := parseKB(text)
	if v, ok := values["MemTotal"]; ok {
		n.TotalBytes = &v
	}
	if v, ok := values["MemFree"]; ok {
		n.FreeBytes = &v
		n.AvailableBytes = ptr(v + values["Inactive(file)"] + values["Active(file)"] + values["SReclaimable"])
	}
	return n
}

// allowedNodes reads the nodes of this process's cpuset, nil when unknown.
func (f *FS) allowedNodes() map[int]bool {
	return listed(f.statusList("Mems_allowed_list"))
}

// statusList reads one list of /proc/self/status.
func (f *FS) statusList(key string) []int {
	text, err := f.read("/proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return parseList(v)
		}
	}
	return nil
}

func listed(ids []int) map[int]bool {
	if len(ids) == 0 {
		return nil
	}
	set := map[int]bool{}
	for _, i := range ids {
		set[i] = true
	}
	return set
}

// hugepages sums the reserved pools of all page sizes: total, and free less
// what is promised to mappings.
func (f *FS) hugepages() (total, free units.Bytes, ok bool) {
	const pools = "/sys/kernel/mm/hugepages"
	entries, err := os.ReadDir(f.path(pools))
	if err != nil {
		return 0, 0, false
	}
	for _, e := range entries {
		kb, isPool := strings.CutPrefix(e.Name(), "hugepages-")
		page, err := strconv.ParseInt(strings.TrimSuffix(kb, "kB"), 10, 64)
		if !isPool || err != nil || page <= 0 || page > 1<<40 {
			continue
		}
		count := func(name string) units.Bytes {
			v, _, err := f.size(filepath.Join(pools, e.Name(), name))
			if err != nil || v > 1<<40 {
				return 0
			}
			return min(v*units.Bytes(page), 1<<50) * units.KiB
		}
		total += count("nr_hugepages")
		free += max(count("free_hugepages")-count("resv_hugepages"), 0)
		ok = true
	}
	return total, free, ok
}
