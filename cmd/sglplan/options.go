package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

// sizeFlag is an option that takes a size with its unit.
type sizeFlag struct{ p **units.Bytes }

func (f sizeFlag) String() string {
	if f.p == nil || *f.p == nil {
		return ""
	}
	return (*f.p).String()
}

func (f sizeFlag) Set(s string) error {
	b, err := units.Parse(s)
	if err != nil {
		return err
	}
	if b < units.MiB {
		return fmt.Errorf("%d bytes; write the unit, for example 94.04GiB or 449GB", int64(b))
	}
	*f.p = &b
	return nil
}

func (sizeFlag) Type() string { return "SIZE" }

// planOptions are the options that the planning verbs share.
type planOptions struct {
	preflight.Options
	machineFiles []string
	calibrate    string
	ignore       []string
	output       string
	script       string
	files        []string
	fleet        string
	formats      []string
}

// bind adds the shared options to a verb that can print the formats given.
func (o *planOptions) bind(cmd *cobra.Command, formats ...string) {
	o.formats = formats
	f := cmd.Flags()
	f.SortFlags = false
	o.bindMachine(cmd)
	f.Var(sizeFlag{&o.GPUFree}, "gpu-free", "free on each GPU when loading begins, e.g. 94.04GiB")
	f.Var(sizeFlag{&o.GPUWeights}, "gpu-weights", "what loading takes on each GPU, e.g. 72.33GiB")
	f.Var(sizeFlag{&o.HostRAM}, "host-ram", "total host memory, e.g. 449GB")
	f.Var(sizeFlag{&o.HostAvailable}, "host-available", "available host memory before the launch, e.g. 445GB")
	f.StringVar(&o.Model, "model", "", "folder `DIR` of the model's files, or a public id of the built-in catalogue")
	o.bindHub(cmd)
	f.StringVar(&o.SGLang, "sglang", "", "SGLang `VERSION` that will run (default: installed, image's, newest)")
	f.StringVar(&o.calibrate, "calibrate", "", "log of an earlier start, or what verify --write wrote, in `FILE`")
	f.Int64Var(&o.TokensPerRequest, "tokens-per-request", 0, "say how many requests of `N` tokens fit at once")
	f.StringArrayVar(&o.ignore, "ignore", nil, "print the finding `CODE` as a warning, do not reject (repeatable)")
	f.StringVar(&o.script, "script", "", "read the launch from the shell script `FILE`")
	f.StringArrayVarP(&o.files, "file", "f", nil, "launches of a Compose, Kubernetes, systemd or Slurm `FILE`, or -")
	f.StringVarP(&o.output, "output", "o", formats[0], "output `FORMAT`: "+strings.Join(formats, ", "))
}

// bindHub adds the option that allows the network.
func (o *planOptions) bindHub(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Hub, "hub", false, "read a model that is not here from the Hugging Face Hub")
}

// bindMachine adds the options that say which machine is meant.
func (o *planOptions) bindMachine(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.machineFiles, "machine", nil, "JSON of sglplan machine in `FILE` or -; once per node, by node rank")
	f.StringVar(&o.GPUs, "gpus", "", "these `CARDS` instead of a machine's: 8xRTX-PRO-6000-Blackwell, 8x97887MiB")
}

// complete checks the options and reads the files they name.
func (o *planOptions) complete(cmd *cobra.Command) error {
	if err := noEmptyValues(cmd); err != nil {
		return err
	}
	if !slices.Contains(o.formats, o.output) {
		return fmt.Errorf("--output %q: this verb prints %s", o.output, strings.Join(o.formats, ", "))
	}
	if o.TokensPerRequest < 0 {
		return errors.New("--tokens-per-request must not be negative")
	}
	for _, code := range o.ignore {
		if _, ok := finding.Explain(finding.Code(code)); !ok {
			return fmt.Errorf("--ignore %s: no finding has that code%s (sglplan explain lists them)", code, resembling(code))
		}
		o.Ignore = append(o.Ignore, finding.Code(code))
	}
	if err := o.readMachines(cmd); err != nil {
		return err
	}
	if o.calibrate != "" {
		c, err := readCalibration(o.calibrate)
		if err != nil {
			return err
		}
		o.Calibration = c
	}
	return nil
}

func (o *planOptions) readMachines(cmd *cobra.Command) error {
	for _, name := range o.machineFiles {
		in, err := openInput(cmd, name)
		if err != nil {
			return err
		}
		m, notes, err := machine.Read(in)
		in.Close()
		if err != nil {
			return &preflight.InputError{What: "machine file", Name: name, Err: err}
		}
		for _, n := range notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "sglplan: %s: %s\n", name, n.Detail)
		}
		o.Machines = append(o.Machines, m)
	}
	return nil
}

// launches reads the launches of the command line, of --script and of every
// --file.
func (o *planOptions) launches(cmd *cobra.Command, args []string) ([]*launch.Command, error) {
	if o.script == "" && len(o.files) == 0 {
		f, err := launch.Lines(launch.Words(args))
		return withFindings(f), err
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("a launch command and --script or --file exclude each other (got %q)", args[0])
	}
	var all launch.File
	names := append(slices.Clip(nonEmpty(o.script)), o.files...)
	for _, name := range names {
		in, err := openInput(cmd, name)
		if err != nil {
			return nil, err
		}
		f, err := launch.Read(name, in)
		in.Close()
		if err != nil {
			return nil, err
		}
		all.Commands = append(all.Commands, withFindings(f)...)
		if len(f.Commands) == 0 {
			all.Findings = append(all.Findings, f.Findings...)
		}
	}
	if len(all.Commands) == 0 {
		for _, f := range all.Findings {
			fmt.Fprintf(cmd.ErrOrStderr(), "sglplan: %s\n", inFile(f))
		}
		return nil, fmt.Errorf("no SGLang launch found in %s", strings.Join(names, ", "))
	}
	return withFindings(all), nil
}

// withFindings gives what is said about a file as a whole to its first launch.
func withFindings(f launch.File) []*launch.Command {
	if len(f.Commands) > 0 {
		f.Commands[0].Findings = append(slices.Clip(f.Findings), f.Commands[0].Findings...)
	}
	return f.Commands
}

// inFile words a finding about a file without a launch.
func inFile(f finding.Finding) string {
	if p := f.Position; p != nil && p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, f.Detail)
	}
	return f.Detail
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// openInput opens a file, or standard input for "-".
func openInput(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable("file", name, err)
	}
	return f, nil
}

// unreadable words what the system says about a file that an option names.
func unreadable(what, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &preflight.InputError{What: what, Name: name, Err: err}
}
