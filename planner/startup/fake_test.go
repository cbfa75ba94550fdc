package startup

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/sglangtest"
)

// fake is a launch that is none: it writes the log of a real one at speed and
// then meets its fate. It is this test binary, run again.
type fake struct {
	Source string // file below serverlog/testdata whose log it writes
	Until  string // the last line written is the first that holds this, "" for all
	Log    string // where it writes
	Port   int    // where it will serve
	Fate   string
	Memory int64 // what it takes for the fate "memory"
}

const fakeEnv = "SGLPLAN_TEST_FAKE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(fakeEnv); spec != "" {
		var f fake
		if err := json.Unmarshal([]byte(spec), &f); err != nil {
			panic(err)
		}
		f.run()
		return
	}
	os.Exit(m.Run())
}

// run is the life of a fake launch.
func (f fake) run() {
	if f.Fate == "rank" { // the child of another fake
		_ = os.WriteFile("/proc/self/comm", []byte("sglang::scheduler"), 0)
		time.Sleep(time.Minute)
		return
	}
	var rank *exec.Cmd
	if strings.HasPrefix(f.Fate, "rank-") {
		rank = command(fake{Fate: "rank"})
		check(rank.Start())
		for range 200 { // until it has its name
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", rank.Process.Pid))
			if strings.HasPrefix(string(b), "sglang::") {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	f.write()
	switch f.Fate {
	case "ready":
		f.serve()
	case "exit":
		os.Exit(1)
	case "kill":
		check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	case "fatal":
		f.print("[2026-11-30 21:33:08] Scheduler hit an exception: Traceback (most recent call last):\n" +
			"  File \"site-packages/sglang/srt/managers/scheduler.py\", line 4931, in run_scheduler_process\n" +
			"    scheduler = Scheduler(\n" +
			"ValueError: Not enough host memory available. Requesting 300.00 GB but only have 29.00 GB free. Please reduce the size of the hierarchical cache.\n")
	case "rank-lost":
		time.Sleep(1500 * time.Millisecond) // the watch has looked for descendants
		check(rank.Process.Kill())
		_ = rank.Wait()
	case "rank-zombie":
		time.Sleep(1500 * time.Millisecond)
		check(rank.Process.Kill())
	case "memory":
		hog := make([]byte, f.Memory)
		for i := 0; i < len(hog); i += 4096 {
			hog[i] = 1
		}
	}
	time.Sleep(time.Minute)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// serve binds the port, is 503 for a moment and then up.
func (f fake) serve() {
	s, err := sglangtest.At("0.5.17", f.Port)
	check(err)
	s.Seed = 1002088802 // of the log that is written
	check(s.Bind())
	time.Sleep(100 * time.Millisecond)
	s.Set(sglangtest.Up)
}

// write copies the log, a few lines at a time.
func (f fake) write() {
	if f.Source == "" {
		return
	}
	lines, err := readLines(f.Source)
	check(err)
	for i := 0; i < len(lines); i += 8 {
		var b strings.Builder
		for _, l := range lines[i:min(i+8, len(lines))] {
			b.WriteString(l + "\n")
			if f.Until != "" && strings.Contains(l, f.Until) {
				f.print(b.String())
				return
			}
		}
		f.print(b.String())
		time.Sleep(2 * time.Millisecond)
	}
}

func (f fake) print(s string) {
	out, err := os.OpenFile(f.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	check(err)
	_, err = out.WriteString(s)
	check(errors.Join(err, out.Close()))
}

func readLines(name string) ([]string, error) {
	in, err := os.Open(filepath.Join("serverlog", "testdata", name))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	var lines []string
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	return lines, sc.Err()
}

func command(f fake) *exec.Cmd {
	b, err := json.Marshal(f)
	check(err)
	exe, err := os.Executable()
	check(err)
	c := exec.Command(exe)
	c.Env = append(os.Environ(), fakeEnv+"="+string(b))
	c.Stdout, c.Stderr = io.Discard, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return c
}

// launch starts a fake; reap says whether its parent collects it when it ends,
// as a shell does, or leaves a zombie, as PID 1 of many containers does.
func launch(t *testing.T, f fake, reap bool) *exec.Cmd {
	t.Helper()
	c := command(f)
	require.NoError(t, c.Start())
	done := make(chan struct{})
	if reap {
		go func() { _ = c.Wait(); close(done) }()
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if reap {
			<-done
		} else {
			_ = c.Wait()
		}
	})
	return c
}
