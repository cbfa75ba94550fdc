// Package serverlog reads the log of an SGLang server's start, of every
// release since 0.4.6, as typed phases and figures.
//
// A log is written by several processes at once, grows, is appended to by the
// next launch and is wrapped by Docker, journald or Compose. A Parser takes it
// as a stream in any pieces, with constant memory: it keeps what the lines
// said, never the lines.
//
// Import it to follow or to read back a start from a Go program:
//
//	s, err := serverlog.Read(f)
//	fmt.Println(s.Phase, s.Sizes, s.Failure)
package serverlog

import (
	"time"

	"github.com/sglplan/sglplan/planner/units"
)

// Start is what a log says about the last start in it: what follows its last
// arguments line. Sizes that SGLang prints as GB are GiB and carry the two
// decimals of the log, host pools are 1e9 bytes.
type Start struct {
	Phase    Phase     `json:"phase"`
	Progress *Progress `json:"progress,omitempty"` // of the phase's bar, nil when it has none
	// Ranks in the order in which they first spoke. A server with one GPU has
	// a single rank with an empty name.
	Ranks   []*Rank            `json:"ranks,omitempty"`
	Sizes   *Capacity          `json:"sizes,omitempty"`
	Timings map[string]float64 `json:"timings_s,omitempty"` // seconds, as the release sums them up (0.5.17+)
	Address string             `json:"address,omitempty"`   // where the web server says it listens
	Ready   bool               `json:"ready"`               // the ready line was seen
	Stopped bool               `json:"stopped,omitempty"`   // it was asked to end (SIGTERM)
	Failure *Failure           `json:"failure,omitempty"`
	// Suspect is an exception that need not be fatal: the main process or a
	// library printed it. It is the cause if the process ends.
	Suspect *Failure `json:"suspect,omitempty"`
	// Time stamps as the log has them: the server's local time.
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	// NoPrefillGraphs says why the release captured none by itself.
	NoPrefillGraphs string `json:"no_prefill_graphs,omitempty"`

	floor     Phase
	byName    map[string]*Rank
	arguments []byte         // the arguments line, as long as nobody asked
	parsed    map[string]any // the same, read
}

// Rank is what one scheduler process said.
type Rank struct {
	Name      string       `json:"rank"` // "TP0", "DP1 TP3", "" for a single GPU
	Phase     Phase        `json:"phase"`
	InitUsage *units.Bytes `json:"init_usage_bytes,omitempty"` // process groups
	Loads     []Load       `json:"loads,omitempty"`            // the target, then the draft
	Pools     []Pool       `json:"pools,omitempty"`
	States    []States     `json:"states,omitempty"`
	DSV4      *DSV4        `json:"dsv4,omitempty"`
	Window    *Window      `json:"window,omitempty"`
	PoolEnds  []PoolEnd    `json:"pool_ends,omitempty"`
	Graphs    []Graph      `json:"graphs,omitempty"`
	HostPools []HostPool   `json:"host_pools,omitempty"`

	poolsDone bool // the pools that were begun have ended
}

// stage is the phase a rank is in, which is capture as soon as its pools have
// ended: cuBLAS handles and attention backends come before the first line of
// capture.
func (r *Rank) stage() Phase {
	if r.Phase == Pools && r.poolsDone {
		return Graphs
	}
	return r.Phase
}

// Load is the loading of one model.
type Load struct {
	BeginFree *units.Bytes `json:"begin_free_bytes,omitempty"`
	EndFree   *units.Bytes `json:"end_free_bytes,omitempty"`
	Usage     *units.Bytes `json:"usage_bytes,omitempty"`
	Seconds   float64      `json:"seconds,omitempty"`
	Class     string       `json:"class,omitempty"` // LlamaForCausalLM
	AfterPool bool         `json:"after_pool,omitempty"`
}

// Pool is one KV pool of a rank.
type Pool struct {
	Label  string      `json:"label,omitempty"` // "Full", "SWA"
	DType  string      `json:"dtype,omitempty"`
	Tokens int64       `json:"tokens,omitempty"` // 0 in releases that do not say
	Bytes  units.Bytes `json:"bytes"`            // K and V together
	Bound  bool        `json:"bound,omitempty"`  // an upper bound; the size follows after capture
}

