package args

import (
	"fmt"
	"slices"
)

// fp4Cache is _handle_kv4_compatibility: which attention backends read an FP4
// KV cache (0.5.7). The name fp4_e2m1 is what releases to 0.5.15 test for.
func (x *resolver) fp4Cache() {
	kv := x.Str("kv_cache_dtype")
	if x.r.AtLeast("0.5.16") {
		if kv == "mxfp8" && !x.blackwell() {
			x.refuse(CodeKVDtypeCard, "--kv-cache-dtype", "An mxfp8 KV cache needs a Blackwell card.", fix("use fp8", setFlag("--kv-cache-dtype", "fp8_e4m3")))
		}
		if kv != "nvfp4" && kv != "fp4_mx_block16" {
			return
		}
	} else if kv != "fp4_e2m1" {
		return
	}
	if kv == "nvfp4" {
		x.nvfp4Cache()
	}
	p, d := x.prefillBackend(), x.decodeBackend()
	if p != d && p != "fa4" {
		return
	}
	which, ok := x.fp4Backends(p == "fa4")
	got := x.Str("attention_backend")
	if p == "fa4" {
		got = d
	}
	if !slices.Contains(ok, got) {
		x.refuse(CodeKVDtypeBackend, "--kv-cache-dtype", fmt.Sprintf("An FP4 KV cache of %s is read by %s; this launch runs on %s.", which, quoted(ok), got),
			fix("use one of them", setFlag("--attention-backend", ok[0])), fix("use fp8", setFlag("--kv-cache-dtype", "fp8_e4m3")))
	}
}

// fp4Backends lists the backends by kind of attention, for decode beside an
// fa4 prefill or for both.
func (x *resolver) fp4Backends(besideFA4 bool) (which string, ok []string) {
	if !x.m.mla() {
		ok = []string{"triton", "torch_native", "flex_attention"}
		if !besideFA4 {
			ok = append(ok, "trtllm_mha")
		}
		return "an MHA model", ok
	}
	ok = []string{"flashinfer", "trtllm_mla"}
	if x.r.Before("0.5.20") {
		ok = append(ok, "cutlass_mla")
	}
	if !besideFA4 && x.r.Before("0.5.15") {
		ok = append(ok, "flashmla")
	}
	return "an MLA model", ok
}

// nvfp4Cache checks the card and, since 0.5.21, what the native layout does
// not reach.
func (x *resolver) nvfp4Cache() {
	const flag = "--kv-cache-dtype"
	if !x.sm100() && !x.sm120() {
		x.refuse(CodeKVDtypeCard, flag, "An nvfp4 KV cache needs SM100 or SM120.", fix("use the block-16 recipe", setFlag(flag, "fp4_mx_block16")))
	}
	if x.r.Before("0.5.21") {
		return
	}
	native := x.sm100() && (x.prefillBackend() == "trtllm_mha" || x.decodeBackend() == "trtllm_mha")
	if x.Bool("enable_unified_memory") {
		x.refuse(CodeUnifiedMemory, "--enable-unified-memory", "The unified pool has no FP4 block scales.", fix("leave it out", dropFlag("--enable-unified-memory")))
	}
	if !native {
		return
	}
	alg := x.Str("speculative_algorithm")
	if alg != "" && !slices.Contains([]string{"EAGLE", "EAGLE3", "NEXTN", "NGRAM"}, alg) {
		x.refuse(CodeKVDtypeBackend, "--speculative-algorithm", "A native nvfp4 KV cache drafts with EAGLE, NEXTN or NGRAM only; "+alg+" is asked.")
	}
	if alg == "NGRAM" && x.Int("speculative_ngram_max_bfs_breadth") != 1 {
		x.refuse(CodeKVDtypeBackend, "--speculative-ngram-max-bfs-breadth", "A native nvfp4 KV cache verifies chains only.", fix("draft a chain", setFlag("--speculative-ngram-max-bfs-breadth", "1")))
	}
	if alg != "" && alg != "NGRAM" {
		x.fill("speculative_draft_attention_backend", "trtllm_mha", "nvfp4-draft")
	}
	if alg != "" && x.prefillBackend() == "flashinfer" && x.Str("speculative_attention_mode") == "prefill" {
		x.rule("speculative_attention_mode", "decode", "nvfp4-draft")
	}
	if x.Str("disaggregation_mode") != "null" || x.Bool("enable_hierarchical_cache") || x.Bool("enable_lmcache") {
		x.refuse(CodeKVDtypeBackend, flag, "The native nvfp4 layout is not transferred to other servers or to host memory.", fix("use fp8", setFlag(flag, "fp8_e4m3")))
	}
}

