package planner

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// readMachine takes the host that decides and lays the limits of the launch's
// own container over it: the smallest of all limits counts.
func (j *job) readMachine() {
	if len(j.req.Machines) > 0 {
		j.machine = j.req.Machines[0]
	}
	if c := j.req.Launch.Container; c != nil {
		j.checkGranted(c)
		j.machine = within(j.machine, c)
	}
	// The variable counts among what the container sees.
	j.machine.GPUs = visible(j.machine.GPUs, j.req.Launch)
	for _, g := range j.machine.GPUs {
		c := g.Card()
		if j.card.TotalMiB == 0 || c.TotalMiB > 0 && c.TotalMiB < j.card.TotalMiB {
			j.card = c
		}
	}
	if len(j.machine.GPUs) == 0 {
		j.add(finding.New(CodeGPUsUnknown, finding.Warning, "",
			"No GPU is known for this launch, so nothing can be said about its GPU memory.").
			With("run the check on the GPU machine, or describe it with --gpus (for example --gpus 8xH200) or --machine FILE"))
	}
	if j.machine.Host == nil || j.machine.Host.AvailableBytes == nil {
		j.add(finding.New(CodeHostUnknown, finding.Info, "",
			"Nothing is known about the host's memory, so host pools and processes were not judged.").
			With("give --host-ram and --host-available"))
	}
}

// checkGranted compares the GPUs that a container asks for with those of the
// machine. A scheduler never places the container then.
func (j *job) checkGranted(c *launch.Container) {
	have := len(j.machine.GPUs)
	if c.GPUs == nil || have == 0 || *c.GPUs <= have {
		return
	}
	sev := finding.Warning
	if c.Exclusive {
		sev = finding.Error
	}
	j.add(finding.New(CodeGPUsGranted, sev, "", fmt.Sprintf("The container asks for %d GPUs; the machine has %d.", *c.GPUs, have)))
}

// visible keeps the GPUs that the command's own CUDA_VISIBLE_DEVICES names, in
// CUDA's order. A variable that the shell would expand is not known.
func visible(gpus []machine.GPU, c *launch.Command) []machine.GPU {
	list, set := c.Env["CUDA_VISIBLE_DEVICES"]
	if !set || strings.Contains(list, "$") {
		return gpus
	}
	seen, _ := machine.Visible(gpus, &list, c.Env["CUDA_DEVICE_ORDER"])
	return seen
}

// within bounds a machine by what a container is granted.
func within(m machine.Machine, c *launch.Container) machine.Machine {
	if c.GPUs != nil && *c.GPUs >= 0 && *c.GPUs < len(m.GPUs) {
		m.GPUs = m.GPUs[:*c.GPUs]
	}
	if len(c.GPUDevices) > 0 {
		list := strings.Join(c.GPUDevices, ",")
		m.GPUs, _ = machine.Visible(m.GPUs, &list, "PCI_BUS_ID")
	}
	var h machine.Host
	if m.Host != nil {
		h = *m.Host
	}
	if c.SHMBytes != nil {
		h.SHMBytes = c.SHMBytes
	}
	if c.Memlock != nil {
		h.MemlockBytes = nil
		if n := units.Bytes(*c.Memlock); n >= 0 {
			h.MemlockBytes = &n
		}
	}
	if c.MemoryBytes != nil && (h.AvailableBytes == nil || *c.MemoryBytes < *h.AvailableBytes) {
		h.AvailableBytes, h.LimitBytes, h.Limit = c.MemoryBytes, c.MemoryBytes, machine.LimitFile
	}
	if h.AvailableBytes != nil || m.Host != nil {
		m.Host = &h
	}
	return m
}

// tightest returns the GPU with the least free memory among those that the
// ranks of this host take, and a finding where they differ much.
func (j *job) tightest() (*machine.GPU, []finding.Finding) {
	var least, most *machine.GPU
	for _, i := range j.layout.GPUs() {
		if i >= len(j.machine.GPUs) {
			continue
		}
		g := &j.machine.GPUs[i]
		if g.FreeBytes == nil {
			continue
		}
		if least == nil || *g.FreeBytes < *least.FreeBytes {
			least = g
		}
		if most == nil || *g.FreeBytes > *most.FreeBytes {
			most = g
		}
	}
	if least == nil && len(j.machine.GPUs) > 0 {
		least = &j.machine.GPUs[0]
	}
	if least == nil || most == nil || !uneven(*least.FreeBytes, *most.FreeBytes) {
		return least, nil
	}
	f := finding.New(CodeUnevenGPUs, finding.Warning, "", fmt.Sprintf(
		"GPU %d has %v free, GPU %d has %v; every rank is sized by the smaller figure.%s",
		least.Index, *least.FreeBytes, most.Index, *most.FreeBytes, holders(least)))
	return least, []finding.Finding{f}
}

// uneven reports GPUs of which the fullest has clearly less free than the
// emptiest.
func uneven(least, most units.Bytes) bool { return float64(least) < float64(most)*0.98 }

// holders names the processes that hold memory on a GPU.
func holders(g *machine.GPU) string {
	var parts []string
	for _, p := range g.Processes {
		if p.Bytes == nil {
			continue
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("pid %d %s %v", p.PID, p.Name, *p.Bytes)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Held by " + strings.Join(parts, ", ") + "."
}
