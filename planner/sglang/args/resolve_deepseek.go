package args

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
)

// deepseek is the branch of DeepSeek-V3 and the families built like it.
func (x *resolver) deepseek() {
	if x.m.IsDSA {
		x.sparse()
	} else {
		if x.sm100() && x.r.AtLeast("0.5.3.post3") {
			x.defaultTo("trtllm_mla")
		}
		if x.Bool("enable_prefill_cp") && x.m.mla() && x.r.AtLeast("0.5.13") {
			x.latentContextParallel()
		}
	}
	if !x.m.IsDSA || x.r.AtLeast("0.5.6") {
		x.deepseekExperts()
	}
}

// sparseByOtherName: the rules of 0.5.6 to 0.5.11 know DeepSeek-V3.2 as
// DeepseekV3ForCausalLM, the name that SGLang's loader gives it where
// transformers (4.57, their pin) has no class of its own for it. With a newer
// transformers the name of config.json stays and no rule applies.
func (x *resolver) sparseByOtherName() {
	x.findings = append(x.findings, finding.New(CodeSparseName, finding.Warning, "--model-path",
		"The rules of SGLang "+x.r.String()+" do not list DeepseekV32ForCausalLM, so none applies here. With the transformers that it pins the model is renamed DeepseekV3ForCausalLM and runs on nsa with pages of 64 tokens and, from compute capability 10 on, an fp8 KV cache.").
		With("say what the renamed model uses", setFlag("--attention-backend", "nsa"), setFlag("--page-size", "64")))
}

// sparse is the branch of DeepSeek sparse attention (V3.2, GLM-5): its own
// backend, pages of 64 and a KV dtype by card.
func (x *resolver) sparse() {
	backend := "dsa"
	if x.r.Before("0.5.13") {
		backend = "nsa" // the name until 0.5.12
	}
	x.defaultTo(backend)
	x.sparseDCP()
	switch {
	case x.r.Before("0.5.6"):
		// DSA ran with DP attention over all ranks only.
		x.rule("enable_dp_attention", true, "sparse-dp-attention")
		x.rule("dp_size", x.Int("tp_size"), "sparse-dp-attention")
	case x.r.Before("0.5.8"):
		x.rule("enable_dp_attention", true, "sparse-dp-attention")
	}
	if x.contextParallelAsked() {
		x.sparseContextParallel()
	}
	pool := int64(1)
	if x.r.AtLeast("0.5.22") {
		pool = int64(max(x.m.IndexKPool, 1))
	}
	x.rule("page_size", 64*pool, "sparse-page-size")
	x.sparseDtype()
	x.sparseKernels()
	x.sharedIndexOverlap()
}

// sparseDtype is the KV dtype of DSA models: fp8 from compute capability 10
// on, bf16 before.
func (x *resolver) sparseDtype() {
	kv := x.Str("kv_cache_dtype")
	sinks := x.m.AttentionSinks
	sinks = sinks && x.r.AtLeast("0.5.20")
	if sinks && kv != "auto" && kv != "bf16" && kv != "bfloat16" {
		x.refuse(CodeKVDtypeModel, "--kv-cache-dtype", "Sparse attention with learnable sinks needs a bf16 KV cache; "+kv+" is asked.",
			fix("use bf16", setFlag("--kv-cache-dtype", "bf16")))
	}
	switch {
	case kv == "auto" && x.card.Major >= 10 && !sinks:
		x.rule("kv_cache_dtype", "fp8_e4m3", "sparse-kv-dtype")
	case kv == "auto", kv == "bf16":
		x.rule("kv_cache_dtype", "bfloat16", "sparse-kv-dtype")
	}
	if now := x.Str("kv_cache_dtype"); now != "bfloat16" && now != "fp8_e4m3" {
		x.refuse(CodeKVDtypeModel, "--kv-cache-dtype", "DeepSeek sparse attention keeps its KV cache in bf16 or fp8_e4m3; "+now+" is asked.",
			fix("let SGLang choose", setFlag("--kv-cache-dtype", "auto")))
	}
}

