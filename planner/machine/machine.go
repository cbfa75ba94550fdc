// Package machine holds what a machine has: GPUs, host memory and the limits
// on it, as plain values. gpu and hostmem fill it from the hardware, JSON from
// `sglplan machine` from another host, the catalogue from a card's name.
// Absent figures are nil: unknown is not zero.
package machine

import "github.com/sglplan/sglplan/planner/units"

// Schema is the name of the JSON format.
const Schema = "sglplan/v1"

// Machine is one host.
type Machine struct {
	Schema string   `json:"schema"`
	GPUs   []GPU    `json:"gpus"`
	Host   *Host    `json:"host,omitempty"`
	Driver string   `json:"driver,omitempty"` // NVIDIA driver version, "580.95.05"
	CUDA   string   `json:"cuda,omitempty"`   // highest CUDA version of that driver, "13.0"
	Notes  []string `json:"notes,omitempty"`
}

// GPU is one card (or MIG instance) as NVML reports it.
type GPU struct {
	Index             int          `json:"index"`
	Name              string       `json:"name,omitempty"`
	UUID              string       `json:"uuid,omitempty"`
	PCI               string       `json:"pci,omitempty"`
	ComputeCapability string       `json:"compute_capability,omitempty"` // "9.0"
	TotalBytes        *units.Bytes `json:"total_bytes,omitempty"`        // what nvidia-smi prints as memory.total
	ReservedBytes     *units.Bytes `json:"reserved_bytes,omitempty"`     // the driver's own (NVML memory v2)
	UsedBytes         *units.Bytes `json:"used_bytes,omitempty"`
	FreeBytes         *units.Bytes `json:"free_bytes,omitempty"`
	NUMANode          *int         `json:"numa_node,omitempty"`
	MIG               bool         `json:"mig,omitempty"`    // an instance of a card in MIG mode
	Parent            string       `json:"parent,omitempty"` // UUID of the card of a MIG instance
	Processes         []Process    `json:"processes,omitempty"`
	Error             string       `json:"error,omitempty"` // why figures are missing
}

// Process is one process that holds memory on a GPU.
type Process struct {
	PID   int          `json:"pid"`
	Name  string       `json:"name,omitempty"`
	Bytes *units.Bytes `json:"bytes,omitempty"`
}

// Limit says which source bounds the host memory.
type Limit string

// The sources of a host limit.
const (
	LimitMeminfo Limit = "meminfo" // /proc/meminfo of the whole host
	LimitCgroup  Limit = "cgroup"  // a cgroup of this process or one of its ancestors
	LimitOption  Limit = "option"  // given on the command line
	LimitFile    Limit = "file"    // a limit in the manifest that launches
)

