package machine

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// CodeHostAssumed: only the size of the host was given.
var CodeHostAssumed = finding.Define("host-available-assumed",
	"the available host memory was assumed from --host-ram",
	"--host-ram says how much RAM the host has, not how much of it is free. An idle server keeps about 1 % for the system (445 GB of 449 GB, 269.6 of 270.3 GB were seen), so 99 % is assumed to be available before the launch.",
	"Give --host-available with the `available` column of `free -b`, or --machine with the JSON of `sglplan machine`.")

// Overrides replaces readings of a machine by what the person says; nil keeps
// the reading.
type Overrides struct {
	HostRAM       *units.Bytes // --host-ram
	HostAvailable *units.Bytes // --host-available, before the launch
}

// OverrideError reports options that contradict each other.
type OverrideError struct {
	RAM, Available units.Bytes
}

func (e *OverrideError) Error() string {
	return fmt.Sprintf("--host-available %d bytes is more than --host-ram %d bytes", int64(e.Available), int64(e.RAM))
}

// Apply returns the machine with the overrides in place. The options describe
// a host of their own, so cgroup readings and NUMA nodes of the machine that
// they replace do not apply to it any more; /dev/shm, limits on locking and
// the overcommit mode stay.
func Apply(m Machine, o Overrides) (Machine, []finding.Finding, error) {
	if o.HostRAM == nil && o.HostAvailable == nil {
		return m, nil, nil
	}
	if o.HostRAM != nil && o.HostAvailable != nil && *o.HostAvailable > *o.HostRAM {
		return m, nil, &OverrideError{*o.HostRAM, *o.HostAvailable}
	}
	var h Host
	if m.Host != nil {
		h = *m.Host
	}
	h.Limit, h.LimitBytes, h.CgroupUsageBytes, h.CgroupFileBytes = LimitOption, nil, nil, nil
	h.Cgroups, h.CgroupLimit, h.NUMA, h.CommitLeftBytes, h.ARCBytes = nil, "", nil, nil, nil
	var said []finding.Finding
	available := o.HostAvailable
	if o.HostRAM != nil {
		ram := *o.HostRAM
		h.TotalBytes = &ram
		if available == nil {
			assumed := ram - ram/100
			available = &assumed
			f := finding.New(CodeHostAssumed, finding.Info, "--host-ram",
				fmt.Sprintf("--host-ram %.4g GB is given without --host-available: 99 %% of it, %.1f GB, is taken as available before the launch", ram.GB(), assumed.GB()))
			f.Figures = map[string]int64{"host_ram_bytes": int64(ram), "available_bytes": int64(assumed)}
			said = append(said, f)
		}
	}
	v := *available
	h.AvailableBytes, h.MemAvailableBytes = &v, &v
	if h.TotalBytes != nil && *h.TotalBytes < v {
		h.TotalBytes = nil // a reading of another, smaller host
	}
	m.Host = &h
	return m, said, nil
}
