package hostmem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// processTree is a machine on which a launch was killed: one rank is being
// taken apart, one is a zombie with a blocked thread, a detokenizer waits for
// its parent; another server lives.
var processTree = map[string]string{
	"proc/1/stat":                "1 (tini) S 0 1 1 0 -1",
	"proc/1/cmdline":             "tini\x00--\x00bash\x00",
	"proc/20/stat":               "20 (python3) S 1 20 20 0 -1",
	"proc/20/cmdline":            "python3\x00-m\x00sglang.launch_server\x00--model-path\x00m\x00",
	"proc/20/status":             "Name:\tpython3\nRssShmem:\t    8192 kB\n",
	"proc/20/maps":               "7f00-7f10 rw-s 00000000 00:17 12 /dev/shm/psm_used\n7f20-7f30 r-xp 0 08:01 5 /usr/lib/libc.so\n",
	"proc/21/stat":               "21 (sglang::schedul) D 20 20 20 0 -1",
	"proc/21/status":             "RssShmem:\t  47999992 kB\n",
	"proc/22/stat":               "22 (sglang) (x) Z) Z 20 20 20 0 -1",
	"proc/22/task/22/stat":       "22 (sglang) (x) Z) Z 20 20 20 0 -1",
	"proc/22/task/23/stat":       "23 (nv unpin) D 20 20 20 0 -1",
	"proc/24/stat":               "24 (sglang::detoken) Z 1 20 20 0 -1",
	"proc/30/stat":               "30 (train) R 1 30 30 0 -1",
	"proc/31/stat":               "31 (cat) S 1 31 31 0 -1",
	"proc/32/stat":               "broken",
	"proc/self/stat":             "99 (self) R 1",
	"dev/shm/psm_used":           "12345678",
	"dev/shm/psm_leaked":         "12345678",
	"dev/shm/nccl-open":          "12345678",
	"dev/shm/somebody-elses":     "12345678",
	"dev/shm/sglang_dir/content": "1",
}

func TestRunning(t *testing.T) {
	root := t.TempDir()
	for name, text := range processTree {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "proc/30/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/shm/nccl-open", filepath.Join(root, "proc/30/fd/7")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	shmem := func(kb int64) *units.Bytes { return ptr(units.Bytes(kb) * units.KiB) }
	want := machine.Running{
		Procs: []machine.Proc{
			{PID: 20, Parent: 1, Name: "python3", Command: "python3 -m sglang.launch_server --model-path m", State: "S", SHMBytes: shmem(8192)},
			{PID: 21, Parent: 20, Name: "sglang::schedul", State: "D", Blocked: true, SHMBytes: shmem(47999992)},
			{PID: 22, Parent: 20, Name: "sglang) (x) Z", State: "Z", Blocked: true},
			{PID: 24, Parent: 1, Name: "sglang::detoken", State: "Z"},
			{PID: 30, Parent: 1, Name: "train", State: "R"},
		},
		SHM: []machine.SHMFile{
			{Name: "nccl-open", Held: ptr(true)},
			{Name: "psm_leaked", Held: ptr(false)},
			{Name: "psm_used", Held: ptr(true)},
		},
	}
	got := New(root).Running(30, 31000)
	for _, s := range got.SHM {
		if s.Bytes <= 0 {
			t.Errorf("%s occupies %v", s.Name, s.Bytes)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(machine.SHMFile{}, "Bytes")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRunningUnknownHolder: where a process cannot be looked at, no file is
// called leaked.
func TestRunningUnknownHolder(t *testing.T) {
	root := t.TempDir()
	for name, dir := range map[string]bool{"proc/5/maps": true, "dev/shm": true} {
		if dir && os.MkdirAll(filepath.Join(root, name), 0o755) != nil { // a folder cannot be read as a file
			t.Fatal(name)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "dev/shm/psm_x"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := New(root).Running()
	want := machine.Running{SHM: []machine.SHMFile{{Name: "psm_x"}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(machine.SHMFile{}, "Bytes")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