// nvfp4Prefill is handle_nvfp4_prefill_kv_dequant_dtype (0.5.21): prefill
// reads an nvfp4 KV cache natively or through an fp8 workspace.
func (x *resolver) nvfp4Prefill() {
	const field, flag = "prefill_kv_cache_dequant_dtype", "--prefill-kv-cache-dequant-dtype"
	want := x.Str(field)
	if want == "" {
		return
	}
	if x.Str("kv_cache_dtype") != "nvfp4" {
		if want != "auto" {
			x.refuse(CodeKVDtypeBackend, flag, flag+" applies to an nvfp4 KV cache only.", fix("leave it out", dropFlag(flag)))
		}
		return
	}
	backends := map[string]string{"fp8_e4m3": "flashinfer", "nvfp4": "trtllm_mha"}
	if want == "auto" {
		want = x.nvfp4Choice()
		x.rule(field, want, "nvfp4-prefill")
	}
	if want == "nvfp4" && !x.sm100() {
		x.refuse(CodeKVDtypeCard, flag, "Native nvfp4 prefill needs SM100.", fix("use an fp8 workspace", setFlag(flag, "fp8_e4m3")))
	}
	target := backends[want]
	if p := x.Str("prefill_attention_backend"); p != "" && p != target {
		x.refuse(CodeKVDtypeBackend, "--prefill-attention-backend", "Prefill from "+want+" runs on "+target+"; "+p+" is asked.", fix("leave it out", dropFlag("--prefill-attention-backend")))
	}
	if d := x.Str("decode_attention_backend"); d != "" && d != "trtllm_mha" {
		x.refuse(CodeKVDtypeBackend, "--decode-attention-backend", "An nvfp4 KV cache decodes on trtllm_mha; "+d+" is asked.", fix("leave it out", dropFlag("--decode-attention-backend")))
	}
	x.rule("prefill_attention_backend", target, "nvfp4-prefill")
	x.rule("decode_attention_backend", "trtllm_mha", "nvfp4-prefill")
}

func (x *resolver) nvfp4Choice() string {
	switch b := x.prefillBackend(); b {
	case "flashinfer":
		return "fp8_e4m3"
	case "trtllm_mha":
		return "nvfp4"
	case "":
	default:
		x.refuse(CodeKVDtypeBackend, "--attention-backend", "An nvfp4 KV cache prefills on trtllm_mha or flashinfer; "+b+" is asked.", fix("leave it out", dropFlag("--attention-backend")))
	}
	if x.sm100() {
		return "nvfp4"
	}
	return "fp8_e4m3"
}

// cacheCompatibility is _handle_cache_compatibility.
func (x *resolver) cacheCompatibility() {
	if x.Bool("enable_hierarchical_cache") && x.Bool("disable_radix_cache") {
		x.refuse(CodeHicacheRadix, "--enable-hierarchical-cache", "HiCache extends the radix cache, which is off here.",
			fix("run without HiCache", dropFlag("--enable-hierarchical-cache")), fix("keep the radix cache", dropFlag("--disable-radix-cache")))
	}
	x.decodeOffload()
	x.retractionBackup()
	if x.r.Within("0.5.15", "0.5.16.post9") && x.Bool("enable_session_radix_cache") && x.Str("radix_eviction_policy") != "priority" {
		x.refuse(CodeRadixPolicy, "--radix-eviction-policy", "Session caches need --radix-eviction-policy priority.", fix("use it", setFlag("--radix-eviction-policy", "priority")))
	}
	x.evictionPolicy()
	if f := x.Float("swa_full_tokens_ratio"); x.r.AtLeast("0.5.8") && x.Has("swa_full_tokens_ratio") && (f <= 0 || f > 1) {
		x.refuse(CodeWindowPool, "--swa-full-tokens-ratio", "The window pool's share must be above 0 and at most 1; "+show(f)+" is asked.", fix("use the default", dropFlag("--swa-full-tokens-ratio")))
	}
	if x.Has("swa_prefix_tails") && x.Int("swa_prefix_tails") < 0 {
		x.refuse(CodeWindowPool, "--swa-prefix-tails", "--swa-prefix-tails cannot be negative.", fix("leave it out", dropFlag("--swa-prefix-tails")))
	}
	x.lmcache()
	x.poolShares()
}

// poolShares fills the two ratios that newer releases leave unset to tell a
// default from a value of the user.
func (x *resolver) poolShares() {
	for _, d := range []struct {
		field string
		v     float64
	}{{"swa_full_tokens_ratio", 0.8}, {"mamba_full_memory_ratio", 0.9}} {
		if _, has := x.Get(d.field); has {
			x.fill(d.field, d.v, "pool-share-default")
		}
	}
}

func (x *resolver) decodeOffload() {
	const flag = "--disaggregation-decode-enable-offload-kvcache"
	if !x.Bool("disaggregation_decode_enable_offload_kvcache") {
		return
	}
	drop := fix("leave it out", dropFlag(flag))
	if x.Str("disaggregation_mode") != "decode" {
		x.refuse(CodeDisaggregation, flag, "Offloading is for decode servers.", drop)
	}
	if x.r.AtLeast("0.5.10") && x.isNone("hicache_storage_backend") {
		x.refuse(CodeDisaggregation, flag, "Offloading needs --hicache-storage-backend.", drop)
	}
	if x.r.AtLeast("0.5.8") && x.r.Before("0.5.10") && x.env.Bool("SGLANG_ENABLE_SPEC_V2", false) {
		x.refuse(CodeDisaggregation, flag, "Offloading does not combine with the V2 draft workers.", drop)
	}
}

