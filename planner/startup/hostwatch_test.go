package startup

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
)

// TestHostMemory: while host pools are pinned, running out is said before it
// happens, and the launch is ended only where that was asked for.
func TestHostMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, end units.Bytes
		kill       bool
		outcome    Outcome
		warning    string
	}{
		"room enough":           {100 * units.GB, 90 * units.GB, true, TimedOut, ""},
		"it will not fit":       {10 * units.GB, 9 * units.GB, false, TimedOut, "start-host-memory-low"},
		"almost gone, not told": {20 * units.GB, 4 * units.GB, false, TimedOut, "start-host-memory-gone"},
		"almost gone, ended":    {20 * units.GB, 4 * units.GB, true, HasFailed, "start-host-memory-gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fake{Source: sourceLog, Until: "TP1] Allocating kv", Log: filepath.Join(t.TempDir(), "server.log"), Fate: "stall"}
			c := launch(t, f, true) // announces 2 pools of 8 GB
			var asked atomic.Int64
			o := Options{
				Log: f.Log, PID: c.Process.Pid, URL: "http://127.0.0.1:1", Timeout: 5 * time.Second,
				Reserve: 10 * units.GB, KillOnHostOOM: tc.kill,
				Available: func(context.Context) (units.Bytes, error) {
					if asked.Add(1) < 3 {
						return tc.begin, nil
					}
					return tc.end, nil
				},
			}
			if tc.outcome == TimedOut {
				o.Timeout = 1500 * time.Millisecond
			}
			e, all := last(t, o)
			require.Equal(t, tc.outcome, e.Outcome, e.Cause)
			require.Equal(t, tc.warning, warnings(all))
			_, alive := (proc{"/"}).process(c.Process.Pid)
			require.Equal(t, tc.outcome == TimedOut, alive)
		})
	}
}
