package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/planner/machine"
)

var updateMachine = flag.Bool("update-machine", false, "write the golden files of the machine verb")

// TestMachineText pins the table for people. Each JSON of testdata/machine has
// a golden text beside it.
func TestMachineText(t *testing.T) {
	inputs, err := filepath.Glob("testdata/machine/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no machines", err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(in), func(t *testing.T) {
			var out, stderr bytes.Buffer
			if status := run([]string{"machine", "--machine", in}, strings.NewReader(""), &out, &stderr); status != exitOK {
				t.Fatalf("exit status %d: %s", status, &stderr)
			}
			golden := strings.TrimSuffix(in, ".json") + ".txt"
			if *updateMachine {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMachineJSON: what the verb prints is what the other verbs read.
func TestMachineJSON(t *testing.T) {
	var out, stderr bytes.Buffer
	if status := run([]string{"machine", "--gpus", "2x97887MiB", "-o", "json"}, strings.NewReader(""), &out, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, &stderr)
	}
	want, _, err := machine.ParseGPUs("2x97887MiB")
	if err != nil {
		t.Fatal(err)
	}
	got, said, err := machine.Read(&out)
	if err != nil || said != nil {
		t.Fatal(err, said)
	}
	if diff := cmp.Diff(machine.Machine{Schema: machine.Schema, GPUs: want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMachineHere reads the machine that runs the test: the verb must answer
// whatever is missing, and name the host's memory.
func TestMachineHere(t *testing.T) {
	h, _, err := hostmem.New("/").Host(context.Background())
	if err != nil || h.TotalBytes == nil {
		t.Skip("the host's memory cannot be read here:", err)
	}
	var out, stderr bytes.Buffer
	if status := run([]string{"machine", "-o", "json"}, strings.NewReader(""), &out, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, &stderr)
	}
	m, _, err := machine.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if m.Host == nil || m.Host.TotalBytes == nil || *m.Host.TotalBytes != *h.TotalBytes {
		t.Errorf("host %+v, want the total %v", m.Host, *h.TotalBytes)
	}
}

func TestMachineErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown format", []string{"machine", "-o", "xml"}, "sglplan: --output \"xml\": this verb prints text, json\n"},
		{"missing file", []string{"machine", "--machine", "no-such-file.json"}, "sglplan: open no-such-file.json: no such file or directory\n"},
		{"unknown card", []string{"machine", "--gpus", "8xH201"}, "sglplan: --gpus \"8xH201\": unknown GPU \"H201\": the nearest known name is H200; or write what nvidia-smi prints as the total, for example 8x97887MiB\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			if status := run(c.args, strings.NewReader(""), &out, &stderr); status != exitUsage {
				t.Errorf("exit status %d, want %d", status, exitUsage)
			}
			if diff := cmp.Diff(c.want, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}
