package startup

import (
	"errors"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// ErrNothingMeasured says that a log holds no figure that a plan could use.
var ErrNothingMeasured = errors.New("the log has none of the figures of a start (Load weight begin, Memory pool end, max_total_num_tokens)")

// Calibrate takes from a log what a later plan of the same model and layout
// can use instead of its estimates.
func Calibrate(s *serverlog.Start) (planner.Calibration, error) {
	c := planner.Calibration{Schema: planner.Schema, ModelPath: s.Text("model_path"), TPSize: s.Int("tp_size")}
	if f, ok := s.Float("mem_fraction_static"); ok {
		c.MemFraction = &f
	}
	m := Measure(s)
	c.PreLoadFree, c.Weights, c.PoolEndFree, c.HostPoolPerRank = m.PreLoadFree, m.Weights, m.PoolEndFree, m.HostPoolPerRank
	if m.Tokens > 0 {
		c.MaxTotalTokens = &m.Tokens
	}
	c.NeedStart = m.NeedStart
	if f := s.Failure; f != nil {
		c.DiedServing = f.Code == serverlog.CodeOOMServing
		c.DiedInCapture = f.Code == serverlog.CodeOOMCapture
	}
	if c.PreLoadFree == nil && c.PoolEndFree == nil && c.MaxTotalTokens == nil && c.HostPoolPerRank == nil {
		return c, ErrNothingMeasured
	}
	return c, nil
}

// Measured is what a log says about a rank, the tightest of all ranks. Nil is
// not said.
type Measured struct {
	PreLoadFree     *units.Bytes  // free when loading begins
	Weights         *units.Bytes  // what loading took until the pools
	Tokens          int64         // max_total_num_tokens, 0 not said
	Requests        int64         // max_running_requests
	KVPool          *units.Bytes  // all KV pools, the draft's included
	States          *units.Bytes  // state pools of linear attention
	PoolEndFree     *units.Bytes  // after all pools
	Graphs          *units.Bytes  // what captures kept
	NeedStart       *figure.Bytes // the most that the start took after the pools
	ReadyFree       *units.Bytes  // when the schedulers were done
	HostPoolPerRank *units.Bytes
}

// Measure reads the figures of a start. SGLang takes the minimum over all
// ranks for its budget, so that is what is taken here.
func Measure(s *serverlog.Start) Measured {
	var m Measured
	for _, r := range s.Ranks {
		m.loads(r)
		m.pools(r)
		m.graphs(r)
	}
	if m.PreLoadFree != nil && m.Weights != nil { // so far what was free after loading
		w := *m.PreLoadFree - *m.Weights
		m.Weights = &w
	} else {
		m.Weights = nil
	}
	if c := s.Sizes; c != nil {
		m.Tokens, m.Requests, m.ReadyFree = c.MaxTotalNumTokens, c.MaxRunningRequests, c.Available
	}
	m.NeedStart = needStart(s)
	return m
}

// least keeps the smaller figure.
func least(at **units.Bytes, v *units.Bytes) {
	if v != nil && (*at == nil || *v < **at) {
		b := *v
		*at = &b
	}
}

// most keeps the larger figure.
func most(at **units.Bytes, v units.Bytes) {
	if v > 0 && (*at == nil || v > **at) {
		*at = &v
	}
}

// loads takes the first figure before loading and the last one before the
// pools; a draft that is loaded after the target's pools is not part of it.
func (m *Measured) loads(r *serverlog.Rank) {
	var after *units.Bytes
	for i, l := range r.Loads {
		if i == 0 {
			least(&m.PreLoadFree, l.BeginFree)
		}
		if !l.AfterPool && l.EndFree != nil {
			after = l.EndFree
		}
	}
	least(&m.Weights, after)
}

func (m *Measured) pools(r *serverlog.Rank) {
	var kv, states, host units.Bytes
	for _, p := range r.Pools {
		if !p.Bound {
			kv += p.Bytes
		}
	}
	for _, st := range r.States {
		states += st.Bytes
	}
	for _, h := range r.HostPools {
		host += h.Bytes
	}
	most(&m.KVPool, kv)
	most(&m.States, states)
	most(&m.HostPoolPerRank, host)
	if n := len(r.PoolEnds); n > 0 {
		least(&m.PoolEndFree, &r.PoolEnds[n-1].Free)
	}
}

func (m *Measured) graphs(r *serverlog.Rank) {
	var sum units.Bytes
	for _, g := range r.Graphs {
		if g.Usage != nil {
			sum += *g.Usage
		}
	}
	most(&m.Graphs, sum)
}

// The bars of capture show what is free at every step. On real starts the
// least of them came within this of the worst moment that NVML saw.
const (
	needBelow = 40 * units.MiB
	needAbove = 100 * units.MiB
)

// needStart is what the rest of the start took out of what the pools left, nil
// for a start that did not come through, or whose bars were not in the log.
func needStart(s *serverlog.Start) *figure.Bytes {
	if s.Sizes == nil || s.Sizes.Available == nil || len(s.Ranks) == 0 {
		return nil
	}
	r := s.Ranks[0]
	for _, other := range s.Ranks { // bars come from one rank alone
		if len(other.Graphs) > 0 && other.Graphs[0].LowestFree != nil {
			r = other
		}
	}
	if len(r.PoolEnds) == 0 || len(r.Graphs) == 0 && !s.True("disable_cuda_graph") {
		return nil
	}
	low := *s.Sizes.Available
	for _, g := range r.Graphs {
		if g.LowestFree == nil {
			return nil
		}
		low = min(low, *g.LowestFree)
	}
	need := max(r.PoolEnds[len(r.PoolEnds)-1].Free-low, 0)
	f := figure.Band(need, max(need-needBelow, 0), need+needAbove, figure.Measured)
	return &f
}