// sparseKernels names the DSA kernels of both phases, by KV dtype and card.
func (x *resolver) sparseKernels() {
	prefill, decode := "dsa_prefill_backend", "dsa_decode_backend"
	if x.r.Before("0.5.13") {
		prefill, decode = "nsa_prefill_backend", "nsa_decode_backend"
	}
	p, d := x.sparsePair()
	if x.r.Before("0.5.8") { // not yet a choice of the user
		x.rule(prefill, p, "sparse-kernels")
		x.rule(decode, d, "sparse-kernels")
		return
	}
	x.fill(prefill, p, "sparse-kernels")
	x.fill(decode, d, "sparse-kernels")
}

func (x *resolver) sparsePair() (prefill, decode string) {
	if x.m.AttentionSinks && x.r.AtLeast("0.5.20") {
		return "flashmla_sparse", "flashmla_sparse"
	}
	fp8, new := x.Str("kv_cache_dtype") == "fp8_e4m3", x.card.Major >= 10
	if x.r.AtLeast("0.5.12") && x.Bool("enable_hisparse") {
		if fp8 {
			return "flashmla_kv", "flashmla_kv"
		}
		return "flashmla_sparse", "flashmla_sparse"
	}
	switch {
	case x.r.AtLeast("0.5.17") && fp8 && x.sm120() && x.m.is("GlmMoeDsaForCausalLM"):
		return "flashinfer_sparse_mla", "flashinfer_sparse_mla"
	case fp8 && new && x.r.AtLeast("0.5.10"):
		return "trtllm", "trtllm"
	case fp8 && x.r.Before("0.5.11"):
		return "flashmla_auto", "flashmla_kv"
	case fp8:
		return "flashmla_kv", "flashmla_kv"
	case new && x.r.Before("0.5.8"):
		return "flashmla_sparse", "flashmla_sparse"
	case new:
		return "flashmla_sparse", "trtllm"
	}
	return "flashmla_sparse", "fa3"
}

