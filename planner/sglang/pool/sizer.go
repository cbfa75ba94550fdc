package pool

import (
	"math"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Sizer evaluates fractions for one launch on one kind of card.
type Sizer struct {
	par     Parallel
	kv      KVType
	heads   int64
	context int64
	page    int64
	legacy  sizingEra
	mm      float64 // GiB kept for multimodal data
	cap     int64   // --max-total-tokens, 0 none
	head    headroom
	states  *states
	req     requests
	stages  []stage
	tight   int          // the stage whose tokens cost most
	pools   [][]PoolInfo // by stage
	foot    footprints
	window  bool
}

// stage is one pipeline stage.
type stage struct {
	span   span
	solver solver
}

// sizingEra is how a release turns memory into tokens.
type sizingEra int

const (
	floatTokens      sizingEra = iota // to 0.5.6: float floor division
	integerTokens                     // to 0.5.10: integers, split after cap and PP minimum
	configuredTokens                  // 0.5.11 on: configurators
)

// headroom is the room for draft tokens on top of the budget (to 0.5.6).
type headroom struct{ perRequest, buffer int64 }

// New prepares a Sizer for resolved arguments a. draft is the config of the
// draft model, derived as a draft (the target's own for a head inside the
// checkpoint), nil without one; the budget charges it where the resolved
// arguments name its path, as the release does. Findings of severity
// error are refusals that do not depend on memory; the pools are sized all the
// same, as far as the release's arithmetic goes. The Sizer is nil when info is
// not of a supported class.
func New(r release.Release, a *args.Args, info, draft *modelcfg.Info, card machine.Card, env map[string]string) (*Sizer, []finding.Finding) {
	if info == nil || !info.Supported {
		return nil, nil
	}
	b := newBuilder(r, a, info, draft, card, env)
	b.check()
	pp := min(b.par.PP, info.NumHiddenLayers) // check has refused more
	all, ok := stages(info.NumHiddenLayers, pp, env)
	if !ok {
		b.fail(CodePartition, "--pp-size", env["SGLANG_PP_LAYER_PARTITION"])
		all, _ = stages(info.NumHiddenLayers, pp, nil)
	}
	s := &Sizer{par: b.par, kv: b.kv, heads: b.kvHeads, page: b.page, context: int64(info.ContextLen), mm: b.multimodalGiB(), cap: a.Int("max_total_tokens")}
	switch {
	case r.AtLeast("0.5.11"):
		s.legacy = configuredTokens
	case r.AtLeast("0.5.7"):
		s.legacy = integerTokens
	}
	s.states = b.newStates(all)
	s.req = b.newRequests(s.states)
	s.head = b.headroom()
	for i, sp := range all {
		s.stages = append(s.stages, stage{sp, b.newSolver(sp)})
		if s.stages[i].solver.cellBytes() > s.stages[s.tight].solver.cellBytes() {
			s.tight = i
		}
	}
	s.window = info.IsHybridSWA
	for _, sp := range all {
		s.pools = append(s.pools, b.pools(sp))
	}
	s.foot = b.footprints(all[s.tight], s.states)
	return s, b.found
}

// newSolver picks the release's configurator for the model.
func (b *builder) newSolver(s span) solver {
	m := b.m
	switch {
	case m.IsDeepseekV4 && m.IsHybridSWA:
		return b.newCompressed(s)
	case m.Window != nil && b.r.AtLeast("0.5.11"):
		return b.newWindow(s)
	case m.Window != nil && b.r.AtLeast("0.5.7"):
		return b.newWindowLegacy(s)
	case b.r.Before("0.5.8") && b.a.Float("hybrid_kvcache_ratio") > 0 && m.Arch == "Llama4ForConditionalGeneration" && m.ContextLen > m.AttentionChunkSize:
		return b.newWindowChunked(s)
	}
	c := b.defaultCell(s)
	return &uniform{cell: b.withDraft(s, c), page: b.page, zeroKV: b.zeroKVTokens(s), negative: b.r.Before("0.5.20")}
}

// zeroKVTokens is the count where no layer of the stage keeps K and V: another
// stage decides, or the context length does.
func (b *builder) zeroKVTokens(s span) int64 {
	l := b.m.Linear
	if l != nil && len(l.FullLayers) > 0 && b.par.PP > 1 {
		return math.MaxInt64
	}
	if n := b.a.Int("max_total_tokens"); n > 0 {
		return n
	}
	return int64(b.m.ContextLen)
}

// headroom is the draft's room on top of the pool, to 0.5.6.
func (b *builder) headroom() headroom {
	if b.r.AtLeast("0.5.7") || !b.spec.on() || (b.r.AtLeast("0.5.3") && !b.spec.family()) {
		return headroom{}
	}
	return headroom{perRequest: b.spec.steps*b.spec.topk + b.spec.draft, buffer: 100}
}

// multimodalGiB is what a release keeps off the budget for multimodal data
// that is allocated after the pools (mm_runtime_reservation_gb, 0.5.18 on).
func (b *builder) multimodalGiB() float64 {
	if b.r.Before("0.5.18") || !b.m.IsMultimodal {
		return 0
	}
	a := b.a
	_, cacheSet := b.env["SGLANG_VLM_CACHE_SIZE_MB"]
	_, featureSet := b.env["SGLANG_MM_FEATURE_CACHE_MB"]
	cache, feature := b.envInt("SGLANG_VLM_CACHE_SIZE_MB", 100), b.envInt("SGLANG_MM_FEATURE_CACHE_MB", 1024)
	transport := a.Str("mm_feature_transport")
	if b.largeHopperVL() {
		if !cacheSet {
			cache = 0
		}
		keeps := a.Int("mm_preprocess_cache_size_mb") > 0 || cache > 0
		if transport == "" && a.IntOr("nnodes", 1) == 1 && !keeps {
			transport = "cuda_ipc"
		}
		if !featureSet && a.Int("max_running_requests") >= 400 && !keeps && transport == "cuda_ipc" {
			feature = 3 * 1024
		}
	}
	if transport == "cuda_ipc" || transport == "cuda_vmm" {
		cache += feature
	}
	return float64(cache) / 1024
}

// largeHopperVL: Qwen3-VL on a Hopper card of at least 60 GiB keeps images on
// the GPU and no embedding cache (0.5.20 on).
func (b *builder) largeHopperVL() bool {
	return b.r.AtLeast("0.5.20") && b.card.Major == 9 && b.card.TotalMiB >= 60*1024 &&
		(b.m.Arch == "Qwen3VLForConditionalGeneration" || b.m.Arch == "Qwen3VLMoeForConditionalGeneration")
}

// KVBytesPerToken is the bytes that one token of max_total_num_tokens costs on
// a rank of the tightest stage; SGLang has a float where window pools share.
func (s *Sizer) KVBytesPerToken() float64 { return s.stages[s.tight].solver.cellBytes() }

// KVHeadsPerRank is the KV heads that a rank holds, 0 for state-space models.
func (s *Sizer) KVHeadsPerRank() int { return int(s.heads) }

// Parallel returns the sizes in force.
func (s *Sizer) Parallel() Parallel { return s.par }

// KVType returns how keys and values are stored.
func (s *Sizer) KVType() KVType { return s.kv }

// PageSize returns the tokens of a page.
func (s *Sizer) PageSize() int64 { return s.page }

// ContextLen is the longest request in tokens.
func (s *Sizer) ContextLen() int64 { return s.context }

// Pools lists the pools of a rank of the first stage.
func (s *Sizer) Pools() []PoolInfo { return s.pools[0] }

// StagePools lists the pools of a rank of every pipeline stage.
func (s *Sizer) StagePools() [][]PoolInfo { return s.pools }

// KVLayers counts the layers of the first stage that keep K and V.
func (s *Sizer) KVLayers() int {
	n := 0
	for _, p := range s.Pools() {
		if p.Name == "full" || p.Name == "swa" {
			n += p.Layers
		}
	}
	return n
}

// Rest is what a fraction leaves for pools in GiB, before state slots.
func (s *Sizer) Rest(f, preGiB, availGiB float64) float64 {
	return availGiB - preGiB*(1-f) - s.mm
}

// MinFraction is the smallest fraction that leaves anything for pools, as
// SGLang's refusal suggests it: 1 - available / pre-load free memory.
func MinFraction(preGiB, availGiB float64) float64 { return 1 - availGiB/preGiB }