// States is the state pool of linear-attention layers.
type States struct {
	Slots int64       `json:"slots,omitempty"`
	Bytes units.Bytes `json:"bytes"` // conv, ssm and intermediate states together
}

// DSV4 is how DeepSeek-V4 describes its pools.
type DSV4 struct {
	BytesPerToken float64     `json:"bytes_per_full_token"`
	Available     units.Bytes `json:"available_bytes"`
	Tokens        int64       `json:"full_tokens"`
}

// Window is the split of a pool between full and window layers.
type Window struct {
	Full int64 `json:"full_tokens"`
	SWA  int64 `json:"swa_tokens"`
}

// PoolEnd is what was free when the pools of a model were made.
type PoolEnd struct {
	Free units.Bytes `json:"free_bytes"`
}

// Graph is one capture.
type Graph struct {
	Name      string       `json:"name"` // "decode", "prefill", "target verify"
	BeginFree *units.Bytes `json:"begin_free_bytes,omitempty"`
	EndFree   *units.Bytes `json:"end_free_bytes,omitempty"`
	Usage     *units.Bytes `json:"usage_bytes,omitempty"`
	// LowestFree is the least that the capture's own bar showed.
	LowestFree *units.Bytes `json:"lowest_free_bytes,omitempty"`
	Seconds    float64      `json:"seconds,omitempty"`
	Ended      bool         `json:"ended"`
}

// HostPool is one host pool, announced before it is allocated.
type HostPool struct {
	Label  string      `json:"label"`
	Tokens int64       `json:"tokens,omitempty"`
	Bytes  units.Bytes `json:"bytes"`
}

// Capacity is the line that a scheduler prints when its pools and graphs are done.
type Capacity struct {
	MaxTotalNumTokens  int64        `json:"max_total_num_tokens"`
	ChunkedPrefillSize int64        `json:"chunked_prefill_size,omitempty"`
	MaxPrefillTokens   int64        `json:"max_prefill_tokens,omitempty"`
	MaxRunningRequests int64        `json:"max_running_requests,omitempty"`
	ContextLen         int64        `json:"context_len,omitempty"`
	Available          *units.Bytes `json:"available_gpu_mem_bytes,omitempty"` // 0.4.7+
}

// Progress is a progress bar.
type Progress struct {
	Label     string        `json:"label,omitempty"`
	Done      int64         `json:"done"`
	Total     int64         `json:"total"`
	Rate      string        `json:"rate,omitempty"` // as printed, "1.81it/s" or "2.84s/it"
	Elapsed   time.Duration `json:"-"`
	Remaining time.Duration `json:"-"` // negative when the bar does not know
}

// Fraction is the part done, 0 to 1.
func (p Progress) Fraction() float64 {
	if p.Total <= 0 {
		return 0
	}
	return min(max(float64(p.Done)/float64(p.Total), 0), 1)
}

// rank returns the rank of a name, nil when there are too many.
func (s *Start) rank(name []byte) *Rank {
	if r, ok := s.byName[string(name)]; ok {
		return r
	}
	if len(s.Ranks) >= maxRanks {
		return nil
	}
	r := &Rank{Name: string(name)}
	if s.byName == nil {
		s.byName = map[string]*Rank{}
	}
	s.byName[r.Name] = r
	s.Ranks = append(s.Ranks, r)
	return r
}

// Limits on what is kept of a hostile log.
const (
	maxRanks = 4096
	maxItems = 64 // loads, pools, captures of a rank
)

// settlePhase works out the phase of the whole start: all ranks do the same
// work, so it is that of the slowest, but never before what a process for all
// of them has said.
func (s *Start) settlePhase() {
	p := s.floor
	if p < Sizes && len(s.Ranks) > 0 {
		least := Ready
		for _, r := range s.Ranks {
			least = min(least, r.Phase)
		}
		p = max(p, least)
	}
	s.Phase = p
}
