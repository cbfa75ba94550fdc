package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/internal/render"
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
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: "+strings.Join(o.formats, ", "))
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
	var b strings.Builder
	gpuTable(&b, r.GPUs)
	if r.Driver != "" {
		fmt.Fprintf(&b, "driver %s, CUDA %s\n", r.Driver, cmp.Or(r.CUDA, "?"))
	}
	if r.Host != nil {
		b.WriteString("\n")
		hostTable(&b, r.Host)
	}
	if _, err := io.WriteString(w, render.Clean(b.String())); err != nil {
		return err
	}
	said := slices.Clone(r.Findings)
	for _, n := range r.Notes {
		said = append(said, finding.Finding{Severity: finding.Info, Detail: n})
	}
	return render.Findings(w, said, terminal(w))
}

// table aligns rows of cells in columns.
func table(w io.Writer, rows [][]string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush() // into memory
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

func gpuTable(w io.Writer, gpus []machine.GPU) {
	if len(gpus) == 0 {
		fmt.Fprintln(w, "no GPU can be seen")
		return
	}
	rows := [][]string{{"GPU", "NAME", "CC", "TOTAL MiB", "USED", "FREE", "NUMA"}}
	for _, g := range gpus {
		rows = append(rows, []string{
			strconv.Itoa(g.Index), cmp.Or(strings.TrimPrefix(g.Name, "NVIDIA "), "?"), cmp.Or(g.ComputeCapability, "?"),
			mib(g.TotalBytes), mib(g.UsedBytes), mib(g.FreeBytes), numaNode(g),
		})
	}
	table(w, rows)
	for _, g := range gpus {
		for _, p := range g.Processes {
			fmt.Fprintf(w, "  GPU %d: process %d %s holds %s MiB\n", g.Index, p.PID, cmp.Or(p.Name, "?"), mib(p.Bytes))
		}
	}
}

func hostTable(w io.Writer, h *machine.Host) {
	rows := [][]string{
		{"host memory", gb(h.TotalBytes), ""},
		{"available", gb(h.AvailableBytes), limitRemark(h)},
	}
	for _, n := range h.NUMA {
		if len(h.NUMA) > 1 {
			rows = append(rows, []string{fmt.Sprintf("NUMA node %d", n.Node), gb(n.TotalBytes), "available " + gb(n.AvailableBytes)})
		}
	}
	rows = append(rows, []string{"/dev/shm", gb(h.SHMBytes), ""})
	if h.MemlockBytes != nil {
		rows = append(rows, []string{"memlock", gb(h.MemlockBytes), "RLIMIT_MEMLOCK"})
	}
	if h.HugepagesBytes != nil && *h.HugepagesBytes > 0 {
		rows = append(rows, []string{"huge pages", gb(h.HugepagesBytes), "reserved; free " + gb(h.HugepagesFreeBytes)})
	}
	if h.CommitLeftBytes != nil {
		rows = append(rows, []string{"commit left", gb(h.CommitLeftBytes), "vm.overcommit_memory=2"})
	}
	table(w, rows)
}

// limitRemark says where the available memory comes from.
func limitRemark(h *machine.Host) string {
	switch {
	case h.Limit == machine.LimitCgroup && h.LimitBytes != nil:
		return fmt.Sprintf("cgroup limit %.1f GB", h.LimitBytes.GB())
	case h.Limit == machine.LimitCgroup:
		return "cgroup"
	case h.Limit == machine.LimitMeminfo:
		return "MemAvailable"
	}
	return ""
}

// mib prints whole MiB, rounded up as nvidia-smi does.
func mib(b *units.Bytes) string {
	if b == nil {
		return "?"
	}
	return strconv.FormatInt(int64((*b+units.MiB-1)/units.MiB), 10)
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
	return strconv.Itoa(*g.NUMANode)
}
