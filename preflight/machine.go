package preflight

import (
	"context"
	"errors"
	"slices"

	"github.com/sglplan/sglplan/gpu"
	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// Machine reads this machine: its GPUs through NVML, as the visible-device
// variables of env leave them, and its host memory. What cannot be read is
// left out and said in the notes.
func Machine(ctx context.Context, env map[string]string) machine.Machine {
	m, err := gpu.Read(ctx, gpu.WithEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok }))
	m.Schema = machine.Schema
	if err != nil {
		m.Notes = append(m.Notes, messages(err)...)
	}
	host, notes, err := hostmem.New("/").Host(ctx)
	m.Notes = append(m.Notes, notes...)
	if err != nil {
		m.Notes = append(m.Notes, messages(err)...)
	}
	if host.AvailableBytes != nil || host.TotalBytes != nil {
		m.Host = &host
	}
	return m
}

// leftovers says what earlier launches still hold. The processes of the host
// are looked at only where a GPU holds memory that wants an owner, since that
// takes longer than a whole check.
func leftovers(m machine.Machine) []finding.Finding {
	busy := slices.ContainsFunc(m.GPUs, func(g machine.GPU) bool {
		return len(g.Processes) > 0 || g.UsedBytes != nil && *g.UsedBytes >= units.GiB
	})
	if !busy {
		return nil
	}
	return machine.Leftovers(m, running(m))
}

// running reads the processes that hold memory on the machine's GPUs, and
// those of SGLang servers.
func running(m machine.Machine) machine.Running {
	var pids []int
	for _, g := range m.GPUs {
		for _, p := range g.Processes {
			pids = append(pids, p.PID)
		}
	}
	return hostmem.New("/").Running(pids...)
}

// messages takes joined errors apart, one note each.
func messages(err error) []string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range joined.Unwrap() {
		out = append(out, e.Error())
	}
	return out
}
