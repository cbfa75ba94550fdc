package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/internal/cgrouptest"
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
		{"missing file", []string{"machine", "--machine", "no-such-file.json"}, "sglplan: file no-such-file.json: no such file or directory\n"},
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

// TestMachineInCgroup builds the command and runs it inside a real cgroup with
// a limit: the room is the cgroup's, not the host's.
func TestMachineInCgroup(t *testing.T) {
	const limit = 512 << 20
	group := cgrouptest.New(t, limit)
	binary := filepath.Join(t.TempDir(), "sglplan")
	if text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// The shell waits until it has been moved, then becomes the command.
	cmd := exec.Command("sh", "-c", `read go; exec "$0" machine -o json`, binary)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer stdin.Close()
	group.Add(t, cmd.Process.Pid)
	_, _ = stdin.Write([]byte("go\n"))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m, _, err := machine.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	h := m.Host
	if h == nil || h.Limit != machine.LimitCgroup || h.LimitBytes == nil || *h.LimitBytes != limit || *h.AvailableBytes > limit || *h.AvailableBytes < limit/2 {
		t.Errorf("host %+v, want a room of at most %d bytes", h, limit)
	}
}
