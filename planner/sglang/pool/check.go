package pool

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
)

func (b *builder) fail(code finding.Code, flag, detail string) {
	b.found = append(b.found, finding.New(code, finding.Error, flag, detail))
}

func (b *builder) warn(code finding.Code, flag, detail string) {
	b.found = append(b.found, finding.New(code, finding.Warning, flag, detail))
}

// check records what SGLang refuses whatever the memory.
func (b *builder) check() {
	m, tp := b.m, b.par.AttentionTP
	if b.par.AttentionDP*b.par.AttentionCP > b.par.TP {
		b.fail(CodeHeads, "--dp-size", fmt.Sprintf("attention DP %d times CP %d is more than TP %d", b.par.AttentionDP, b.par.AttentionCP, b.par.TP))
	}
	if m.AttentionArch != modelcfg.SSM && m.NumAttentionHeads%tp != 0 {
		b.fail(CodeHeads, "--tp-size", fmt.Sprintf("%d attention heads over %d attention-TP ranks", m.NumAttentionHeads, tp))
	}
	if m.AttentionArch == modelcfg.MHA && m.TotalKVHeads > 0 {
		if k := m.TotalKVHeads; (k >= tp && k%tp != 0) || (k < tp && tp%k != 0) {
			b.fail(CodeHeads, "--tp-size", fmt.Sprintf("%d KV heads over %d attention-TP ranks", k, tp))
		}
	}
	if l := m.Linear; l != nil {
		ranks := b.stateTP()
		if !l.Divides(ranks) {
			b.fail(CodeStateHeads, "--tp-size", fmt.Sprintf("%d recurrent heads over %d ranks", l.Heads, ranks))
		}
	}
	if m.IsDeepseekV4 && m.IsHybridSWA && b.page%128 != 0 {
		b.fail(CodePage, "--page-size", fmt.Sprintf("page size %d, must be a multiple of 128", b.page))
	}
	if b.a.Bool("enable_unified_memory") && b.r.AtLeast("0.5.16") && (m.IsDeepseekV4 || m.Linear == nil && m.Window == nil) {
		b.fail(CodeUnifiedUnsupported, "--enable-unified-memory", m.Arch)
	}
	if b.a.Bool("enable_unified_memory") && b.r.AtLeast("0.5.22") && (b.spec.eagle() || b.spec.blockDraft()) {
		b.warn(CodeUnifiedDraft, "--enable-unified-memory", b.spec.algorithm)
	}
	if b.r.AtLeast("0.5.16") && b.envOn("SGLANG_ENABLE_POST_CAPTURE_KV_SIZING") {
		b.warn(CodePostCapture, "", "")
	}
	if b.a.Bool("enable_kv_cache_sharding") {
		b.warn(CodeKVSharding, "--enable-kv-cache-sharding", "")
	}
	if t := lowered(b.a.Str("kv_cache_dtype")); m.KVCacheSchemeOnly && (t == "auto" || t == "") {
		b.warn(CodeKVDTypeGuess, "--kv-cache-dtype", "taken as "+b.kv.Name)
	}
	if b.par.PP > m.NumHiddenLayers {
		b.fail(CodePartition, "--pp-size", fmt.Sprintf("%d stages for %d layers", b.par.PP, m.NumHiddenLayers))
	}
}

// decodeExtraSlots is the rows a decode node adds for requests on their way.
func (b *builder) decodeExtraSlots() int64 {
	a := b.a
	if a.Has("disaggregation_decode_extra_slots") {
		return clamp(a.Int("disaggregation_decode_extra_slots"), 0, 1<<20)
	}
	if !a.Has("max_running_requests") {
		return 0
	}
	n := b.perReplica(a.Int("max_running_requests"))
	if n > 32 {
		return 0
	}
	return 2 * n
}
