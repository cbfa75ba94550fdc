package startup

import (
	"fmt"
	"strings"
	"time"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// stallWatch knows when the start last moved.
type stallWatch struct {
	last   time.Time
	read   int64     // bytes the processes had read then
	looked time.Time // when that was
	end    time.Time // when a piped log ended
}

func (s *stallWatch) moved(now time.Time) { s.last = now }

// readsLook is how often file reading is looked at.
const readsLook = 5 * time.Second

// moves counts reading of files as progress in the phases that read: a shard
// from a network disk gives no line for minutes.
func (w *watcher) moves(ph serverlog.Phase, now time.Time) {
	if w.o.PID == 0 || ph > serverlog.Weights || now.Sub(w.stall.looked) < readsLook {
		return
	}
	const much = 1 << 20
	n := w.proc.readBytes(w.tree.all())
	if n-w.stall.read > much {
		w.stall.moved(now)
	}
	w.stall.read, w.stall.looked = n, now
}

// stalled fails a start whose phase stands still past its budget.
func (w *watcher) stalled() {
	now, s := time.Now(), w.start()
	if s.Ready || w.log.ended() || s.Phase == serverlog.Starting && w.o.PID == 0 {
		return // not begun yet, as far as anybody can see
	}
	w.moves(s.Phase, now)
	budget := w.budget(s)
	if still := now.Sub(w.stall.last); budget > 0 && still > budget {
		w.fail(CodeStalled, fmt.Sprintf("no progress in phase %s for %v%s", s.Phase, still.Round(time.Second), w.behind(s)))
	}
}

// budget is how long the present phase may stand still, 0 for ever.
func (w *watcher) budget(s *serverlog.Start) time.Duration {
	b, given := w.o.Stall[s.Phase]
	switch {
	case given && b < 0:
		return 0
	case given:
		return b
	}
	b = budgets[s.Phase]
	switch {
	case s.Phase == serverlog.Weights && w.o.PID == 0:
		b *= 2
	case s.Phase == serverlog.HostPools:
		total := float64(announced(s))
		seconds := max(total/pinRate, total/float64(max(len(s.Ranks), 1))/rankPinRate)
		b += time.Duration(seconds * float64(time.Second))
	}
	return b
}

// announced is what the ranks said they will pin, all together.
func announced(s *serverlog.Start) units.Bytes {
	var sum units.Bytes
	for _, r := range s.Ranks {
		for _, p := range r.HostPools {
			sum += p.Bytes
		}
	}
	return sum
}

// behind says which ranks the others wait for, and whether they are alive.
func (w *watcher) behind(s *serverlog.Start) string {
	var b strings.Builder
	if n := w.tree.schedulers(); n > 0 {
		fmt.Fprintf(&b, "; %d schedulers are alive", n)
	}
	most := serverlog.Starting
	for _, r := range s.Ranks {
		most = max(most, r.Phase)
	}
	var late, open []string
	for _, r := range s.Ranks {
		if r.Phase < most {
			late = append(late, r.Name)
		}
		if n := len(r.Graphs); n > 0 && !r.Graphs[n-1].Ended {
			open = append(open, r.Name)
		}
	}
	switch {
	case len(late) > 0:
		fmt.Fprintf(&b, "; behind the others (%s): %s", most, names(late))
	case len(open) > 0 && len(open) < len(s.Ranks):
		fmt.Fprintf(&b, "; capture has not ended on %s", names(open))
	}
	if p := s.Progress; p != nil {
		fmt.Fprintf(&b, "; the bar stands at %d of %d", p.Done, p.Total)
	}
	return b.String()
}

func names(all []string) string {
	const most = 8
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}
