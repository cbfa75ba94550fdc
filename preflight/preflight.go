// Package preflight does the main job in one call: it reads this machine (or
// takes one that is given), finds the model's files and the SGLang release,
// and asks package planner whether the launch fits.
//
// Import it to check a launch from a Go program:
//
//	plan, err := preflight.Check(ctx, argv, preflight.Options{})
//
// An error means that the input could not be read; everything about the launch
// itself is in the plan.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Options say where things come from. The zero value reads this machine, its
// Python environment and its model cache; sizes that are nil are read or
// estimated.
type Options struct {
	Machines      []machine.Machine    // hosts in node-rank order, instead of this one
	GPUs          string               // cards from the catalogue, "8xH200", instead of a machine's
	GPUFree       *units.Bytes         // free on each GPU when loading begins
	GPUWeights    *units.Bytes         // what loading takes on each GPU, from its begin to the pools
	HostRAM       *units.Bytes         // total host memory
	HostAvailable *units.Bytes         // available host memory before the launch
	Model         string               // folder or public id of the model's files
	Hub           bool                 // read a model that is not here from the Hugging Face Hub, over the network
	SGLang        string               // release, "0.5.9"; "" finds it
	Calibration   *planner.Calibration // measurements of an earlier start
	// Running says that the launch is running on this machine already: what
	// SGLang servers hold of its GPUs counts as free.
	Running bool
	// TokensPerRequest is the size of a request, prompt and answer, for which
	// the plan says how many fit at once; 0 leaves that out.
	TokensPerRequest int64
	Ignore           []finding.Code    // errors of these codes become warnings that are still there
	Env              map[string]string // of the launch; nil takes this process's
}

// Check judges one launch, given as the words of its command. It reads what
// Options leave open and takes milliseconds where that is all on this machine.
//
// The errors are a *launch.NotLaunchError for words that launch no SGLang, an
// *InputError for a model folder that cannot be read, a *release.SyntaxError, a
// *machine.SpecError, a *machine.OverrideError or a *RangeError for Options
// that make no sense, and what hub.New returns where Options.Hub asks for the
// Hub. A launch that cannot fit is no error: its plan has the verdict
// planner.Reject.
func Check(ctx context.Context, argv []string, o Options) (*planner.Plan, error) {
	return plan(ctx, argv, o, planner.Check)
}

// Recommend judges one launch with safe, best values filled in, as
// planner.Recommend does. Its errors are those of Check.
func Recommend(ctx context.Context, argv []string, o Options) (*planner.Plan, error) {
	return plan(ctx, argv, o, planner.Recommend)
}

func plan(ctx context.Context, argv []string, o Options, judge func(planner.Request) *planner.Plan) (*planner.Plan, error) {
	cmd, err := launch.FromArgv(argv)
	if err != nil {
		return nil, err
	}
	reqs, err := Requests(ctx, []*launch.Command{cmd}, o)
	if err != nil {
		return nil, err
	}
	return judge(reqs[0]), nil
}

// Requests gathers what the planner needs for each launch, in their order, for
// programs that ask more than one question or read their launches from files.
// The machine is read once. Its errors are those of Check.
func Requests(ctx context.Context, cmds []*launch.Command, o Options) ([]planner.Request, error) {
	env := o.Env
	if env == nil {
		env = environ()
	}
	machines, found, err := o.machines(ctx, env)
	if err != nil {
		return nil, err
	}
	reqs := make([]planner.Request, len(cmds))
	for i, cmd := range cmds {
		r := planner.Request{
			Launch: cmd, Machines: machines, GPUFree: o.GPUFree, GPUWeights: o.GPUWeights,
			Calibration: o.Calibration, TokensPerRequest: o.TokensPerRequest, Ignore: o.Ignore,
			Env: env, ReadFile: os.ReadFile, Findings: found,
			Remote: o.GPUs != "" || len(o.Machines) > 0,
		}
		if r.Release, err = o.release(cmd, env); err != nil {
			return nil, err
		}
		if err := o.findModels(ctx, &r); err != nil {
			return nil, err
		}
		reqs[i] = r
	}
	return reqs, nil
}

// release takes --sglang, else what is installed where the command would run;
// a container has an environment of its own, so its image decides there.
func (o Options) release(cmd *launch.Command, env map[string]string) (release.Release, error) {
	if o.SGLang != "" {
		return release.Parse(o.SGLang)
	}
	if c := cmd.Container; c != nil && !c.HostFiles {
		return release.Release{}, nil
	}
	r, _ := installedRelease(cmd, env)
	return r, nil
}

// machines returns the hosts to plan for.
func (o Options) machines(ctx context.Context, env map[string]string) ([]machine.Machine, []finding.Finding, error) {
	var found []finding.Finding
	ms := o.Machines
	switch {
	case o.GPUs != "":
		gpus, fs, err := machine.ParseGPUs(o.GPUs)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, fs...)
		// The cards are of another machine, so this host's memory is not theirs.
		base := machine.Machine{}
		if len(ms) > 0 {
			base = ms[0]
		}
		base.GPUs = gpus
		ms = []machine.Machine{base}
	case len(ms) == 0:
		here := Machine(ctx, env)
		if o.Running {
			here = machine.WithoutServers(here, running(here))
		} else {
			found = append(found, leftovers(here)...)
		}
		ms = []machine.Machine{here}
	}
	out := make([]machine.Machine, len(ms))
	for i, m := range ms {
		m, fs, err := machine.Apply(m, machine.Overrides{HostRAM: o.HostRAM, HostAvailable: o.HostAvailable})
		if err != nil {
			return nil, nil, err
		}
		out[i], found = m, append(found, fs...)
	}
	return out, found, o.sane(out)
}

func environ() map[string]string {
	env := make(map[string]string)
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}

// An InputError reports an input of sglplan's own that cannot be read.
type InputError struct {
	What string // "machine file", "calibration"
	Name string
	Err  error
}

func (e *InputError) Error() string { return fmt.Sprintf("%s %s: %v", e.What, e.Name, e.Err) }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

var errNoModel = errors.New("the command names no model")
