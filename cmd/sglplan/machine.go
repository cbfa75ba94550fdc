package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

// probeTime bounds the reading of this machine: a hung driver must not hang
// the command.
const probeTime = 20 * time.Second

// machineReport is what `sglplan machine -o json` prints: the machine, and what
// earlier launches left on it.
type machineReport struct {
	machine.Machine
	Findings []finding.Finding `json:"findings,omitempty"`
}

func newMachineCmd() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "machine",
		Short: "What this machine has; JSON that every other verb accepts back",
		Long: `machine reads the GPUs (NVML) and the memory that a launch from here would
find: the smallest of what the kernel has available and what every cgroup above
this process leaves. It also says what earlier launches still hold. Nothing is
changed, stopped or removed.`,
		Example: "  sglplan machine\n  ssh gpu-host sglplan machine -o json | sglplan check --machine - -- python3 -m sglang.launch_server ...",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.runMachine(cmd) },
	}
	o.formats = []string{"text", "json"}
	o.bindMachine(c)
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(o.formats, ", "))
	return c
}

func (o *planOptions) runMachine(cmd *cobra.Command) error {
	if err := o.complete(cmd); err != nil {
		return err
	}
	reports, err := o.machineReports(cmd.Context())
	if err != nil {
		return err
	}
	for i, r := range reports {
		if o.output == "json" {
			err = writeMachineJSON(cmd.OutOrStdout(), r)
		} else {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			err = writeMachineText(cmd.OutOrStdout(), r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// machineReports reads this machine, or takes the ones that options describe.
func (o *planOptions) machineReports(ctx context.Context) ([]machineReport, error) {
	switch {
	case o.GPUs != "":
		gpus, said, err := machine.ParseGPUs(o.GPUs)
		if err != nil {
			return nil, err
		}
		return []machineReport{{machine.Machine{Schema: machine.Schema, GPUs: gpus}, said}}, nil
	case len(o.Machines) > 0:
		var reports []machineReport
		for _, m := range o.Machines {
			reports = append(reports, machineReport{Machine: m})
		}
		return reports, nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	m := preflight.Machine(ctx, environment())
	return []machineReport{{m, machine.Leftovers(m, hostmem.New("/").Running(holders(m)...))}}, nil
}

// environment is this process's environment as a map.
func environment() map[string]string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// holders are the processes that NVML lists.
func holders(m machine.Machine) []int {
	var pids []int
	for _, g := range m.GPUs {
		for _, p := range g.Processes {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func writeMachineJSON(w io.Writer, r machineReport) error {
	if r.GPUs == nil {
		r.GPUs = []machine.GPU{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// writeMachineText prints a table for people: what nvidia-smi and free would
// say, and which limit binds.
func writeMachineText(w io.Writer, r machineReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.GPUs) == 0 {
		fmt.Fprintln(t, "no GPU can be seen")
	} else {
		fmt.Fprintln(t, "GPU\tNAME\tCLASS\tTOTAL\tUSED\tFREE\tNUMA\tPROCESSES")
	}
	for _, g := range r.GPUs {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Index, cmp.Or(g.Name, "?"), cmp.Or(g.ComputeCapability, "?"),
			mib(g.TotalBytes), mib(g.UsedBytes), mib(g.FreeBytes), numaNode(g), processList(g))
	}
	if r.Driver != "" {
		fmt.Fprintf(t, "driver %s, CUDA %s\n", r.Driver, cmp.Or(r.CUDA, "?"))
	}
	if r.Host != nil {
		fmt.Fprintln(t)
		hostRows(t, r.Host)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s: %s [%s]\n", f.Severity, f.Summary, f.Detail, f.Code)
	}
	return nil
}

func hostRows(w io.Writer, h *machine.Host) {
	row := func(name, value, remark string) { fmt.Fprintf(w, "%s\t%s\t%s\n", name, value, remark) }
	row("host memory", gb(h.TotalBytes), "")
	row("available", gb(h.AvailableBytes), limitRemark(h))
	for _, n := range h.NUMA {
		if len(h.NUMA) > 1 {
			row(fmt.Sprintf("  NUMA node %d", n.Node), gb(n.TotalBytes), "available "+gb(n.AvailableBytes))
		}
	}
	row("/dev/shm", gb(h.SHMBytes), "")
	if h.MemlockBytes != nil {
		row("memlock", gb(h.MemlockBytes), "RLIMIT_MEMLOCK")
	}
	if h.HugepagesBytes != nil && *h.HugepagesBytes > 0 {
		row("huge pages", gb(h.HugepagesBytes), "reserved, not available to others; free "+gb(h.HugepagesFreeBytes))
	}
	if h.CommitLeftBytes != nil {
		row("may be committed", gb(h.CommitLeftBytes), "vm.overcommit_memory=2")
	}
}

// limitRemark says where the available memory comes from.
func limitRemark(h *machine.Host) string {
	switch {
	case h.Limit == machine.LimitCgroup && h.LimitBytes != nil:
		return fmt.Sprintf("cgroup limit %s (the host itself has %s)", gb(h.LimitBytes), gb(h.MemAvailableBytes))
	case h.Limit != "":
		return string(h.Limit)
	}
	return ""
}

// mib prints whole MiB, rounded up as nvidia-smi does.
func mib(b *units.Bytes) string {
	if b == nil {
		return "?"
	}
	return fmt.Sprintf("%d MiB", int64((*b+units.MiB-1)/units.MiB))
}

// gb prints both units, since --hicache-size is decimal and GPUs are not.
func gb(b *units.Bytes) string {
	switch {
	case b == nil:
		return "?"
	case *b < units.GB:
		return b.String()
	}
	return fmt.Sprintf("%.1f GB (%.1f GiB)", b.GB(), b.GiB())
}

func numaNode(g machine.GPU) string {
	if g.NUMANode == nil {
		return "-"
	}
	return fmt.Sprint(*g.NUMANode)
}

// processList names the processes on a card.
func processList(g machine.GPU) string {
	const most = 3
	var names []string
	for i, p := range g.Processes {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(g.Processes)-most))
			break
		}
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s %s", p.PID, p.Name, mib(p.Bytes))))
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}
