package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// follower shows the events of a watch.
type follower interface{ event(e startup.Event) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// jsonFollower writes one object a line.
type jsonFollower struct {
	out  io.Writer
	last string
}

type waitLine struct {
	Phase    serverlog.Phase `json:"phase"`
	Progress *float64        `json:"progress,omitempty"`
	Message  string          `json:"message,omitempty"`
	Warning  string          `json:"warning,omitempty"`
	Outcome  startup.Outcome `json:"outcome,omitempty"`
	Code     string          `json:"code,omitempty"`
	Cause    string          `json:"cause,omitempty"`
	Fix      string          `json:"fix,omitempty"`
	Tail     []string        `json:"last_lines,omitempty"`
}

func (j *jsonFollower) event(e startup.Event) {
	l := waitLine{Phase: e.Phase, Message: describe(e), Outcome: e.Outcome, Cause: e.Cause, Fix: e.Fix, Tail: e.Tail}
	if e.Progress != nil {
		f := float64(int(e.Progress.Fraction()*1000+0.5)) / 1000
		l.Progress = &f
	}
	if e.Kind == startup.Warned {
		l.Warning = string(e.Code)
	} else {
		l.Code = string(e.Code)
	}
	b, err := json.Marshal(l)
	if err != nil || string(b) == j.last {
		return
	}
	j.last = string(b)
	_, _ = fmt.Fprintf(j.out, "%s\n", b) // a closed pipe shows at the end
}

// plainFollower writes a line for every change of phase and warning, and one
// for each tenth of a bar.
type plainFollower struct {
	out   io.Writer
	tenth int
	last  string
}

func (p *plainFollower) event(e startup.Event) {
	if e.Kind == startup.Progressed {
		tenth := int(e.Progress.Fraction() * 10)
		if tenth == p.tenth {
			return
		}
		p.tenth = tenth
	}
	line := render.Clean(describe(e))
	if line == p.last {
		return
	}
	p.last = line
	mark := ""
	if e.Kind == startup.Warned {
		mark = "warning: "
	}
	if e.Kind == startup.PhaseChanged {
		line = cut(line, plainWidth)
	}
	_, _ = fmt.Fprintf(p.out, "%s %s%s\n", e.Time.Format("15:04:05"), mark, line)
}

// plainWidth is where the log's own words are cut in a plain line.
const plainWidth = 110

// describe words an event.
func describe(e startup.Event) string {
	switch {
	case e.Kind == startup.Progressed:
		return fmt.Sprintf("%s %s", e.Phase, barText(e.Progress))
	case e.Kind == startup.PhaseChanged && e.Message == "":
		return e.Phase.String()
	case e.Kind == startup.PhaseChanged:
		return e.Phase.String() + ": " + e.Message
	}
	return e.Message
}

// barText is "62 of 64, 97 %, 1.81it/s, 0:01 left".
func barText(p *serverlog.Progress) string {
	s := fmt.Sprintf("%d of %d, %.0f %%", p.Done, p.Total, 100*p.Fraction())
	if p.Rate != "" && !strings.HasPrefix(p.Rate, "?") {
		s += ", " + p.Rate
	}
	if p.Remaining >= 0 && p.Done < p.Total {
		s += ", " + clock(p.Remaining) + " left"
	}
	return s
}

func clock(d time.Duration) string {
	d = d.Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// phaseFigure is what a phase that has passed came to, "" when the log did not
// say.
func phaseFigure(s *serverlog.Start, p serverlog.Phase) string {
	if s == nil {
		return ""
	}
	m := startup.Measure(s)
	switch {
	case p == serverlog.Weights && m.Weights != nil:
		return fmt.Sprintf("%v on each GPU", *m.Weights)
	case p == serverlog.Pools && m.PoolEndFree != nil && m.KVPool != nil:
		return fmt.Sprintf("KV %v, %v left", *m.KVPool, *m.PoolEndFree)
	case p == serverlog.Graphs && m.Graphs != nil:
		return fmt.Sprintf("kept %v", *m.Graphs)
	case p == serverlog.Sizes && m.Tokens > 0:
		return fmt.Sprintf("%d KV tokens", m.Tokens)
	case p == serverlog.HostPools && m.HostPoolPerRank != nil:
		return fmt.Sprintf("%.2f GB for each of %d ranks", m.HostPoolPerRank.GB(), len(s.Ranks))
	}
	return ""
}
