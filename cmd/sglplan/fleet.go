package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/preflight"
)

// Bounds on a fleet: of one line, and of the lines.
const (
	maxFleetLine = 8 << 20
	maxFleet     = 1 << 20
)

// fleetLine is what is printed for one machine.
type fleetLine struct {
	planner.FitResult
	Line  int    `json:"line"` // of the file, counted from 1
	Error string `json:"error,omitempty"`
}

// fleet is the machines of a file with the lines they stand on.
type fleet struct {
	machines []machine.Machine
	lines    []int
	broken   []fleetLine
}

// checkFleet judges one launch on every machine of --machines and prints one
// JSON object a line, the roomiest machine first; lines that are no machine
// come last. It succeeds when the launch fits at least one.
func checkFleet(cmd *cobra.Command, o *planOptions, args []string) error {
	if len(o.machineFiles) > 0 || o.GPUs != "" {
		return errors.New("--machines takes the place of --machine and --gpus")
	}
	if err := o.complete(cmd); err != nil {
		return err
	}
	cmds, err := o.launches(cmd, args)
	if err != nil {
		return err
	}
	if len(cmds) != 1 {
		return fmt.Errorf("--machines judges one launch; %d were given", len(cmds))
	}
	fl, err := o.readFleet(cmd)
	if err != nil {
		return err
	}
	o.Machines = fl.machines[:1] // nothing of this host is read
	reqs, err := preflight.Requests(cmd.Context(), cmds, o.Options)
	if err != nil {
		return err
	}
	for i, m := range fl.machines {
		if fl.machines[i], _, err = machine.Apply(m, machine.Overrides{HostRAM: o.HostRAM, HostAvailable: o.HostAvailable}); err != nil {
			return err
		}
	}
	return fl.print(cmd.OutOrStdout(), planner.Fit(reqs[0], fl.machines))
}

func (o *planOptions) readFleet(cmd *cobra.Command) (*fleet, error) {
	in, err := openInput(cmd, o.fleet)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	fl := &fleet{}
	if err := fl.read(in); err != nil {
		return nil, &preflight.InputError{What: "machines file", Name: o.fleet, Err: err}
	}
	if len(fl.machines) == 0 {
		why := errors.New("no machine in it")
		if len(fl.broken) > 0 {
			why = fmt.Errorf("line %d: %s", fl.broken[0].Line, fl.broken[0].Error)
		}
		return nil, &preflight.InputError{What: "machines file", Name: o.fleet, Err: why}
	}
	return fl, nil
}

// read takes one machine a line; empty lines are passed over.
func (f *fleet) read(in io.Reader) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxFleetLine)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if len(f.machines) == maxFleet {
			return fmt.Errorf("more than %d machines", maxFleet)
		}
		m, _, err := machine.Read(bytes.NewReader(s.Bytes()))
		if err != nil {
			f.broken = append(f.broken, fleetLine{FitResult: planner.FitResult{Index: n - 1, Verdict: planner.Undecided}, Line: n, Error: err.Error()})
			continue
		}
		f.machines, f.lines = append(f.machines, m), append(f.lines, n)
	}
	return s.Err()
}

// print writes the results, the best first, and returns the exit status: that
// of the best.
func (f *fleet) print(w io.Writer, results []planner.FitResult) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, r := range results {
		line := f.lines[r.Index]
		r.Index = line - 1
		if err := enc.Encode(fleetLine{FitResult: r, Line: line}); err != nil {
			return err
		}
	}
	for _, b := range f.broken {
		if err := enc.Encode(b); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return verdictStatus(results[0].Verdict)
}
