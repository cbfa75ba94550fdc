package startup

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// Watch follows a start and yields what changes. The last event has an
// Outcome; it comes within a poll of the fact. When ctx ends, so does the
// watch, with a timeout as its outcome. Leaving the loop early is allowed.
func Watch(ctx context.Context, o Options) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		w := &watcher{o: o.withDefaults(), yield: yield}
		w.run(ctx)
	}
}

// watcher is one watch. Everything happens in the goroutine of the caller but
// the questions to the port, which may hang, and the reading of a stream.
type watcher struct {
	o     Options
	yield func(Event) bool
	over  bool // the outcome is told, or the caller has left

	proc  proc
	log   logSource
	parse *serverlog.Parser
	live  bool // the log's history has been read: events are told
	tree  tree
	oom   oomWatch
	host  hostWatch
	stall stallWatch

	began   time.Time
	written time.Time // when the log last had something new
	probing string    // the URL that is asked
	answer  *Answer
	reports chan report
	said    map[finding.Code]bool
}

func (w *watcher) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	w.began, w.said, w.proc = time.Now(), map[finding.Code]bool{}, proc{w.o.root}
	w.reports = make(chan report)
	w.parse = serverlog.New(w.logEvent)
	w.log = newLogSource(ctx, w.o)
	defer w.log.close()
	w.tree = tree{proc: w.proc, pid: w.o.PID, every: scanPolls * w.o.Poll}
	w.oom = newOOMWatch(w.proc, w.o.PID)
	w.host = hostWatch{o: w.o, cgroup: w.proc.cgroupOf(w.o.PID)}
	w.stall.moved(time.Now())

	tick := time.NewTicker(w.o.Poll)
	defer tick.Stop()
	for {
		w.look(ctx)
		if w.over {
			return
		}
		if url := w.url(); url != "" && w.probing == "" {
			w.probing = url
			p := &prober{c: newClient(url, w.o.Key), rel: w.o.Release, every: w.o.Probe, apart: w.o.Probe, out: w.reports}
			wg.Go(func() { p.run(ctx) })
		}
		select {
		case <-ctx.Done():
			w.timedOut()
			return
		case r := <-w.reports:
			w.answered(ctx, r)
		case <-w.log.ready():
		case <-tick.C:
		}
		if w.over {
			return
		}
	}
}

// look takes one look at everything but the port: the log first, since it
// knows causes.
func (w *watcher) look(ctx context.Context) {
	w.readLog()
	if w.over {
		return
	}
	switch quiet := time.Since(w.written); {
	case quiet >= silence:
		w.parse.End()
	case quiet >= w.o.Poll:
		w.parse.Settle()
	}
	if !w.live && !w.log.more {
		w.history()
	}
	if f := w.start().Failure; f != nil {
		w.failByLog(f)
		return
	}
	if w.start().Stopped {
		w.fail(CodeStopped, "the log says that the server was asked to end (SIGTERM)")
		return
	}
	w.processes()
	if w.over {
		return
	}
	if w.log.given() {
		w.readyByLog()
		if !w.over {
			w.hostMemory(ctx)
		}
		if !w.over {
			w.stalled()
		}
	}
}

// start is what the log has said, an empty start without a log.
func (w *watcher) start() *serverlog.Start { return w.parse.Start() }

// url is what to ask: what was given, else where the log's arguments say that
// the server will listen.
func (w *watcher) url() string {
	if w.o.URL != "" {
		return w.o.URL
	}
	return urlOf(w.start())
}

// urlOf is the address of the server whose arguments a log has, "" when it
// does not say or the server speaks another protocol.
func urlOf(s *serverlog.Start) string {
	port := s.Int("port")
	if port <= 0 || s.True("grpc_mode") || s.True("smg_grpc_mode") {
		return ""
	}
	scheme := "http"
	if s.Text("ssl_certfile") != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
}

// silence is how long a log is quiet before a traceback that has not named its
// exception counts as ended: it was cut short.
const silence = 3 * time.Second

// readLog reads what is new.
func (w *watcher) readLog() {
	n, err := w.log.read(w.parse)
	if n > 0 {
		w.written = time.Now()
	}
	if err != nil && !w.said[codeLog] {
		w.said[codeLog] = true
		w.tell(Event{Kind: Warned, Message: "the log cannot be read: " + err.Error()})
	}
	if w.log.ended() {
		w.parse.Close()
	}
}

// codeLog marks that a log that cannot be read was said once.
const codeLog finding.Code = "log"

