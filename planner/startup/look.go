package startup

import (
	"context"
	"os"
	"time"

	"github.com/sglplan/sglplan/planner/sglang/endpoints"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// Status is one look at a start or at a running server.
type Status struct {
	// Start is what the log says, nil without a log.
	Start *serverlog.Start
	// Answer is what the port said, nil when there is no address. Up is true
	// only where it said that the server takes requests.
	URL    string
	Answer *Answer
	Up     bool
	// Model and Version are what the server says about itself, Tokens its
	// max_total_num_tokens; empty when it was not asked or did not say.
	Model, Version string
	Tokens         int64
	// PID is the launcher that was given, Alive whether it lives, Ranks how
	// many schedulers it has.
	PID   int
	Alive bool
	Ranks int
	// Quiet is how long the log has not been written, 0 unknown.
	Quiet time.Duration
}

// Look takes one look: it reads the log that is there and asks the port once.
// The error is about the log, which was named and cannot be read; the rest of
// the status is there all the same.
func Look(ctx context.Context, o Options) (Status, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	s := Status{PID: o.PID}
	var err error
	s.Start, s.Quiet, err = lookLog(o)
	if o.PID != 0 {
		p := proc{o.root}
		q, ok := p.process(o.PID)
		s.Alive = ok && !q.dead()
		for _, q := range p.tree(o.PID) {
			if q.isScheduler() && !q.dead() {
				s.Ranks++
			}
		}
	}
	if s.URL = o.URL; s.URL == "" && s.Start != nil {
		s.URL = urlOf(s.Start)
	}
	if s.URL != "" {
		s.ask(ctx, o)
	}
	return s, err
}

func lookLog(o Options) (*serverlog.Start, time.Duration, error) {
	in := o.LogReader
	var quiet time.Duration
	if in == nil && o.Log != "" {
		f, err := os.Open(o.Log)
		if err != nil {
			return nil, 0, err
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil {
			quiet = time.Since(st.ModTime())
		}
		in = f
	}
	if in == nil {
		return nil, 0, nil
	}
	p := serverlog.New(nil)
	_, err := p.ReadFrom(in)
	p.End()
	return p.Start(), quiet, err
}

func (s *Status) ask(ctx context.Context, o Options) {
	c := newClient(s.URL, o.Key)
	defer c.http.CloseIdleConnections()
	p := &prober{c: c, rel: o.Release}
	e := endpoints.Of(o.Release)
	a := p.ask(ctx, e)
	s.Answer = &a
	if a.State != "up" {
		return
	}
	who := c.identify(ctx, e)
	s.Model, s.Version, s.Tokens = who.modelPath, who.version, who.tokens
	s.Up = p.confirmed(ctx, e, who.version)
}