func (x *resolver) retractionBackup() {
	const flag = "--disaggregation-decode-retraction-backup"
	if x.Str("disaggregation_decode_retraction_backup") != "host_pool" {
		return
	}
	drop := fix("leave it out", dropFlag(flag))
	switch {
	case x.Str("disaggregation_mode") != "decode":
		x.refuse(CodeDisaggregation, flag, "Retraction into a host pool is for decode servers.", drop)
	case x.Int("dcp_size") > 1:
		x.refuse(CodeDCP, flag, "Retraction into a host pool does not know decode context parallelism.", drop)
	case x.Bool("enable_priority_scheduling") && !x.Bool("disable_priority_preemption"):
		x.refuse(CodeDisaggregation, flag, "Retraction into a host pool needs --disable-priority-preemption with priority scheduling.", fix("turn it on", setFlag("--disable-priority-preemption", "")))
	case x.Bool("disaggregation_decode_enable_offload_kvcache"):
		x.refuse(CodeDisaggregation, flag, "Offloading and retraction into a host pool exclude one another.", drop)
	}
}

// evictionPolicy checks the two thresholds of the tlru policy (0.5.22).
func (x *resolver) evictionPolicy() {
	if x.Str("radix_eviction_policy") != "tlru" {
		return
	}
	v, _ := x.Get("radix_eviction_policy_config")
	m, _ := v.V.(map[string]any)
	limit, next := asFloat(m["threshold"]), asFloat(m["next_prompt_estimate"])
	if limit < 0 || next < 0 || limit <= next {
		x.refuse(CodeRadixPolicy, "--radix-eviction-policy", fmt.Sprintf("tlru needs a threshold above next_prompt_estimate in --radix-eviction-policy-config; it has %v and %v.", limit, next),
			fix("evict by plain LRU", setFlag("--radix-eviction-policy", "lru")))
	}
}

func asFloat(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// lmcache lists what LMCache does not work with (0.5.22).
func (x *resolver) lmcache() {
	const flag = "--enable-lmcache"
	if x.r.Before("0.5.22") || !x.Bool("enable_lmcache") {
		return
	}
	for _, bad := range []struct {
		on   bool
		what string
	}{
		{x.Bool("enable_hierarchical_cache"), "HiCache"},
		{x.Bool("enable_unified_cache_external_linker"), "the external linker"},
		{x.Bool("disable_radix_cache"), "a radix cache that is off"},
		{x.Has("speculative_algorithm"), "speculative decoding"},
		{x.attnDP(), "attention data parallelism"},
		{x.Int("dcp_size") > 1, "decode context parallelism"},
		{x.Bool("enable_streaming_session"), "streaming sessions"},
		{x.Str("hicache_host_memory_mode") == "buffer_only", "--hicache-host-memory-mode buffer_only"},
		{x.Str("disaggregation_mode") != "null", "PD disaggregation"},
	} {
		if bad.on {
			x.refuse(CodeLMCache, flag, "LMCache does not combine with "+bad.what+".", fix("run without LMCache", dropFlag(flag)))
		}
	}
}

// mambaCheckpoint: int8 state checkpoints know only the built-in cache.
func (x *resolver) mambaCheckpoint() {
	const flag = "--enable-int8-mamba-checkpoint"
	if x.Bool("enable_int8_mamba_checkpoint") && (x.Bool("enable_hierarchical_cache") || x.Has("radix_cache_backend") || x.r.AtLeast("0.5.22") && x.Bool("enable_lmcache")) {
		x.refuse(CodeHybridStrategy, flag, "int8 state checkpoints work with the built-in radix cache alone.", fix("leave it out", dropFlag(flag)))
	}
}

// linearAttention is _handle_linear_attn_backend as far as a command shows it.
func (x *resolver) linearAttention() {
	const flag = "--linear-attn-decode-backend"
	dtype := x.Str("mamba_ssm_dtype")
	if x.m.is("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration") && x.r.AtLeast("0.5.17") && dtype == "bfloat16" && x.sm100() {
		x.fill("linear_attn_decode_backend", "triton", "linear-attention")
	}
	if dtype == "bfloat16" && x.sm100() && x.Str("linear_attn_backend") != "helion" {
		x.fill("linear_attn_decode_backend", "flashinfer", "linear-attention")
	}
	decode := nameOr(x.Str("linear_attn_decode_backend"), x.Str("linear_attn_backend"))
	if decode == "flashkda" && x.Str("linear_attn_decode_backend") == decode {
		x.refuse(CodeHybridStrategy, flag, "flashkda only prefills.", fix("name it for prefill", dropFlag(flag), setFlag("--linear-attn-prefill-backend", "flashkda")))
	} else if decode == "flashkda" {
		x.rule("linear_attn_decode_backend", "triton", "linear-attention")
	}
	if decode == "flashinfer" && dtype != "bfloat16" && x.card.Major >= 10 {
		x.refuse(CodeHybridStrategy, flag, "flashinfer decodes linear attention from bf16 state on this card.", fix("keep the state in bf16", setFlag("--mamba-ssm-dtype", "bfloat16")))
	}
}
