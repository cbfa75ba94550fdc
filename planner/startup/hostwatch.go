package startup

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// hostWatch looks after host memory while pools are pinned: the one phase of
// a start that can take the whole host down.
type hostWatch struct {
	o      Options
	cgroup cgroup
	begun  bool
	before units.Bytes // available when the phase began
	looked time.Time
}

// available is what host and cgroup leave.
func (h *hostWatch) available(ctx context.Context) (units.Bytes, bool) {
	room := h.cgroup.room()
	if h.o.Available != nil {
		if b, err := h.o.Available(ctx); err == nil && (room == nil || b < *room) {
			room = &b
		}
	}
	if room == nil {
		return 0, false
	}
	return *room, true
}

// hostMemory warns early, and ends the launch where that was asked for.
func (w *watcher) hostMemory(ctx context.Context) {
	s, h := w.start(), &w.host
	if s.Phase != serverlog.HostPools || time.Since(h.looked) < min(time.Second, w.o.Poll) {
		return
	}
	h.looked = time.Now()
	free, ok := h.available(ctx)
	if !ok {
		return
	}
	total := announced(s)
	if !h.begun {
		h.begun, h.before = true, free
	}
	// What has been taken since the phase began is part of what was announced.
	left := total - max(h.before-free, 0)
	if left > free {
		w.warn(CodeHostLow, fmt.Sprintf("host pools of %.1f GB are being pinned, %.1f GB of them to come, and %.1f GB are available: this launch will run out of host memory", total.GB(), left.GB(), free.GB()))
	}
	if w.o.Reserve > 0 && free < w.o.Reserve/2 {
		w.warn(CodeHostGone, fmt.Sprintf("only %.1f GB of host memory are left while host pools are pinned", free.GB()))
		if w.o.KillOnHostOOM && w.o.PID != 0 {
			w.kill(ctx)
			w.fail(CodeHostGone, fmt.Sprintf("only %.1f GB of host memory were left while %.1f GB of host pools were pinned; the launch was ended as asked", free.GB(), total.GB()))
		}
	}
}

// kill ends the launch: first the polite signal, which lets newer releases
// unpin, then the other one for all of it.
func (w *watcher) kill(ctx context.Context) {
	all := w.proc.tree(w.o.PID)
	send(w.o.PID, syscall.SIGTERM)
	const grace = 2 * time.Second
	select {
	case <-time.After(grace):
	case <-ctx.Done():
	}
	for _, q := range all {
		if now, ok := w.proc.process(q.pid); ok && now.born == q.born && !now.dead() {
			send(q.pid, syscall.SIGKILL)
		}
	}
}

func send(pid int, sig os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(sig) // it may have ended by itself
	}
}
