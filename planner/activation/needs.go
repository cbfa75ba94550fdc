package activation

import (
	"sync"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Needs computes the needs of a launch.
func Needs(l Launch) Result {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	r := needs(&l, s)
	if l.Gate > 0 && l.Prefill != nil {
		before := sum(l.Before)
		r.GateAt = before.Plus(figure.New(l.Gate+l.Eager.At(l.Tokens), figure.Estimated))
		l.Prefill = nil
		without := needs(&l, s)
		r.NoPrefillGraphs = &without
	}
	return r
}

func needs(l *Launch, s *scratch) Result {
	c := tally{Terms: make([]Term, 0, 24)}
	c.add(l.Before...)
	c.add(Term{"eager input buffers", Buffers, figure.New(l.Eager.At(l.Tokens), figure.Exact), "SGLang: ids, positions and locations for every token of the pool"})
	if l.Decode != nil && l.DecodeFirst {
		c.decode(l, s)
	}
	if l.Prefill != nil {
		c.slack, c.replay = c.prefill(l, &l.Body, l.Prefill, "", s)
	}
	if l.Decode != nil && !l.DecodeFirst {
		c.decode(l, s)
	}
	for i := range l.Drafts {
		c.draft(l, &l.Drafts[i], s)
	}
	c.add(l.AtReady...)
	worst := c.start
	c.late = sum(l.Late).Value
	c.add(l.Late...)
	c.start, c.ready = worst, c.now
	c.serve(l, s)
	return c.result(l)
}

// tally adds up the terms as the launch goes on.
type tally struct {
	Terms []Term
	now   units.Bytes // taken and kept so far
	start units.Bytes // the worst moment so far
	ready units.Bytes // what stays before the first load
	late  units.Bytes // of that, what may appear only after the server is ready

	graph  units.Bytes // graph pools of the prefill replays
	replay units.Bytes // the target's prefill replay: eager cache and graph pool
	slack  units.Bytes // of its eager cache, what was not alive at once

	live    units.Bytes // of the first load, what is alive at once
	longest units.Bytes // what a prompt as long as the context takes more
}

func (c *tally) add(ts ...Term) {
	for _, t := range ts {
		if t.Bytes.Value != 0 || t.Bytes.High != 0 {
			c.Terms = append(c.Terms, t)
			c.now += t.Bytes.Value
		}
	}
	c.start = max(c.start, c.now)
}

const replayed = "replay of the layers' tensors through the caching allocator's rules"

// prefill adds the capture of the prefill graphs. It returns what the eager
// cache holds beyond its live tensors at the worst moment, and the size of
// the replay.
func (c *tally) prefill(l *Launch, b *Body, g *Captures, who string, s *scratch) (slack, replay units.Bytes) {
	rp := replayCapture(b, thin(g.Sizes), l.CaptureWorkspace, l.SharedOutput, s)
	c.add(g.Fixed...)
	extra := sum(g.Extra).Value
	c.start = max(c.start, c.now+rp.Peak+extra)
	c.add(
		Term{who + "prefill graph pool", Graphs, figure.Percent(rp.Graph, 3, 3), replayed},
		Term{who + "output buffer of prefill graphs", Graphs, figure.Percent(rp.Left, 10, 30), replayed},
	)
	c.graph += rp.Graph
	c.Terms = append(c.Terms, Term{who + "peak of the prefill capture, given back", Activations, figure.Percent(rp.Peak-rp.Graph-rp.Left+extra, 5, 5), replayed})
	return rp.Eager - rp.Live, rp.Eager + rp.Graph
}

// draft adds the captures of a draft model.
func (c *tally) draft(l *Launch, d *Stage, s *scratch) {
	c.add(d.Before...)
	if d.Prefill != nil && l.Prefill != nil {
		c.prefill(l, &d.Body, d.Prefill, d.Name+": ", s)
	}
	c.add(d.After...)
}

func (c *tally) decode(l *Launch, s *scratch) {
	c.add(l.Decode.Fixed...)
	if l.Prefill == nil || l.DecodeFirst {
		c.add(l.DecodeAlone...)
		b := l.Body
		b.HoldOutput, b.Extra, b.Stack = false, 0, b.Stack[:min(4, len(b.Stack))]
		c.add(Term{"decode graph pool", Graphs, figure.Percent(replayOnce(&b, l.Decode.Max()*max(1, l.Serving.DecodeRows), s)+l.CaptureWorkspace, 15, 15), replayed})
	}
}

// serve adds what the first load takes.
func (c *tally) serve(l *Launch, s *scratch) {
	sv := replayServing(l, l.Prefill.Max(), s)
	c.Terms = append(c.Terms, Term{"activations of the first long prompts", Activations, figure.Percent(sv.Prefill, 15, 15), replayed})
	if more := sv.Reserved - sv.Prefill; more > 0 {
		c.Terms = append(c.Terms, Term{"logits and sampling of a decode batch", Activations, figure.Percent(more, 15, 15), replayed})
	}
	c.now += sv.Reserved
	for _, t := range l.Serving.Fixed {
		c.Terms = append(c.Terms, t)
		c.now += t.Bytes.Value
	}
	c.live = sv.Live
	if l.Serving.Chunk > l.Prefill.Max() {
		c.longest = max(0, replayPrefix(l, l.Serving.Longest, s)-sv.Reserved)
	}
}

func sum(ts []Term) figure.Bytes {
	total := figure.New(units.Bytes(0), figure.Exact)
	for _, t := range ts {
		total = total.Plus(t.Bytes)
	}
	return total
}