// logEvent takes what a line of the log changed.
func (w *watcher) logEvent(e serverlog.Event) {
	switch e.Kind {
	case serverlog.NewStart, serverlog.PhaseBegun, serverlog.Advanced, serverlog.Reported:
		w.stall.moved(time.Now())
	}
	if !w.live || w.over {
		return
	}
	switch e.Kind {
	case serverlog.PhaseBegun, serverlog.NewStart, serverlog.BecameUp:
		w.tell(Event{Kind: PhaseChanged, Phase: e.Phase, Message: e.Message})
	case serverlog.Advanced:
		w.tell(Event{Kind: Progressed, Phase: e.Phase, Progress: w.start().Progress, Message: e.Message})
	}
}

// history ends the reading of what was in the log when the watch began. What
// it says of a start that is older than the process is forgotten.
func (w *watcher) history() {
	w.live = true
	if s := w.start(); s.First != "" && w.stale(s.First) {
		w.parse.Restart()
	}
}

// stale reports whether a time stamp in the log's history is older than the
// process.
func (w *watcher) stale(stamp string) bool {
	q, ok := w.proc.process(w.o.PID)
	born, written := w.proc.startedAt(q), w.log.modified()
	if w.o.PID == 0 || !ok || born.IsZero() || written.IsZero() {
		return false
	}
	const margin = 2 * time.Second // the kernel tells the birth to the second
	born = born.Add(-margin)
	if written.Before(born) {
		return true
	}
	at, err1 := parseStamp(stamp)
	last, err2 := parseStamp(w.start().Last)
	if err1 != nil || err2 != nil {
		return false
	}
	// The log has the server's local time. The file's own time tells how far
	// it is from ours: some quarters of an hour, or it is no live log.
	const quarter, day = 15 * time.Minute, 15 * time.Hour
	away := written.Sub(last)
	zone := away.Round(quarter)
	if rest := (away - zone).Abs(); zone.Abs() > day || rest > time.Minute {
		return false
	}
	return at.Add(zone).Before(born)
}

func parseStamp(s string) (time.Time, error) {
	return time.ParseInLocation("2006-01-02 15:04:05", s[:min(len(s), 19)], time.Local)
}

// tell yields an event, completed.
func (w *watcher) tell(e Event) {
	if w.over {
		return
	}
	e.Time = time.Now()
	if w.log.given() {
		e.Start = w.start()
		if e.Phase == serverlog.Starting {
			e.Phase = e.Start.Phase
		}
		if e.Progress == nil {
			e.Progress = e.Start.Progress
		}
	}
	if !w.yield(e) {
		w.over = true
	}
}

// warn says something once.
func (w *watcher) warn(code finding.Code, message string) {
	if !w.said[code] {
		w.said[code] = true
		w.tell(Event{Kind: Warned, Code: code, Message: message})
	}
}

// finish tells the outcome.
func (w *watcher) finish(e Event) {
	e.Kind = Finished
	if e.Outcome != Ready {
		e.Tail = w.parse.Tail()
		if d, ok := finding.Explain(e.Code); ok {
			e.Fix = d.Do
		}
	}
	w.tell(e)
	w.over = true
}

func (w *watcher) fail(code finding.Code, cause string) {
	d, _ := finding.Explain(code)
	msg := d.Summary
	if w.log.given() {
		msg = fmt.Sprintf("%s: %s", w.where(), msg)
	}
	w.finish(Event{Outcome: HasFailed, Code: code, Cause: cause, Message: msg})
}

// where names the phase of a failure.
func (w *watcher) where() string {
	s := w.start()
	if s.Failure != nil {
		if s.Failure.Phase == serverlog.Ready {
			return "while serving"
		}
		return "in " + s.Failure.Phase.String()
	}
	if s.Phase == serverlog.Ready {
		return "after the ready line"
	}
	return "in " + s.Phase.String()
}

// timedOut says what was still missing.
func (w *watcher) timedOut() {
	cause := fmt.Sprintf("not ready after %v", time.Since(w.began).Round(time.Second))
	if w.log.given() {
		cause += fmt.Sprintf(": the log is in phase %s", w.start().Phase)
		if p := w.start().Progress; p != nil {
			cause += fmt.Sprintf(" (%d of %d)", p.Done, p.Total)
		}
	}
	if w.answer != nil {
		cause += fmt.Sprintf("; %s: %v", w.probing, w.answer)
	}
	w.finish(Event{Outcome: TimedOut, Code: CodeTimeout, Cause: cause, Message: "not ready in time"})
}
