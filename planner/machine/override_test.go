package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/finding"
)

func TestApply(t *testing.T) {
	overcommit := 2
	read := Machine{Schema: Schema, Host: &Host{
		TotalBytes: size(100e9), AvailableBytes: size(20e9), Limit: LimitCgroup, LimitBytes: size(30e9), MemAvailableBytes: size(90e9),
		CgroupUsageBytes: size(11e9), CgroupFileBytes: size(1e9), Cgroups: []Cgroup{{Path: "/", Version: 2}}, CgroupLimit: CgroupLimited,
		NUMA: []NUMANode{{Node: 0}}, SHMBytes: size(64e6), MemlockBytes: size(8e6), Overcommit: &overcommit, CommitLeftBytes: size(5),
	}}
	kept := func(total, available int64) *Host {
		h := &Host{AvailableBytes: size(available), MemAvailableBytes: size(available), Limit: LimitOption, SHMBytes: size(64e6), MemlockBytes: size(8e6), Overcommit: &overcommit}
		if total > 0 {
			h.TotalBytes = size(total)
		}
		return h
	}
	assumed := finding.New(CodeHostAssumed, finding.Info, "--host-ram",
		"--host-ram 449 GB is given without --host-available: 99 % of it, 444.5 GB, is taken as available before the launch")
	assumed.Figures = map[string]int64{"host_ram_bytes": 449e9, "available_bytes": 444510000000}
	for _, c := range []struct {
		name string
		in   Machine
		o    Overrides
		want *Host
		said []finding.Finding
		err  error
	}{
		{name: "nothing given", in: read, want: read.Host},
		{name: "both, no reading", o: Overrides{size(449e9), size(445e9)}, want: &Host{TotalBytes: size(449e9), AvailableBytes: size(445e9), MemAvailableBytes: size(445e9), Limit: LimitOption}},
		{name: "both replace the reading", in: read, o: Overrides{size(449e9), size(445e9)}, want: kept(449e9, 445e9)},
		{name: "RAM alone", o: Overrides{HostRAM: size(449e9)}, want: &Host{TotalBytes: size(449e9), AvailableBytes: size(444510000000), MemAvailableBytes: size(444510000000), Limit: LimitOption}, said: []finding.Finding{assumed}},
		{name: "available alone", in: read, o: Overrides{HostAvailable: size(50e9)}, want: kept(100e9, 50e9)},
		{name: "available alone, of a larger host", in: read, o: Overrides{HostAvailable: size(500e9)}, want: kept(0, 500e9)},
		{name: "more available than there is", in: read, o: Overrides{size(449e9), size(450e9)}, want: read.Host, err: &OverrideError{449e9, 450e9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.in
			got, said, err := Apply(c.in, c.o)
			if diff := cmp.Diff(c.want, got.Host); diff != "" {
				t.Errorf("host (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.in); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
}
