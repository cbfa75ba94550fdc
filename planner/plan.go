package planner

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/units"
)

// Schema is the name and version of the JSON that a Plan becomes.
const Schema = "sglplan/v1"

// Verdict is the answer about a launch.
type Verdict string

// The verdicts. Reject is said only of what is known not to fit or outside its
// stated band; Undecided when a part that decides could not be known.
const (
	OK        Verdict = "ok"
	Warn      Verdict = "warn"
	Reject    Verdict = "reject"
	Undecided Verdict = "undecided"
)

// Plan is everything that is known about a launch before it starts. Parts that
// could not be known are nil and a finding says why.
type Plan struct {
	Schema    string             `json:"schema"`
	Verdict   Verdict            `json:"verdict"`
	Source    *Source            `json:"source,omitempty"`
	Launch    LaunchInfo         `json:"launch"`
	Ranks     *Ranks             `json:"ranks"`
	GPU       *GPU               `json:"gpu"`
	Host      *hostledger.Ledger `json:"host"`
	Nodes     []Node             `json:"nodes,omitempty"` // each host of a launch that spans several that are known
	Recommend *Recommendation    `json:"recommend"`
	Findings  []finding.Finding  `json:"findings"`
	// Recommended is set by Recommend: the plan is that of the recommended
	// launch.
	Recommended bool         `json:"recommended,omitempty"`
	Sweep       []SweepPoint `json:"sweep,omitempty"`
}

// Source is where a launch was found when it came from a file.
type Source struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Container string `json:"container,omitempty"`
}

// LaunchInfo is the launch as SGLang would understand it.
type LaunchInfo struct {
	SGLangVersion string                 `json:"sglang_version"`
	ModelPath     string                 `json:"model_path"`
	Argv          []string               `json:"argv,omitempty"`
	Resolved      map[string]any         `json:"resolved"`          // SGLang's own field names of that release
	Origins       map[string]args.Origin `json:"origins,omitempty"` // of every field that is not a plain default
}

// Ranks counts the scheduler processes, each of which has a GPU of its own.
type Ranks struct {
	Total       int `json:"total"`        // of the whole launch, all replicas and hosts
	OnThisHost  int `json:"on_this_host"` // of the first host, where several are planned
	AttentionTP int `json:"attention_tp"` // ranks that split one attention between them
}

// GPU is the memory of the tightest GPU of the launch: every figure is of one
// rank. Sizes are bytes, zero or nil where they could not be known; those after
// the pools are nil as long as the pools are.
type GPU struct {
	Name             string       `json:"name,omitempty"` // as NVML gives it
	Count            int          `json:"count"`          // GPUs of this host that the launch takes
	TotalBytes       units.Bytes  `json:"total_bytes,omitempty"`
	KVBytesPerToken  float64      `json:"kv_bytes_per_token"`  // of all layers of the rank
	PreLoadFreeBytes units.Bytes  `json:"pre_load_free_bytes"` // when loading begins
	PreLoad          figure.Bytes `json:"pre_load"`            // the same with its band
	WeightsBytes     figure.Bytes `json:"weights_bytes"`       // what loading takes, from its begin to the pools
	// MaxTotalNumTokens is SGLang's own figure, on which all ranks agree.
	MaxTotalNumTokens  *figure.Tokens `json:"max_total_num_tokens"`
	MaxRunningRequests int64          `json:"max_running_requests,omitempty"`
	PoolEndFreeBytes   *figure.Bytes  `json:"pool_end_free_bytes"` // after weights and pools
	// NeedStartBytes and NeedServingBytes are the most that graph capture and
	// serving take of PoolEndFreeBytes; a launch lives when both fit.
	NeedStartBytes   *figure.Bytes `json:"need_start_bytes"`
	NeedServingBytes *figure.Bytes `json:"need_serving_bytes"`
	// Phase is where the launch would or may fail: "weights", "pool",
	// "graph capture", "serving"; "" when nowhere.
	Phase              string  `json:"phase,omitempty"`
	MemFraction        float64 `json:"mem_fraction_static"`                   // the value planned with
	MinimumMemFraction float64 `json:"minimum_mem_fraction_static,omitempty"` // below it there is no room for a single page
	// TokensPerWeightsPct says by how many percent the tokens are off for each
	// percent by which the weights are.
	TokensPerWeightsPct float64        `json:"tokens_percent_per_weights_percent,omitempty"`
	Pools               []Pool         `json:"pools,omitempty"`
	Ledger              []figure.Entry `json:"ledger"` // adds up to PreLoadFreeBytes
	Concurrency         *Concurrency   `json:"concurrency,omitempty"`
	Unmeasured          []string       `json:"unmeasured,omitempty"` // what about this launch nobody has measured
}

// Pool is one device pool of a rank: tokens with so many bytes each, or slots
// of recurrent state.
type Pool struct {
	Name          string      `json:"name"`   // full, swa, mamba, indexer, ...
	Layers        int         `json:"layers"` // of the rank's stage that are in it
	BytesPerToken float64     `json:"bytes_per_token,omitempty"`
	BytesPerSlot  units.Bytes `json:"bytes_per_slot,omitempty"`
	Tokens        int64       `json:"tokens,omitempty"`
	Slots         int64       `json:"slots,omitempty"`
	Bytes         units.Bytes `json:"bytes"` // as allocated, padding included
}

// Concurrency says how many requests of a size fit at once.
type Concurrency struct {
	TokensPerRequest int64  `json:"tokens_per_request"`
	Requests         int64  `json:"requests"`
	Bound            string `json:"bound,omitempty"`    // what limits them: tokens, window, states, max_running_requests
	TooLong          bool   `json:"too_long,omitempty"` // one request is longer than the context allows
}

// Recommendation is what to type instead, or the same when it was right.
type Recommendation struct {
	// MemFractionStatic is the largest fraction that is safe, nil when none
	// is; a safe one that the command gives stays.
	MemFractionStatic *float64       `json:"mem_fraction_static"`
	HicacheSize       *int64         `json:"hicache_size"` // decimal GB per rank; nil when HiCache is off
	MaxTotalNumTokens *figure.Tokens `json:"max_total_num_tokens,omitempty"`
	DefaultTokens     *int64         `json:"default_max_total_num_tokens,omitempty"` // at the release's own default fraction
	// LivesThroughGate is a larger fraction that lives only because the
	// release leaves its prefill graphs out when little memory is free.
	LivesThroughGate *float64       `json:"lives_without_prefill_graphs,omitempty"`
	Alternatives     []finding.Fix  `json:"alternatives,omitempty"` // other ways out when no fraction works, best first
	Argv             []string       `json:"argv"`                   // the command to run
	Changed          []finding.Edit `json:"changed,omitempty"`      // what differs from the one given
}

// SweepPoint is one fraction of a sweep.
type SweepPoint struct {
	MemFractionStatic float64       `json:"mem_fraction_static"`
	MaxTotalNumTokens int64         `json:"max_total_num_tokens"`
	PoolEndFreeBytes  units.Bytes   `json:"pool_end_free_bytes"`
	HeadroomBytes     units.Bytes   `json:"headroom_bytes"` // above the high end of both needs
	Verdict           Verdict       `json:"verdict"`        // of the GPU alone
	Phase             string        `json:"phase"`          // as GPU.Phase
	Tokens            figure.Tokens `json:"tokens"`         // MaxTotalNumTokens with its band
}
