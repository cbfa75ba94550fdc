package machine

import (
	"slices"

	"github.com/sglplan/sglplan/planner/units"
)

// WithoutServers returns the machine as it would be if no SGLang server ran on
// it: what their ranks hold of the GPUs counts as free. It is for comparing a
// running server with the plan of its own launch.
func WithoutServers(m Machine, r Running) Machine {
	servers := map[int]bool{}
	for _, p := range r.Procs {
		servers[p.PID] = p.IsSGLang()
	}
	m.GPUs = slices.Clone(m.GPUs)
	for i := range m.GPUs {
		g := &m.GPUs[i]
		var held units.Bytes
		g.Processes = slices.DeleteFunc(slices.Clone(g.Processes), func(p Process) bool {
			if servers[p.PID] && p.Bytes != nil {
				held += *p.Bytes
			}
			return servers[p.PID]
		})
		if held > 0 && g.FreeBytes != nil {
			free := *g.FreeBytes + held
			g.FreeBytes = &free
		}
		if held > 0 && g.UsedBytes != nil {
			used := max(0, *g.UsedBytes-held)
			g.UsedBytes = &used
		}
	}
	return m
}