// Host is the memory of a host, as seen from where the launch will run.
type Host struct {
	TotalBytes     *units.Bytes `json:"total_bytes,omitempty"`
	AvailableBytes *units.Bytes `json:"available_bytes,omitempty"` // the room a launch has: the smallest of MemAvailable and every limit
	Limit          Limit        `json:"limit,omitempty"`
	LimitBytes     *units.Bytes `json:"limit_bytes,omitempty"` // the limit itself where one binds
	// MemAvailableBytes is the kernel's figure for the whole host, which
	// SGLang's own guard reads until 0.5.20 whatever the cgroup says.
	MemAvailableBytes *units.Bytes `json:"mem_available_bytes,omitempty"`
	// CgroupUsageBytes and CgroupFileBytes are what the binding cgroup holds
	// and how much of that is file pages the kernel can drop.
	CgroupUsageBytes *units.Bytes `json:"cgroup_usage_bytes,omitempty"`
	CgroupFileBytes  *units.Bytes `json:"cgroup_file_bytes,omitempty"`
	// Cgroups lists every memory cgroup from the process's own up to the
	// visible root that has a limit; the tightest need not be the lowest.
	Cgroups []Cgroup `json:"cgroups,omitempty"`
	// CgroupLimit tells the three kinds of "no limit" apart.
	CgroupLimit  CgroupLimit  `json:"cgroup_limit,omitempty"`
	NUMA         []NUMANode   `json:"numa,omitempty"`
	SHMBytes     *units.Bytes `json:"shm_bytes,omitempty"`      // size of /dev/shm
	SHMFreeBytes *units.Bytes `json:"shm_free_bytes,omitempty"` // free in /dev/shm
	MemlockBytes *units.Bytes `json:"memlock_bytes,omitempty"`  // RLIMIT_MEMLOCK; absent when unlimited or unknown
	// HugepagesBytes is the reserved huge page pool, used or not: it is never
	// part of what is available to ordinary pages.
	HugepagesBytes     *units.Bytes `json:"hugepages_bytes,omitempty"`
	HugepagesFreeBytes *units.Bytes `json:"hugepages_free_bytes,omitempty"` // free and not promised to anyone
	// ARCBytes is what the ZFS cache could give back. It counts as used and
	// shrinks slowly, so it is reported and not added to what is available.
	ARCBytes        *units.Bytes `json:"arc_bytes,omitempty"`
	Overcommit      *int         `json:"overcommit,omitempty"` // vm.overcommit_memory
	CommitLeftBytes *units.Bytes `json:"commit_left_bytes,omitempty"`
	CPUs            int          `json:"cpus,omitempty"`
}

// CgroupLimit says whether a memory cgroup bounds this process.
type CgroupLimit string

// The kinds of limit. Only CgroupLimited carries a figure; the other three are
// different answers and must not be mistaken for each other.
const (
	CgroupLimited    CgroupLimit = "limited"    // a limit is set on this cgroup or an ancestor
	CgroupUnlimited  CgroupLimit = "unlimited"  // there are memory cgroups and none has a limit
	CgroupNone       CgroupLimit = "none"       // the memory controller is not mounted here
	CgroupUnreadable CgroupLimit = "unreadable" // there is one and its limit could not be read: not known
)

// Cgroup is one memory cgroup with a limit.
type Cgroup struct {
	Path       string       `json:"path"`    // below the mount, "/" when the namespace hides it
	Version    int          `json:"version"` // 1 or 2
	File       string       `json:"file"`    // the file that holds the tighter limit, "memory.max"
	LimitBytes units.Bytes  `json:"limit_bytes"`
	UsageBytes *units.Bytes `json:"usage_bytes,omitempty"`
	// CacheBytes is active_file + inactive_file, DirtyBytes what of it must be
	// written before it can go.
	CacheBytes *units.Bytes `json:"cache_bytes,omitempty"`
	DirtyBytes *units.Bytes `json:"dirty_bytes,omitempty"`
	// Protected: a descendant has memory.min set, or could not be read.
	Protected bool `json:"protected,omitempty"`
}

// Room is what can still be allocated in the cgroup: the limit less the usage
// that cannot be reclaimed. It is negative when the cgroup is over its limit
// (memory.high), and nil when the usage is not known.
func (c Cgroup) Room() *units.Bytes {
	if c.UsageBytes == nil {
		return nil
	}
	room := c.LimitBytes - *c.UsageBytes + c.Reclaimable()
	return &room
}

// Reclaimable is the part of the usage the kernel can drop without writing:
// clean file pages. Page cache of shared memory is not among them.
func (c Cgroup) Reclaimable() units.Bytes {
	if c.CacheBytes == nil {
		return 0
	}
	clean := *c.CacheBytes
	if c.DirtyBytes != nil {
		clean -= *c.DirtyBytes
	}
	return max(clean, 0)
}

// NUMANode is one memory node.
type NUMANode struct {
	Node       int          `json:"node"`
	TotalBytes *units.Bytes `json:"total_bytes,omitempty"`
	FreeBytes  *units.Bytes `json:"free_bytes,omitempty"`
	// AvailableBytes adds the file pages and slab that can be reclaimed, the
	// nearest a node has to MemAvailable.
	AvailableBytes *units.Bytes `json:"available_bytes,omitempty"`
}
