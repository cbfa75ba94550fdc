package measured

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// launched is launch.json, as its README describes it.
type launched struct {
	Name       string        `json:"name"`
	SGLang     string        `json:"sglang"`
	GPU        string        `json:"gpu"`
	GPUs       []int         `json:"gpus"`
	GPUTotal   units.Bytes   `json:"gpu_total_bytes"`
	Argv       []string      `json:"argv"`
	Outcome    string        `json:"outcome"`
	Marks      []mark        `json:"marks"`
	Before     moment        `json:"before"`
	PeakStart  []units.Bytes `json:"peak_start_bytes"`
	PeakFirst  []units.Bytes `json:"peak_prefill_burst_bytes"`
	PeakSecond []units.Bytes `json:"peak_decode_burst_bytes"`
	Bursts     []burst       `json:"bursts"`
	Samples    []sample      `json:"samples"`
	Cgroup     cgroup        `json:"cgroup"`
	ServerInfo struct {
		Fraction float64 `json:"mem_fraction_static"`
	} `json:"server_info"`
	RawNote string `json:"note"`
}

type moment struct {
	GPUUsed []units.Bytes `json:"gpu_used_bytes"`
	Mem     struct {
		MemTotal, MemAvailable units.Bytes
	} `json:"mem"`
}

type burst struct {
	Peak     []units.Bytes  `json:"peak_gpu_used_bytes"`
	Statuses map[string]int `json:"statuses"`
}

type cgroup struct {
	Max    string `json:"memory.max"`
	Events string `json:"memory.events"`
}

func (c cgroup) limit() units.Bytes {
	n, _ := strconv.ParseInt(strings.TrimSpace(c.Max), 10, 64)
	return units.Bytes(n)
}

func (c cgroup) killed() bool {
	return strings.Contains(c.Events, "oom_kill ") && !strings.Contains(c.Events, "oom_kill 0")
}

// mark is [seconds, what].
type mark struct {
	At   float64
	What string
}

func (m *mark) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&m.At, &m.What})
}

// sample is [seconds, [used per card], available, shmem].
type sample struct {
	At   float64
	Used []units.Bytes
}

func (s *sample) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&s.At, &s.Used})
}

func (l launched) first(what string) (float64, bool) {
	for _, m := range l.Marks {
		if strings.HasPrefix(m.What, what) {
			return m.At, true
		}
	}
	return 0, false
}

// outcome is how the launch ended, by the log, the marks and the kernel.
func (l launched) outcome(s *serverlog.Start) cases.Outcome {
	_, died := l.first("died")
	switch {
	case l.Cgroup.killed():
		return cases.HostOOM
	case died:
		return cases.OOMServing
	case strings.HasPrefix(l.Outcome, "ready"):
		return cases.Ready
	case s.Failure == nil:
		return cases.ConfigError
	}
	switch s.Failure.Code {
	case serverlog.CodeOOMWeights:
		return cases.OOMWeights
	case serverlog.CodeOOMPools, serverlog.CodeNoRoom:
		return cases.OOMPool
	case serverlog.CodeOOMCapture:
		return cases.OOMGraph
	}
	return cases.ConfigError
}

// note says why a figure of the row is not regular.
func (l launched) note() string {
	if strings.Contains(l.RawNote, "held") {
		return "another process took memory of the card between the reading and the load"
	}
	return ""
}

// seconds is the time to ready, or to the end of a start that failed.
func (l launched) seconds() float64 {
	if at, ok := l.first("ready"); ok {
		return at
	}
	at, _ := l.first("exit")
	return at
}

