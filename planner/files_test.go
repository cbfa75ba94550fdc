package planner

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/units"
)

var updateFiles = flag.Bool("update-files", false, "write the expected findings of launch files anew")

// foundingMachine is the host that the founding launch took down.
func foundingMachine(t testing.TB) machine.Machine {
	gpus, _, err := machine.ParseGPUs("8xRTX-PRO-6000-Blackwell")
	require.NoError(t, err)
	total, available, free := 449*units.GB, 445*units.GB, units.FromGiB(94.9)
	for i := range gpus {
		gpus[i].FreeBytes = &free
	}
	return machine.Machine{GPUs: gpus, Host: &machine.Host{TotalBytes: &total, AvailableBytes: &available}}
}

// checkFile judges every launch of a file on the machine of the founding
// launch.
func checkFile(t *testing.T, name string) []*Plan {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := launch.Read(filepath.Base(name), bytes.NewReader(b))
	require.NoError(t, err)
	var reqs []Request
	var plans []*Plan
	for _, c := range f.Commands {
		r := Request{Launch: c, Machines: []machine.Machine{foundingMachine(t)}, Remote: true}
		if path := r.Models().Target; path != "" {
			r.Model, r.ModelError = catalogue.Load(path)
		}
		reqs, plans = append(reqs, r), append(plans, Check(r))
	}
	ShareHost(plans, reqs)
	return plans
}

type checkedLaunch struct {
	Line      int            `json:"line"`
	Container string         `json:"container,omitempty"`
	Verdict   Verdict        `json:"verdict"`
	Errors    []finding.Code `json:"errors,omitempty"`
	Warnings  []finding.Code `json:"warnings,omitempty"`
}

func codesOfSeverity(p *Plan, sev finding.Severity) []finding.Code {
	var out []finding.Code
	for _, f := range p.Findings {
		if f.Severity == sev && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	slices.Sort(out)
	return out
}

// TestLaunchFiles compares the findings about every launch file with those
// that stand beside it.
func TestLaunchFiles(t *testing.T) {
	names, err := filepath.Glob("launch/testdata/files/*")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".golden.json") || strings.HasSuffix(name, ".check.json") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := []checkedLaunch{}
			for _, p := range checkFile(t, name) {
				got = append(got, checkedLaunch{p.Source.Line, p.Source.Container, p.Verdict, codesOfSeverity(p, finding.Error), codesOfSeverity(p, finding.Warning)})
			}
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetIndent("", "  ")
			require.NoError(t, enc.Encode(got))
			beside := name + ".check.json"
			if *updateFiles {
				require.NoError(t, os.WriteFile(beside, out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(beside)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), out.String()))
		})
	}
}

// TestFoundingMistakeInEveryFormat: 300 GB of host cache a rank is found
// wherever the launch is written.
func TestFoundingMistakeInEveryFormat(t *testing.T) {
	for _, name := range []string{
		"scripts/03-array.sh", "scripts/21-docker.sh", "files/01-compose-founding.yaml", "files/10-pod-founding.yaml",
		"files/11-deployment.yaml", "files/15-lws-one-template.yaml", "files/30-sglang.service", "files/40-job.sbatch",
		"files/50-server.log", "files/51-server-dict.log",
	} {
		plans := checkFile(t, filepath.Join("launch/testdata", name))
		require.NotEmpty(t, plans, name)
		require.Equal(t, Reject, plans[0].Verdict, name)
		require.Contains(t, codesOfSeverity(plans[0], finding.Error), hostledger.CodePoolsExceed, name)
	}
}
