package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/sglangtest"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// waitFor runs the verb and returns its status and its last line.
func waitFor(t *testing.T, args ...string) (int, waitLine, string) {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(append([]string{"wait", "-o", "json"}, args...), strings.NewReader(""), &out, &errs)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last waitLine
	for _, l := range lines {
		last = waitLine{}
		require.NoError(t, json.Unmarshal([]byte(l), &last), l)
	}
	return status, last, errs.String()
}

// TestWaitStatus: 0 ready, 1 failed, 2 wrong use, 3 timed out.
func TestWaitStatus(t *testing.T) {
	s, err := sglangtest.New("0.5.17")
	require.NoError(t, err)
	require.NoError(t, s.Bind())
	defer s.Close()

	status, last, _ := waitFor(t, "--url", s.URL(), "--timeout", "1500ms")
	require.Equal(t, 3, status)
	require.Equal(t, startup.TimedOut, last.Outcome)

	s.Set(sglangtest.Up)
	status, last, _ = waitFor(t, "--url", s.URL(), "--sglang", "0.5.17")
	require.Equal(t, 0, status)
	require.Equal(t, startup.Ready, last.Outcome)
	require.Equal(t, serverlog.Ready, last.Phase)

	status, last, errs := waitFor(t, "--pid", strconv.Itoa(1<<30))
	require.Equal(t, 1, status)
	require.Equal(t, "start-no-process", last.Code)
	require.Contains(t, errs, "fix:")

	plan := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(plan, []byte(`{"schema":"sglplan/v1","launch":{"sglang_version":"0.5.17","model_path":"Qwen/Qwen3-32B"}}`), 0o644))
	status, _, _ = waitFor(t, "--url", s.URL(), "--expect-plan", plan, "--timeout", "2s")
	require.Equal(t, 3, status, "another model answers")

	status = run([]string{"wait", "--output", "yaml"}, nil, &bytes.Buffer{}, &bytes.Buffer{})
	require.Equal(t, 2, status)
}

// TestBarText words what is known of a bar.
func TestBarText(t *testing.T) {
	p := &serverlog.Progress{Done: 62, Total: 64, Rate: "1.81it/s", Remaining: 61 * time.Second}
	require.Equal(t, "62 of 64, 97 %, 1.81it/s, 1:01 left", barText(p))
	require.Equal(t, "0 of 4, 0 %", barText(&serverlog.Progress{Total: 4, Rate: "?it/s", Remaining: -1}))
}

// TestLiveLine: the moving line never wraps.
func TestLiveLine(t *testing.T) {
	for _, width := range []int{40, 80, 140, 300} {
		var out bytes.Buffer
		l := &liveFollower{out: &out, width: func() int { return width }, began: time.Now(), phase: time.Now(), stop: make(chan struct{})}
		l.event(startup.Event{Kind: startup.Progressed, Phase: serverlog.Weights, Progress: &serverlog.Progress{Done: 62, Total: 64, Rate: "1.81it/s", Remaining: time.Hour}})
		l.event(startup.Event{Kind: startup.PhaseChanged, Phase: serverlog.Graphs, Message: strings.Repeat("long ", 100)})
		for _, line := range strings.Split(out.String(), "\r\x1b[K") {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width-1, "%d: %q", width, line)
		}
	}
}
