package activation

import (
	"math"
	"sync"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// Result is what a launch takes after its pools, counted from the free memory
// where the pools end.
type Result struct {
	Start   figure.Bytes // the worst moment up to ready
	Ready   figure.Bytes // what stays
	Serving figure.Bytes // the worst moment of the first load

	// StartFloor and ServingFloor count only what is alive at once and the
	// low end of the rest: with less than that free the launch surely fails.
	// Between floor and band it may live on retries, because outside a
	// capture the allocator empties its cache before it gives up.
	StartFloor, ServingFloor units.Bytes

	// Terms are the named shares, in the order in which they appear.
	Terms []Term
	// Unmeasured names what nobody has measured about this class of launch;
	// the bands are wide for it.
	Unmeasured []string
	// PerRequest is what each running request takes beyond DecodeBatch, which
	// the needs assume to decode at once.
	PerRequest  units.Bytes
	DecodeBatch int64

	// LongPrompt is what the last chunk of a prompt as long as the context may
	// take beyond Serving: MLA projects the whole prefix up to full heads.
	LongPrompt units.Bytes

	// NoPrefillGraphs is the same launch after the gate has left its prefill
	// graphs out; nil without such a gate. GateAt is the free memory where
	// the pools end below which that happens.
	NoPrefillGraphs *Result
	GateAt          figure.Bytes

	eager  EagerBuffers
	tokens int64
}

// Safe is the free memory where the pools end from which on the launch is known
// to live: the high end of both needs, and room for the longest prompt.
func (r Result) Safe() units.Bytes { return max(r.Start.High, r.Serving.High+r.LongPrompt) }

// At returns the result at another size of the pool. It allocates nothing;
// Terms stay those of the first size.
func (r Result) At(tokens int64) Result {
	d := r.eager.At(tokens) - r.eager.At(r.tokens)
	for _, f := range [...]*figure.Bytes{&r.Start, &r.Ready, &r.Serving, &r.GateAt} {
		f.Value, f.Low, f.High = f.Value+d, f.Low+d, f.High+d
	}
	r.StartFloor += d
	r.ServingFloor += d
	r.tokens = tokens
	return r
}

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
	var slack, replay units.Bytes
	if l.Decode != nil && l.DecodeFirst {
		c.decode(l, s)
	}
	if l.Prefill != nil {
		slack, replay = c.prefill(l, &l.Body, l.Prefill, "", s)
	}
	if l.Decode != nil && !l.DecodeFirst {
		c.decode(l, s)
	}
	for i := range l.Drafts {
		c.draft(l, &l.Drafts[i], s)
	}
	c.add(l.AtReady...)
	start := c.start
	c.late = c.now
	c.add(l.Late...)
	ready := c.now
	load, longest := c.serve(l, s)

	share := 0.0
	r := Result{Terms: c.Terms, eager: l.Eager, tokens: l.Tokens, DecodeBatch: l.Serving.DecodeBatch, LongPrompt: longest}
	for _, u := range l.Unmeasured {
		share += u.Part * u.Part
		r.Unmeasured = append(r.Unmeasured, u.What)
	}
	share = math.Sqrt(share)
	part := func(b units.Bytes, f float64) units.Bytes { return units.Bytes(float64(b) * f) }
	band := func(v, half units.Bytes) figure.Bytes {
		return figure.Band(v, max(0, v-half), v+half, figure.Estimated)
	}
	r.Start = band(start, l.Spread.Start+part(replay, l.Spread.Replay)+part(start, share))
	readyHalf := l.Spread.Ready + part(c.graph, l.Spread.Replay*1.25) + part(ready, share)
	r.Ready = band(ready, readyHalf)
	// What appears late may do so before or after the server is ready.
	r.Start.High = max(r.Start.High, min(r.Ready.High, r.Start.High+ready-c.late))
	r.Serving = band(c.now, readyHalf+l.Spread.Serving+part(c.now-ready, l.Spread.Load+share))
	r.Serving.Low = max(r.Serving.Low, r.Ready.Low)
	r.StartFloor = max(0, r.Start.Low-slack)
	r.ServingFloor = min(r.Serving.Low, r.Ready.Low+part(load, 1-share))
	r.PerRequest = units.Bytes(l.Body.Vocab * (elem + 3*logitElem))
	return r
}

// tally adds up the terms as the launch goes on.
type tally struct {
	Terms []Term
	now   units.Bytes // taken and kept so far
	start units.Bytes // the worst moment so far
	late  units.Bytes // taken before the terms that appear late
	graph units.Bytes // of the graph pool of the prefill replay
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
	rp := replayCapture(b, g.Sizes, l.CaptureWorkspace, l.SharedOutput, s)
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

// serve adds what the first load takes. It returns the live part of it, and
// what a prompt as long as the context takes more.
func (c *tally) serve(l *Launch, s *scratch) (live, longest units.Bytes) {
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
	if l.Serving.Chunk > l.Prefill.Max() {
		longest = max(0, replayPrefix(l, l.Serving.Longest, s)-sv.Reserved)
	}
	return sv.Live, longest
}

func sum(ts []Term) figure.Bytes {
	total := figure.New(units.Bytes(0), figure.Exact)
	for _, t := range ts {
		total = total.Plus(t.Bytes)
	}
	return total
}
