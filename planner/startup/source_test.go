package startup

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// TestTailer follows a log through everything that happens to one.
func TestTailer(t *testing.T) {
	name := filepath.Join(t.TempDir(), "server.log")
	l := &tailer{name: name}
	defer l.close()
	var got bytes.Buffer
	step := func(what, want string) {
		t.Helper()
		got.Reset()
		_, more, err := l.read(&got)
		require.NoError(t, err, what)
		require.False(t, more, what)
		require.Equal(t, want, got.String(), what)
	}
	write := func(flag int, s string) {
		t.Helper()
		f, err := os.OpenFile(name, flag|os.O_WRONLY|os.O_CREATE, 0o644)
		require.NoError(t, err)
		_, err = f.WriteString(s)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	step("not there yet", "")
	write(os.O_APPEND, "one\n")
	step("it appears", "one\n")
	step("nothing new", "")
	write(os.O_APPEND, "two\nthr")
	step("it grows", "two\nthr")
	write(os.O_TRUNC, "a\n")
	step("cut short by the next launch", "a\n")
	write(os.O_APPEND, "last\n")
	require.NoError(t, os.Rename(name, name+".1"))
	write(os.O_APPEND, "fresh\n")
	step("rotated", "last\nfresh\n")
	require.NoError(t, os.Remove(name))
	step("removed", "")
	write(os.O_APPEND, "again\n")
	step("made anew", "again\n")
}

// TestAppendedLog: the log of a launch that died is appended to by the next
// one. Its old failure is not the new one's.
func TestAppendedLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "server.log")
	lines, err := readLines("h200-0517-llama8b-f0.985.log.gz")
	require.NoError(t, err)
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(name, hourAgo, hourAgo))

	c := launch(t, fake{Fate: "stall"}, true)
	e, _ := last(t, Options{Log: name, PID: c.Process.Pid, URL: "http://127.0.0.1:1", Timeout: 400 * time.Millisecond})
	require.Equal(t, TimedOut, e.Outcome, "the new launch has not written yet: %s", e.Cause)
	require.Equal(t, serverlog.Starting, e.Phase)

	e, _ = last(t, Options{Log: name, URL: "http://127.0.0.1:1"})
	require.Equal(t, HasFailed, e.Outcome, "without a process it is the only launch there is")
	require.Equal(t, serverlog.CodeOOMCapture, e.Code)

	f := fake{Source: "h200-0517-llama8b-default.log.gz", Until: "Load weight end", Log: name, Fate: "stall"}
	c = launch(t, f, true)
	e, _ = last(t, Options{Log: name, PID: c.Process.Pid, URL: "http://127.0.0.1:1", Timeout: 2 * time.Second})
	require.Equal(t, TimedOut, e.Outcome, e.Cause)
	require.Equal(t, serverlog.Weights, e.Phase)
}
