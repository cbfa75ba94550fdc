package startup

import (
	"fmt"
	"slices"
	"time"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// tree follows the launcher and its descendants. All of /proc is looked at
// only now and then; in between only the processes that are known.
type tree struct {
	proc    proc
	pid     int
	every   time.Duration // between scans, at least
	born    uint64
	known   map[int]member
	scanned time.Time
	pause   time.Duration // until the next scan
}

type member struct {
	process
	server bool
}

// New descendants are looked for every few polls. A large host has thousands of
// processes, so a slow look is followed by a longer pause.
const (
	scanPolls = 2
	scanShare = 50
	scanPause = 3 * time.Second // at most
)

// look returns the processes that are gone or zombies since the last look.
func (t *tree) look(now time.Time) (root process, alive bool, lost []member) {
	root, ok := t.proc.process(t.pid)
	if ok && t.born == 0 {
		t.born = root.born
	}
	alive = ok && !root.dead() && root.born == t.born
	for pid, m := range t.known {
		q, ok := t.proc.process(pid)
		if !ok || q.dead() || q.born != m.born {
			if ok && q.born == m.born {
				m.process = q // a zombie tells how it ended
			}
			lost = append(lost, m)
			delete(t.known, pid)
		}
	}
	slices.SortFunc(lost, func(a, b member) int { return a.pid - b.pid })
	if now.Sub(t.scanned) >= t.pause {
		t.scan(now)
		t.pause = max(t.every, min(scanShare*time.Since(now), scanPause))
	}
	return root, alive, lost
}

// scan finds the descendants. Names change after a process began, so they are
// read anew each time.
func (t *tree) scan(now time.Time) {
	t.scanned = now
	if t.known == nil {
		t.known = map[int]member{}
	}
	for _, q := range t.proc.tree(t.pid) {
		if q.pid != t.pid && !q.dead() {
			t.known[q.pid] = member{q, t.proc.isServer(q)}
		}
	}
}

// schedulers counts the ranks that are alive.
func (t *tree) schedulers() int {
	n := 0
	for _, m := range t.known {
		if m.isScheduler() {
			n++
		}
	}
	return n
}

func (t *tree) all() []process {
	out := []process{{pid: t.pid}}
	for _, m := range t.known {
		out = append(out, m.process)
	}
	return out
}

// oomWatch counts what the OOM killer took since the watch began.
type oomWatch struct {
	proc         proc
	group        cgroup
	local, whole int64
}

func newOOMWatch(p proc, pid int) oomWatch {
	o := oomWatch{proc: p}
	if pid != 0 {
		o.group = p.cgroupOf(pid)
		o.local, o.whole = o.group.kills(), p.kills()
	}
	return o
}

// struck reports kills in the launch's own cgroup, and anywhere on the host.
func (o oomWatch) struck() (local, anywhere bool) {
	return o.group.kills() > o.local, o.proc.kills() > o.whole
}

// processes looks whether the launcher and its ranks still live.
func (w *watcher) processes() {
	if w.o.PID == 0 {
		if w.log.ended() {
			w.logEnded()
		}
		return
	}
	first := w.tree.born == 0
	root, alive, lost := w.tree.look(time.Now())
	local, anywhere := w.oom.struck()
	switch {
	case alive && len(lost) == 0:
		if local {
			w.warn(CodeOOMKilled, "the OOM killer took a process in the launch's cgroup; its own processes live on")
		}
		return
	case !alive && first:
		w.lastWords()
		if f := w.start().Failure; f != nil {
			w.failByLog(f)
			return
		}
		w.fail(CodeNoProcess, fmt.Sprintf("process %d does not exist", w.o.PID))
		return
	}
	if !alive {
		w.ended(root, local, anywhere)
		return
	}
	for _, m := range lost {
		switch {
		case m.server:
			w.lastWords()
			w.gone(m, local || anywhere)
			return
		case local:
			w.fail(CodeOOMKilled, fmt.Sprintf("the OOM killer took process %d (%s) in the launch's memory cgroup", m.pid, m.name))
			return
		}
	}
}

// lastWords reads the rest of the log: a cause that is written there is better
// than any guess.
func (w *watcher) lastWords() {
	for w.readLog(); w.log.more; w.readLog() {
	}
	w.parse.End()
}

// ended judges the end of the launcher.
func (w *watcher) ended(root process, local, anywhere bool) {
	w.lastWords()
	s := w.start()
	switch {
	case s.Failure != nil:
		w.failByLog(s.Failure)
		return
	case local:
		w.fail(CodeOOMKilled, fmt.Sprintf("process %d was killed by the OOM killer of its memory cgroup", w.o.PID))
		return
	case s.Suspect != nil && !s.Ready:
		w.fail(s.Suspect.Code, s.Suspect.Cause)
		return
	}
	cause := fmt.Sprintf("process %d has ended", w.o.PID)
	code := CodeProcessEnded
	switch sig := root.signal(); {
	case root.dead() && sig != 0:
		cause = fmt.Sprintf("process %d was ended by signal %d", w.o.PID, sig)
	case root.dead() && root.exit>>8 != 0:
		cause = fmt.Sprintf("process %d has ended with status %d", w.o.PID, root.exit>>8)
	}
	if anywhere && (root.signal() == 0 || root.signal() == 9) {
		code = CodeOOMKilled
		cause += "; the kernel's OOM killer struck on this host meanwhile"
	}
	w.fail(code, cause)
}

// failByLog fails with the cause that the log names. Where it only says that
// something was killed, the counters of the OOM killer know more.
func (w *watcher) failByLog(f *serverlog.Failure) {
	if local, _ := w.oom.struck(); local && f.Vague() {
		w.fail(CodeOOMKilled, f.Cause+" (the OOM killer struck in the launch's memory cgroup)")
		return
	}
	w.fail(f.Code, f.Cause)
}

// gone judges the end of a rank whose launcher lives on.
func (w *watcher) gone(m member, oom bool) {
	if f := w.start().Failure; f != nil {
		w.failByLog(f)
		return
	}
	how := ""
	switch sig := m.signal(); {
	case m.dead() && sig != 0:
		how = fmt.Sprintf(", by signal %d", sig)
	case m.dead() && m.exit>>8 != 0:
		how = fmt.Sprintf(", with status %d", m.exit>>8)
	}
	code := CodeRankGone
	if oom {
		code = CodeOOMKilled
		how += "; the OOM killer struck"
	}
	w.fail(code, fmt.Sprintf("process %d (%s) has ended%s; the launcher %d lives on", m.pid, m.name, how, w.o.PID))
}

// endGrace is how long after the end of a piped log the port may still answer.
const endGrace = 3 * time.Second

// logEnded: the writers of a piped log have closed it. Unless something
// answers on the port, the launch is gone.
func (w *watcher) logEnded() {
	answers := w.answer != nil && w.answer.Status != 0
	if w.stall.end.IsZero() {
		w.stall.end = time.Now()
	}
	if !answers && time.Since(w.stall.end) > endGrace {
		if s := w.start().Suspect; s != nil {
			w.fail(s.Code, s.Cause)
			return
		}
		w.fail(CodeLogEnded, "the log ended in phase "+w.start().Phase.String()+", and nothing answers at "+w.probing)
	}
}
