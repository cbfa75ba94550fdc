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
	MIG               bool         `json:"mig,omitempty"`
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
	NUMA             []NUMANode   `json:"numa,omitempty"`
	SHMBytes         *units.Bytes `json:"shm_bytes,omitempty"`     // size of /dev/shm
	MemlockBytes     *units.Bytes `json:"memlock_bytes,omitempty"` // RLIMIT_MEMLOCK; absent when unlimited or unknown
	HugepagesBytes   *units.Bytes `json:"hugepages_bytes,omitempty"`
	Overcommit       *int         `json:"overcommit,omitempty"` // vm.overcommit_memory
	CommitLeftBytes  *units.Bytes `json:"commit_left_bytes,omitempty"`
	CPUs             int          `json:"cpus,omitempty"`
}

// NUMANode is one memory node.
type NUMANode struct {
	Node       int          `json:"node"`
	TotalBytes *units.Bytes `json:"total_bytes,omitempty"`
	FreeBytes  *units.Bytes `json:"free_bytes,omitempty"`
}
