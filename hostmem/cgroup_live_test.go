package hostmem

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		os.Exit(1)
	}
}

// TestRealCgroup makes a cgroup with a limit, runs this program inside it and
// wants the limit found and the room read from it.
func TestRealCgroup(t *testing.T) {
	const limit = 256 * units.MiB
	dir, file := makeCgroup(t)
	if err := os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, "%d", int64(limit)), 0o644); err != nil {
		t.Skipf("a limit cannot be set here: %v", err)
	}
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
	var out jsonWriter
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	move := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Appendf(nil, "%d", cmd.Process.Pid), 0o644)
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if move != nil {
		t.Skipf("a process cannot be moved into a cgroup here: %v", move)
	}
	var h machine.Host
	if err := json.Unmarshal(out, &h); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	switch {
	case h.Limit != machine.LimitCgroup, h.LimitBytes == nil, h.AvailableBytes == nil, h.TotalBytes == nil:
		t.Fatalf("the limit was not found: %s", out)
	case *h.LimitBytes != limit, *h.TotalBytes != limit:
		t.Errorf("limit %v, total %v, want %v", *h.LimitBytes, *h.TotalBytes, limit)
	case *h.AvailableBytes > limit, *h.AvailableBytes < limit/2:
		t.Errorf("room %v in a fresh cgroup of %v", *h.AvailableBytes, limit)
	case h.MemAvailableBytes == nil || *h.MemAvailableBytes < limit:
		t.Errorf("the host's own figure %v was lost", h.MemAvailableBytes)
	}
}

// makeCgroup makes a memory cgroup below this process's own, and names the file
// that sets its limit. It skips the test where that is not allowed.
func makeCgroup(t *testing.T) (dir, file string) {
	t.Helper()
	f := New("/")
	mounts, err1 := f.read("/proc/self/mountinfo")
	member, err2 := f.read("/proc/self/cgroup")
	if err1 != nil || err2 != nil {
		t.Skip("no cgroups here")
	}
	found := f.hierarchies(parseMountinfo(mounts), parseCgroup(member))
	if len(found) == 0 {
		t.Skip("no memory cgroups here")
	}
	h := found[0]
	file = map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[h.version]
	// A v2 cgroup with processes cannot have limited children, so the mount's
	// own top is tried as well.
	for _, parent := range []string{h.dir, h.point} {
		dir = filepath.Join(parent, fmt.Sprintf("sglplan-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return dir, file
		}
	}
	t.Skip("a cgroup with a limit cannot be made here (needs root, or a delegated memory controller)")
	return "", ""
}

// jsonWriter collects output.
type jsonWriter []byte

func (w *jsonWriter) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }
