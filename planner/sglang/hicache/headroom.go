package hicache

import (
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// CreditsCache reports whether a release's reader of the cgroups takes page
// cache for room, as the kernel does; the first one, 0.5.21, takes it for used.
func CreditsCache(r release.Release) bool { return r.AtLeast("0.5.22") }

// HeadroomOf is what SGLang's reader of a release makes of the cgroups that a
// machine value lists; nil when no limit is visible to it. It is
// CgroupHeadroom for a host that is known by its figures alone.
func HeadroomOf(r release.Release, h machine.Host) *units.Bytes {
	if r.Before("0.5.21") {
		return nil
	}
	var least *units.Bytes
	keep := func(room units.Bytes) {
		if room = max(room, 0); least == nil || room < *least {
			least = &room
		}
	}
	if h.Limit == machine.LimitFile && h.LimitBytes != nil {
		// A container that does not run yet: its cgroup starts empty, and the
		// cgroups of whoever read the machine do not hold for it.
		keep(*h.LimitBytes)
		return least
	}
	for _, c := range h.Cgroups {
		if c.UsageBytes == nil {
			continue
		}
		used := *c.UsageBytes
		if CreditsCache(r) && c.CacheBytes != nil && (c.Version != 2 || !c.Protected) {
			used = max(0, used-*c.CacheBytes)
		}
		keep(c.LimitBytes - used)
	}
	if least == nil && h.LimitBytes != nil && h.Limit == machine.LimitCgroup {
		var used units.Bytes
		if h.CgroupUsageBytes != nil {
			used = *h.CgroupUsageBytes
		}
		if CreditsCache(r) && h.CgroupFileBytes != nil {
			used = max(0, used-*h.CgroupFileBytes)
		}
		keep(*h.LimitBytes - used)
	}
	return least
}
