package hostmem

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/sglplan/sglplan/internal/cgrouptest"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// inCgroup makes the test binary print what Host reads, from inside a cgroup.
const inCgroup = "SGLPLAN_TEST_PRINT_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(inCgroup) == "" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until we have been moved
	h, _, err := New("/").Host(context.Background())
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(h)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestRealCgroup makes a cgroup with a limit, runs this program inside it and
// wants the limit found and the room read from it.
func TestRealCgroup(t *testing.T) {
	const limit = 256 * units.MiB
	group := cgrouptest.New(t, int64(limit))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), inCgroup+"=1")
	cmd.Stderr = os.Stderr
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
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var h machine.Host
	if err := json.Unmarshal(out.Bytes(), &h); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	switch {
	case h.Limit != machine.LimitCgroup, h.LimitBytes == nil, h.AvailableBytes == nil, h.TotalBytes == nil:
		t.Fatalf("the limit was not found: %s", &out)
	case *h.LimitBytes != limit, *h.TotalBytes != limit:
		t.Errorf("limit %v, total %v, want %v", *h.LimitBytes, *h.TotalBytes, limit)
	case *h.AvailableBytes > limit, *h.AvailableBytes < limit/2:
		t.Errorf("room %v in a fresh cgroup of %v", *h.AvailableBytes, limit)
	case h.MemAvailableBytes == nil || *h.MemAvailableBytes < limit:
		t.Errorf("the host's own figure %v was lost", h.MemAvailableBytes)
	}
}
