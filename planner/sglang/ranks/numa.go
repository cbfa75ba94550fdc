package ranks

import (
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// BindsMemory reports whether a release binds the memory of each rank hard to
// a NUMA node, on a host with several: to the one that --numa-node names
// (0.5.6 on), by itself to that of its GPU from 0.5.10. env is the launch's
// environment; from 0.5.18 it can switch the second off.
func BindsMemory(r release.Release, a *args.Args, env map[string]string) bool {
	if off(env["SGLANG_NUMA_BIND_V2"]) {
		return false
	}
	if a.Has("numa_node") {
		return r.AtLeast("0.5.6")
	}
	if r.AtLeast("0.5.18") && off(env["SGLANG_AUTO_NUMA_BIND"]) {
		return false
	}
	return r.AtLeast("0.5.10")
}

func off(v string) bool { return v == "0" || v == "false" }