// observed gathers the figures of the log: SGLang sizes by the rank that has
// least, so the least of all ranks counts.
func (l launched) observed(s *serverlog.Start) cases.Observed {
	var o cases.Observed
	var ends []units.Bytes
	for _, r := range s.Ranks {
		if len(r.Loads) > 0 {
			least(&o.LoadBegin, r.Loads[0].BeginFree)
			least(&o.LoadEnd, r.Loads[beforePools(r)-1].EndFree)
			if l.loaded(r) {
				o.Weights = max(o.Weights, weights(r))
			}
		}
		if n := len(r.PoolEnds); n > 0 {
			least(&o.PoolEnd, &r.PoolEnds[n-1].Free)
			ends = append(ends, r.PoolEnds[n-1].Free)
		}
	}
	o.Tokens = tokens(s)
	if o.Fraction = l.ServerInfo.Fraction; o.Fraction == 0 {
		o.Fraction, _ = s.Float("mem_fraction_static")
	}
	if len(ends) != len(l.GPUs) {
		return o
	}
	if s.Ready || strings.HasPrefix(l.Outcome, "ready") {
		o.NeedStart = l.need(ends, l.peakStart())
	}
	l.needs(ends, &o)
	return o
}

// beforePools counts the loads of a rank that come before its pools: the
// target, and the draft where the release loads it before it sizes them.
func beforePools(r *serverlog.Rank) int {
	n := 1
	for n < len(r.Loads) && !r.Loads[n].AfterPool {
		n++
	}
	return n
}

// loaded reports that the draft, where the launch has one, was loaded too.
func (l launched) loaded(r *serverlog.Rank) bool {
	return len(r.Loads) > 1 || !slices.Contains(l.Argv, "--speculative-draft-model-path")
}

// weights is what those loads took.
func weights(r *serverlog.Rank) float64 {
	var sum units.Bytes
	for _, l := range r.Loads[:beforePools(r)] {
		if l.Usage != nil {
			sum += *l.Usage
		}
	}
	return round(sum)
}

func least(to *float64, b *units.Bytes) {
	if b != nil && (*to == 0 || b.GiB() < *to) {
		*to = round(*b)
	}
}

// tokens is the size that SGLang settled on, or that of the only pool when the
// start ended before it said so.
func tokens(s *serverlog.Start) int64 {
	if s.Sizes != nil {
		return s.Sizes.MaxTotalNumTokens
	}
	if len(s.Ranks) == 0 || len(s.Ranks[0].Pools) == 0 {
		return 0
	}
	r := s.Ranks[0]
	if r.Window != nil || r.DSV4 != nil || len(r.States) > 0 {
		return 0
	}
	return r.Pools[0].Tokens
}

// needs are those of the bursts that were answered: the first two are prompts
// of one chunk and a full decode batch, the others long prompts and prefixes.
func (l launched) needs(ends []units.Bytes, o *cases.Observed) {
	if len(l.Bursts) == 0 {
		if l.PeakFirst != nil && l.outcomeOfBursts() {
			o.NeedServing = max(l.need(ends, l.PeakFirst), l.need(ends, l.PeakSecond))
		}
		return
	}
	for i, b := range l.Bursts {
		if !b.answered() {
			return
		}
		n := l.need(ends, b.Peak)
		if i < 2 {
			o.NeedServing = max(o.NeedServing, n)
		}
		o.NeedLong = max(o.NeedLong, n)
	}
	if len(l.Bursts) < 3 {
		o.NeedLong = 0
	}
}

// outcomeOfBursts reports that the launch lived through its bursts.
func (l launched) outcomeOfBursts() bool {
	_, died := l.first("died")
	return !died
}

func (b burst) answered() bool { return len(b.Statuses) == 1 && b.Statuses["200"] > 0 }

// peakStart is the highest use up to ready.
func (l launched) peakStart() []units.Bytes {
	if l.PeakStart != nil {
		return l.PeakStart
	}
	end, ok := l.first("burst")
	if !ok {
		end = slices.MaxFunc(l.Samples, func(a, b sample) int { return int(a.At - b.At) }).At
	}
	out := make([]units.Bytes, len(l.GPUs))
	for _, s := range l.Samples {
		for i := range min(len(out), len(s.Used)) {
			if s.At <= end {
				out[i] = max(out[i], s.Used[i])
			}
		}
	}
	return out
}

// need is the most that a rank took of what its pools left.
func (l launched) need(ends, used []units.Bytes) float64 {
	var n units.Bytes
	for i, u := range used {
		if i < len(ends) {
			n = max(n, ends[i]-(l.GPUTotal-u))
		}
	}
	return round(n)
}
