package startup

import (
	"fmt"
	"strconv"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// CodeOutside: something was measured outside the band of the plan.
var CodeOutside = finding.Define("plan-outside-band",
	"reality is outside the plan's band",
	"What the log or the server says about this entry is not within the low and high that the plan gave, the rounding of the source included.",
	"Write what was measured with `sglplan verify --write FILE` and plan with --calibrate FILE; check that log, command and machine belong together.")

// CodeArgument: an argument was resolved otherwise than planned.
var CodeArgument = finding.Define("plan-argument-differs",
	"the server resolved an argument otherwise than planned",
	"The arguments line or the server's own information shows another value than the plan's for a field that decides about memory.",
	"Check that the release (--sglang), the command and the machine are the ones that were started.")

// Entry is one line of the comparison of plan and reality.
type Entry struct {
	Name    string  `json:"name"`
	Planned Planned `json:"planned"`
	Bytes   *int64  `json:"measured_bytes,omitempty"` // of a size
	Count   *int64  `json:"measured,omitempty"`       // of tokens and requests
	Inside  bool    `json:"inside"`
	Source  string  `json:"source"` // "log", "server_info", "metrics"
}

// Planned is a figure of the plan: bytes or a count.
type Planned = figure.Of[int64]

// Rounding of the sources: logs print GiB and GB with two decimals, half a
// step of which is always possible; a difference of two has both.
const (
	halfGiB = units.GiB / 200
	halfGB  = units.GB / 200
	// granularity is what segments of the allocator leave unused behind the
	// buffers of many layers, 2 MiB at most behind each.
	granularity = 64 * units.MiB
)

// Compare lays what a log measured beside the plan. Entries that either side
// does not know are left out.
func Compare(p *planner.Plan, m Measured) []Entry {
	var out []Entry
	add := func(e *Entry) {
		if e != nil {
			e.Source = "log"
			out = append(out, *e)
		}
	}
	if g := p.GPU; g != nil {
		if g.PreLoad.Value > 0 {
			add(sized("pre_load_free", &g.PreLoad, m.PreLoadFree, halfGiB))
		}
		if g.WeightsBytes.Value > 0 {
			add(sized("weights", &g.WeightsBytes, m.Weights, 2*halfGiB))
		}
		add(counted("max_total_num_tokens", g.MaxTotalNumTokens, m.Tokens))
		add(sized("kv_pool", withTokens(ledger(g, "kv_pool"), g), sum(m.KVPool, m.States), 8*halfGiB))
		add(sized("pool_end_free", g.PoolEndFreeBytes, m.PoolEndFree, granularity))
		if m.NeedStart != nil {
			add(sized("need_start", g.NeedStartBytes, &m.NeedStart.Value, needAbove))
		}
		add(counted("max_running_requests", requests(g), m.Requests))
	}
	if h := p.Host; h != nil && h.PerRankBytes > 0 {
		f := figure.New(h.PerRankBytes, figure.Exact)
		add(sized("host_pools_per_rank", &f, m.HostPoolPerRank, 4*halfGB))
	}
	return out
}

// CompareServer lays what a running server says beside the plan.
func CompareServer(p *planner.Plan, i ServerInfo) []Entry {
	g := p.GPU
	if g == nil {
		return nil
	}
	var out []Entry
	add := func(e *Entry) {
		if e != nil {
			e.Source = "server_info"
			out = append(out, *e)
		}
	}
	if g.WeightsBytes.Value > 0 {
		add(sized("weights", &g.WeightsBytes, i.Weights, 2*halfGiB))
	}
	add(counted("max_total_num_tokens", g.MaxTotalNumTokens, i.Tokens))
	add(sized("kv_pool", withTokens(ledger(g, "kv_pool"), g), i.KVCache, 8*halfGiB))
	add(counted("max_running_requests", requests(g), i.Requests))
	if h := p.Host; h != nil && i.HostTokens > 0 && len(h.Pools) > 0 {
		f := figure.New(h.Pools[0].Tokens, figure.Exact)
		if e := counted("host_pool_tokens", &f, i.HostTokens); e != nil {
			e.Source = "metrics"
			out = append(out, *e)
		}
	}
	return out
}

// withTokens gives a pool the band of its tokens, in proportion.
func withTokens(pool *figure.Bytes, g *planner.GPU) *figure.Bytes {
	t := g.MaxTotalNumTokens
	if pool == nil || t == nil || t.Value <= 0 {
		return pool
	}
	scale := func(n int64) units.Bytes { return units.Bytes(float64(pool.Value) * float64(n) / float64(t.Value)) }
	f := figure.Band(pool.Value, min(pool.Low, scale(t.Low)), max(pool.High, scale(t.High)), pool.Basis)
	return &f
}

// requests is the planned max_running_requests. Where the command does not
// give it, SGLang takes it in proportion to the tokens.
func requests(g *planner.GPU) *figure.Tokens {
	n, t := g.MaxRunningRequests, g.MaxTotalNumTokens
	if n <= 0 || t == nil || t.Value <= 0 {
		return nil
	}
	scale := func(k int64) int64 { return int64(float64(n) * float64(k) / float64(t.Value)) }
	f := figure.Band(n, scale(t.Low), scale(t.High)+1, t.Basis)
	return &f
}

func sum(a, b *units.Bytes) *units.Bytes {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	s := *a + *b
	return &s
}

// ledger is a line of the GPU's ledger as a figure.
func ledger(g *planner.GPU, name string) *figure.Bytes {
	for _, e := range g.Ledger {
		if e.Name == name && e.Bytes > 0 {
			f := figure.Band(e.Bytes, e.Low, e.High, e.Basis)
			return &f
		}
	}
	return nil
}

func sized(name string, planned *figure.Bytes, measured *units.Bytes, rounding units.Bytes) *Entry {
	if planned == nil || measured == nil {
		return nil
	}
	b := int64(*measured)
	return &Entry{
		Name: name, Bytes: &b, Inside: planned.Low-rounding <= *measured && *measured <= planned.High+rounding,
		Planned: Planned{Value: int64(planned.Value), Low: int64(planned.Low), High: int64(planned.High), Basis: planned.Basis},
	}
}

func counted(name string, planned *figure.Tokens, measured int64) *Entry {
	if planned == nil || measured <= 0 {
		return nil
	}
	return &Entry{Name: name, Count: &measured, Inside: planned.Holds(measured), Planned: *planned}
}

// Outside makes findings of the entries that are outside their bands.
func Outside(entries []Entry) []finding.Finding {
	var out []finding.Finding
	for _, e := range entries {
		if e.Inside {
			continue
		}
		f := finding.New(CodeOutside, finding.Error, "", "")
		f.Figures = map[string]int64{"planned": e.Planned.Value, "low": e.Planned.Low, "high": e.Planned.High}
		if e.Bytes != nil {
			f.Figures["measured"] = *e.Bytes
			f.Detail = fmt.Sprintf("%s: planned %v (%v to %v, %s), the %s says %v.", e.Name, units.Bytes(e.Planned.Value), units.Bytes(e.Planned.Low), units.Bytes(e.Planned.High), e.Planned.Basis, e.Source, units.Bytes(*e.Bytes))
		} else {
			f.Figures["measured"] = *e.Count
			f.Detail = fmt.Sprintf("%s: planned %d (%d to %d, %s), the %s says %d.", e.Name, e.Planned.Value, e.Planned.Low, e.Planned.High, e.Planned.Basis, e.Source, *e.Count)
		}
		out = append(out, f)
	}
	return out
}

// memoryArguments are the fields whose resolved values decide about memory.
var memoryArguments = []string{
	"mem_fraction_static", "chunked_prefill_size", "max_prefill_tokens", "max_running_requests", "max_total_tokens", "page_size",
	"kv_cache_dtype", "quantization", "dtype", "context_length", "tp_size", "pp_size", "dp_size", "ep_size", "enable_dp_attention",
	"attention_backend", "disable_cuda_graph", "cuda_graph_max_bs", "cuda_graph_max_bs_decode", "cuda_graph_max_bs_prefill",
	"disable_radix_cache", "swa_full_tokens_ratio", "speculative_algorithm", "speculative_num_draft_tokens",
	"enable_hierarchical_cache", "hicache_size", "hicache_ratio", "hicache_mem_layout", "cpu_offload_gb",
}

// Argument is a field that plan and server resolved differently.
type Argument struct {
	Name    string `json:"name"`
	Planned any    `json:"planned"`
	Actual  any    `json:"actual"`
}

// CompareArguments finds the memory-relevant arguments that differ between the
// plan and what a log or a server says; fields that one side does not have are
// left out.
func CompareArguments(p *planner.Plan, actual map[string]any) ([]Argument, []finding.Finding) {
	var out []Argument
	var said []finding.Finding
	for _, name := range memoryArguments {
		planned, ok1 := p.Launch.Resolved[name]
		have, ok2 := actual[name]
		if !ok1 || !ok2 || sameValue(fmt.Sprint(planned), fmt.Sprint(have)) {
			continue
		}
		out = append(out, Argument{name, planned, have})
		said = append(said, finding.New(CodeArgument, finding.Warning, "", fmt.Sprintf("%s: planned %v, the server has %v.", name, planned, have)))
	}
	return out, said
}

// sameValue compares two printed values; numbers by value, since 2 and 2.0 are
// the same ratio.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}
