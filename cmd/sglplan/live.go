package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// liveFollower keeps one line of a terminal up to date: where the start is, a
// bar, its rate and the time left. What has passed stays above it, one line a
// phase.
type liveFollower struct {
	out   io.Writer
	color bool
	ascii bool
	width func() int

	mu    sync.Mutex
	now   startup.Event
	began time.Time // of the watch
	phase time.Time // when the phase began
	stop  chan struct{}
	done  sync.WaitGroup
}

func newLiveFollower(w io.Writer) *liveFollower {
	o := terminal(w)
	l := &liveFollower{out: w, color: o.Color, ascii: o.ASCII, stop: make(chan struct{}), began: time.Now(), phase: time.Now()}
	l.width = func() int {
		if f, ok := w.(*os.File); ok {
			if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
				return n
			}
		}
		return 80
	}
	l.done.Go(l.tick)
	return l
}

// tick redraws the clock.
func (l *liveFollower) tick() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.mu.Lock()
			l.draw()
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

func (l *liveFollower) event(e startup.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Kind == startup.Warned:
		l.above(l.paint("33", "warning: ") + render.Clean(e.Message))
	case e.Kind == startup.Finished:
		close(l.stop)
		l.clear()
		if e.Outcome == startup.Ready {
			fmt.Fprintf(l.out, "%s %s\n", l.paint("32", l.sign("✓", "+")), render.Clean(e.Message))
		}
		return
	case e.Phase != l.now.Phase && e.Kind == startup.PhaseChanged:
		if l.now.Phase > serverlog.Starting {
			passed := fmt.Sprintf("%s %-11s %7s  %s", l.paint("32", l.sign("✓", "+")), l.now.Phase, clock(time.Since(l.phase)), phaseFigure(e.Start, l.now.Phase))
			l.above(strings.TrimRight(passed, " "))
		}
		l.phase = time.Now()
	}
	l.now = e
	l.draw()
}

// above prints a line that stays.
func (l *liveFollower) above(s string) {
	l.clear()
	fmt.Fprintln(l.out, s)
}

func (l *liveFollower) clear() { fmt.Fprint(l.out, "\r\x1b[K") }

// draw writes the moving line, never wider than the terminal.
func (l *liveFollower) draw() {
	width := l.width() - 1
	head := fmt.Sprintf("%s %-11s", clock(time.Since(l.began)), l.now.Phase)
	var tail string
	p := l.now.Progress
	if p != nil {
		tail = barText(p)
	}
	room := width - len(head) - len(tail) - 4
	line := head
	if p != nil && room >= 10 {
		room = min(room, 60)
		full := int(p.Fraction()*float64(room) + 0.5)
		line += " " + l.paint("36", strings.Repeat(l.sign("█", "#"), full)) + strings.Repeat(l.sign("░", "."), room-full) + " " + tail
	} else {
		rest := tail
		if p == nil && l.now.Kind != startup.Warned {
			rest = render.Clean(l.now.Message)
		}
		line = strings.TrimRight(line+" "+cut(rest, width-len(head)-1), " ")
	}
	if n := len([]rune(head)); n > width {
		line = cut(head, width)
	}
	fmt.Fprint(l.out, "\r\x1b[K"+line)
}

func cut(s string, width int) string {
	r := []rune(s)
	switch {
	case len(r) <= width:
		return s
	case width < 4:
		return string(r[:max(width, 0)])
	}
	return string(r[:width-3]) + "..."
}

func (l *liveFollower) sign(fancy, plain string) string {
	if l.ascii {
		return plain
	}
	return fancy
}

func (l *liveFollower) paint(style, s string) string {
	if !l.color {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}