// sparseDCP: decode context parallelism of DSA (0.5.22) excludes every path
// that moves index keys.
func (x *resolver) sparseDCP() {
	if x.r.Before("0.5.22") || x.Int("dcp_size") <= 1 {
		return
	}
	if x.Bool("enable_hisparse") || x.Bool("enable_hierarchical_cache") {
		x.refuse(CodeDCP, "--dcp-size", "Decode context parallelism of DSA models does not work with HiCache or HiSparse.", fix("run without DCP", setFlag("--dcp-size", "1")))
	}
	if x.Str("disaggregation_mode") != "null" {
		x.refuse(CodeDCP, "--dcp-size", "Decode context parallelism of DSA models does not work with PD disaggregation.", fix("run without DCP", setFlag("--dcp-size", "1")))
	}
	if x.Int("speculative_eagle_topk") > 1 {
		x.refuse(CodeDCP, "--speculative-eagle-topk", "Decode context parallelism of DSA models needs --speculative-eagle-topk 1.", fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	}
	if x.m.IndexKPool > 1 {
		x.refuse(CodeDCP, "--dcp-size", "A pooled index key spans positions of several DCP ranks.", fix("run without DCP", setFlag("--dcp-size", "1")))
	}
}

// sharedIndexOverlap: two-batch overlap does not carry top-k indices from
// layer to layer, which models with shared indices need.
func (x *resolver) sharedIndexOverlap() {
	if x.r.Before("0.5.13") || !x.Bool("enable_two_batch_overlap") {
		return
	}
	freq, _ := x.m.cfg.Top.Int("index_topk_freq")
	shared := freq > 1 || slices.Contains([]byte(x.m.cfg.Top.Str("index_topk_pattern")), 'S') ||
		slices.Contains(x.m.cfg.Top.Strs("indexer_types"), "shared")
	if shared {
		x.refuse(CodeTwoBatchOverlap, "--enable-two-batch-overlap", "Layers of this model share top-k indices, which two-batch overlap does not pass on.", fix("run without it", dropFlag("--enable-two-batch-overlap")))
	}
}

// deepseekExperts picks quantization and MoE runner on SM100.
func (x *resolver) deepseekExperts() {
	if !x.sm100() {
		return
	}
	q := x.m.quantMethod()
	if x.isNone("quantization") && !x.unquantised {
		switch {
		case q != "":
			x.rule("quantization", q, "checkpoint-quantization")
		case x.m.is("DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM") && x.r.Before("0.5.11"):
			// From 0.5.11 the tensors themselves are asked, which a
			// configuration does not show.
			x.rule("quantization", "fp8", "deepseek-fp8")
		}
	}
	now := x.Str("quantization")
	fits := slices.Contains([]string{"fp8", "modelopt_fp8", "modelopt_fp4"}, now) ||
		x.r.AtLeast("0.5.11") && now == "modelopt_mixed" ||
		x.r.AtLeast("0.5.10") && (x.m.kimiInt4() || x.r.AtLeast("0.5.12") && now == "")
	if fits && x.a2a() == "none" && !(x.r.AtLeast("0.5.18") && x.m.is("LongcatFlashForCausalLM", "LongcatFlashForCausalLMNextN")) {
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	}
}

// deepseekV4 is the branch of DeepSeek-V4: backend, page, KV dtype, window
// share and request limit are fixed.
func (x *resolver) deepseekV4() {
	x.rule("attention_backend", "dsv4", "v4-attention-backend")
	x.rule("page_size", int64(256), "v4-page-size")
	v41 := x.m.V4 != nil && x.m.V4.IsV41
	if x.defaulted("swa_full_tokens_ratio") && !(x.r.AtLeast("0.5.21") && v41) {
		x.rule("swa_full_tokens_ratio", 0.1, "v4-window-share")
	}
	if x.Str("kv_cache_dtype") == "auto" {
		x.rule("kv_cache_dtype", "fp8_e4m3", "v4-kv-dtype")
	}
	ok := []string{"fp8_e4m3"}
	if x.r.AtLeast("0.5.15") {
		ok = append(ok, "bfloat16")
	}
	if kv := x.Str("kv_cache_dtype"); !slices.Contains(ok, kv) {
		x.refuse(CodeKVDtypeModel, "--kv-cache-dtype", "DeepSeek-V4 keeps its KV cache in "+quoted(ok)+"; "+kv+" is asked.",
			fix("let SGLang choose", setFlag("--kv-cache-dtype", "auto")))
	}
	x.fill("max_running_requests", int64(256), "v4-max-requests")
	if x.r.Before("0.5.13") && x.Str("disaggregation_mode") != "null" && x.Int("pp_size") > 1 {
		x.refuse(CodePipeline, "--pp-size", "PD disaggregation of DeepSeek-V4 runs in one pipeline stage only in this release.", fix("use one stage", setFlag("--pp-size", "1")))
	}
	x.v4Speculative()
	x.v4Kernels()
	if x.r.AtLeast("0.5.12") && x.contextParallelAsked() {
		x.v4ContextParallel()
	}
	x.v4Runner()
}

// v4Runner: the experts' format and the card decide.
func (x *resolver) v4Runner() {
	switch {
	case x.r.AtLeast("0.5.14") && x.m.mixedNVFP4():
		x.autoRunner("flashinfer_trtllm_routed", "v4-moe-runner")
	case x.r.AtLeast("0.5.19"):
		if x.a2a() == "none" && (x.sm90() || x.sm100() || x.sm120()) {
			x.autoRunner("flashinfer_mxfp4", "v4-moe-runner")
		}
	case x.sm120() && x.r.AtLeast("0.5.16"):
		x.autoRunner("flashinfer_mxfp4", "v4-moe-runner")
	case x.sm120() && x.r.AtLeast("0.5.13"):
		x.autoRunner("marlin", "v4-moe-runner")
	}
}

// defaulted reports a field that the user left alone: None since the releases
// that tell the two apart, the class default before.
func (x *resolver) defaulted(field string) bool { return !x.Given(field) }

func (x *resolver) v4Speculative() {
	alg := x.Str("speculative_algorithm")
	ok := []string{"EAGLE"}
	if x.r.AtLeast("0.5.15") {
		ok = append(ok, "DSPARK")
	}
	switch {
	case alg == "":
	case !slices.Contains(ok, alg):
		x.refuse(CodeSpeculativeModel, "--speculative-algorithm", "DeepSeek-V4 drafts with "+quoted(ok)+" only; "+alg+" is asked.",
			fix("use EAGLE", setFlag("--speculative-algorithm", "EAGLE")))
	case alg == "EAGLE" && x.Int("speculative_eagle_topk") != 1:
		x.refuse(CodeSpeculativeModel, "--speculative-eagle-topk", "DeepSeek-V4 needs --speculative-eagle-topk 1 to be given.",
			fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	}
}

// v4Kernels checks --dsv4-attn-backend (0.5.20).
func (x *resolver) v4Kernels() {
	if x.Str("dsv4_attn_backend") == "auto" {
		x.rule("dsv4_attn_backend", x.v4Kernel(), "v4-kernels")
	}
	if x.Str("dsv4_attn_backend") != "trtllm" {
		return
	}
	const flag = "--dsv4-attn-backend"
	why := func(detail string) {
		x.refuse(CodeBackendModel, flag, "trtllm "+detail, fix("use flashmla", setFlag(flag, "flashmla")))
	}
	if !x.sm100() {
		why("runs on SM100 only.")
	}
	if x.Bool("enable_hisparse") {
		why("does not run HiSparse.")
	}
	if x.Int("attn_cp_size") > 1 || x.Int("dcp_size") > 1 || x.Bool("enable_prefill_cp") {
		why("does not run context parallelism.")
	}
	if x.Str("disaggregation_mode") != "null" {
		why("does not run PD disaggregation.")
	}
	if x.Int("chunked_prefill_size") <= 0 {
		why("needs chunked prefill.")
	}
}

func (x *resolver) v4Kernel() string {
	split := x.Int("tp_size")/max(x.attnDPSize(), 1)/max(x.Int("attn_cp_size"), 1) > 1
	if x.m.V4 == nil || !x.m.V4.IsV41 || !x.sm100() || x.Str("kv_cache_dtype") != "fp8_e4m3" ||
		x.Str("disaggregation_mode") == "null" && !x.Bool("enable_prefill_cp") && split {
		return "flashmla"
	}
	return "flashmla_mega"
}

func (x *resolver) v4ContextParallel() {
	if x.r.Before("0.5.14") && x.zigzag() {
		x.refuse(CodeContextParallel, "--nsa-prefill-cp-mode", "DeepSeek-V4 runs prefill context parallelism in round-robin-split order.", fix("use it", setFlag("--nsa-prefill-cp-mode", "round-robin-split")))
	}
	if s := x.Str("cp_strategy"); x.r.AtLeast("0.5.14") && s != "interleave" {
		x.refuse(CodeContextParallel, "--cp-strategy", fmt.Sprintf("DeepSeek-V4 runs prefill context parallelism in interleave order; %s is asked.", nameOr(s, "none")),
			fix("use interleave", setFlag("--cp-strategy", "interleave")))
	}
	x.rule("moe_dense_tp_size", int64(1), "context-parallel")
	x.spreadContext("context-parallel")
	if x.Int("tp_size") > 8 {
		x.refuse(CodeContextParallel, "--tp-size", "Prefill context parallelism stays within one machine (--tp-size up to 8).")
	}
	if ok := []string{"none", "deepep", "megamoe", "mori"}; x.r.AtLeast("0.5.18") && !slices.Contains(ok, x.a2a()) {
		x.refuse(CodeContextParallel, "--moe-a2a-backend", "DeepSeek-V4 with context parallelism takes "+quoted(ok)+".")
	}
}
