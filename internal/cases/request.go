package cases

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Known says how much of what a log says a request is given.
type Known int

// What is known. Each adds to the one before.
const (
	Nothing Known = iota // the command and the machine before the start
	Begin                // what was free on the card when loading began
	Loaded               // what loading took
)

// Request returns the case as a launch to judge.
func (c Case) Request(known Known) (planner.Request, error) {
	r, err := c.request(known)
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.ID, err)
	}
	return r, nil
}

func (c Case) request(known Known) (r planner.Request, err error) {
	if r.Model, err = c.config(); err != nil {
		return r, err
	}
	if c.Draft != "" {
		if r.Draft, err = named(c.Draft); err != nil {
			return r, err
		}
	}
	if r.Launch, err = launch.FromArgv(c.Argv); err != nil {
		return r, err
	}
	m, err := c.machine()
	if err != nil {
		return r, err
	}
	r.Machines, r.Remote = []machine.Machine{m}, true
	if c.Release != "" {
		if r.Release, err = release.Parse(c.Release); err != nil {
			return r, err
		}
	}
	if known >= Begin && c.Observed.LoadBegin > 0 {
		free := units.FromGiB(c.Observed.LoadBegin)
		r.GPUFree = &free
		if known >= Loaded && c.Observed.LoadEnd > 0 {
			w := free - units.FromGiB(c.Observed.LoadEnd)
			r.GPUWeights = &w
		}
	}
	return r, nil
}

func (c Case) config() (*model.Config, error) {
	if c.ConfigJSON != nil {
		return model.ParseConfig(bytes.NewReader(c.ConfigJSON))
	}
	return named(c.Config)
}

// named finds a model among those that belong to the cases alone and in the
// public catalogue.
func named(name string) (*model.Config, error) {
	m, err := configs()
	if err != nil {
		return nil, err
	}
	if b, ok := m[name]; ok {
		return model.ParseConfig(bytes.NewReader(b))
	}
	return catalogue.Load(strings.Replace(name, "__", "/", 1))
}

func (c Case) machine() (machine.Machine, error) {
	gpus, _, err := machine.ParseGPUs(fmt.Sprintf("%dx%dMiB", c.GPUs, c.GPUMiB))
	if err != nil {
		return machine.Machine{}, err
	}
	ram := units.FromGiB(c.HostRAMGiB)
	if ram == 0 {
		ram = 4 * units.TiB // not recorded: the host is not what such a case asks about
	}
	o := machine.Overrides{HostRAM: &ram}
	if r := c.Reading; r != nil {
		for i := range gpus {
			free := r.GPUTotal - r.GPUReserved - r.GPUUsed
			gpus[i].TotalBytes, gpus[i].ReservedBytes, gpus[i].UsedBytes, gpus[i].FreeBytes = &r.GPUTotal, &r.GPUReserved, &r.GPUUsed, &free
		}
		o.HostRAM, o.HostAvailable = &r.HostTotal, &r.HostAvailable
	}
	if c.HostLimitGiB > 0 {
		limit := units.FromGiB(c.HostLimitGiB)
		o.HostAvailable = &limit
	}
	m, _, err := machine.Apply(machine.Machine{GPUs: gpus}, o)
	return m, err
}
