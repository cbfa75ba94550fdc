package hostmem

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sglplan/sglplan/planner/units"
)

// FuzzCgroup feeds hostile kernel files: no panic, no negative room, no figure
// above the limit it comes from.
func FuzzCgroup(f *testing.F) {
	f.Add("32 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "0::/a/b", "1000", "900", "inactive_file 10\nactive_file 20\nfile_dirty 5")
	f.Add("35 31 0:32 /x /sys/fs/cgroup rw - cgroup cgroup rw,memory", "4:memory:/x/a", "max", "18446744073709551615", "hierarchical_memory_limit 5")
	f.Add("1 2 3 /../.. /sys/fs/cgroup rw - cgroup2 c rw", "0::/../../..", "-1", "", "")
	f.Fuzz(func(t *testing.T, mounts, member, limit, usage, stat string) {
		root := t.TempDir()
		write := func(name, text string) {
			p := filepath.Join(root, name)
			if os.MkdirAll(filepath.Dir(p), 0o755) != nil || os.WriteFile(p, []byte(text), 0o644) != nil {
				t.Fatal(name)
			}
		}
		write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 800 kB")
		write("proc/self/mountinfo", mounts)
		write("proc/self/cgroup", member)
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			write("sys/fs/cgroup/"+name, limit)
		}
		for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
			write("sys/fs/cgroup/"+name, usage)
		}
		write("sys/fs/cgroup/memory.stat", stat)
		write("sys/fs/cgroup/cgroup.controllers", "memory")
		h, _, err := New(root).Host(context.Background())
		if err != nil {
			t.Fatal(err) // meminfo is sound
		}
		if h.AvailableBytes == nil || *h.AvailableBytes < 0 || *h.AvailableBytes > 800<<10 {
			t.Errorf("available %v", h.AvailableBytes)
		}
		for _, g := range h.Cgroups {
			if g.LimitBytes < 0 {
				t.Errorf("limit %v", g.LimitBytes)
			}
		}
	})
}

// FuzzLists feeds the readers of small texts.
func FuzzLists(f *testing.F) {
	f.Add("0-3,8\n", "65536k")
	f.Add("0-4294967295,99999999999999999999", "150%")
	f.Fuzz(func(t *testing.T, list, size string) {
		if n := len(parseList(list)); n > 1<<16+1 {
			t.Errorf("%d numbers", n)
		}
		if v := tmpfsSize(size, ptr(units.TiB)); v != nil && *v < 0 {
			t.Errorf("size %v", *v)
		}
		parseKeyed(list)
		parseKB(size)
	})
}
