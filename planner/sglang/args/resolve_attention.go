package args

import (
	"fmt"
	"slices"
)

// prefillBackend and decodeBackend are the attention backends of the phases:
// the split fields fall back to the common one (attention_backends_of).
func (x *resolver) prefillBackend() string { return x.phaseBackend("prefill_attention_backend") }
func (x *resolver) decodeBackend() string  { return x.phaseBackend("decode_attention_backend") }

func (x *resolver) phaseBackend(field string) string {
	if s := x.Str(field); s != "" {
		return s
	}
	return x.Str("attention_backend")
}

// noBackend is is_attention_backend_not_set.
func (x *resolver) noBackend() bool {
	return x.isNone("attention_backend") && x.isNone("prefill_attention_backend") && x.isNone("decode_attention_backend")
}

// usesBackend reports that one of the three fields names the backend, without
// the fallback: this is how SGLang's page rules test.
func (x *resolver) usesBackend(name string, fields ...string) bool {
	if len(fields) == 0 {
		fields = []string{"attention_backend", "decode_attention_backend", "prefill_attention_backend"}
	}
	for _, f := range fields {
		if x.Str(f) == name {
			return true
		}
	}
	return false
}

// attention is _handle_attention_backend_compatibility.
func (x *resolver) attention() {
	x.defaultBackend()
	x.eagerBackends()
	x.pageByBackend()
	x.latentBackends()
	x.cutedslBackend()
	x.trtllmMHA()
	if x.Str("attention_backend") == "fa3" && x.Str("kv_cache_dtype") == "fp8_e5m2" {
		x.rule("attention_backend", "triton", "fa3-without-e5m2")
	}
	x.fa4()
	x.dualChunk()
}

func (x *resolver) defaultBackend() {
	if p := x.Str("prefill_attention_backend"); p != "" && p == x.Str("decode_attention_backend") {
		x.rule("attention_backend", p, "split-backends-equal")
	}
	if x.isNone("attention_backend") {
		x.rule("attention_backend", x.bestBackend(), "default-attention-backend")
	}
}

// fa3Archs took FlashAttention 3 by default on Hopper until 0.5.7
// (is_fa3_default_architecture); later every architecture does.
var fa3Archs = archSince{
	"Qwen2ForCausalLM": {"0.4.6"}, "Llama4ForConditionalGeneration": {"0.4.6"}, "LlamaForCausalLM": {"0.4.6"}, "Olmo2ForCausalLM": {"0.4.6"},
	"Gemma2ForCausalLM": {"0.4.6"}, "Gemma3ForConditionalGeneration": {"0.4.6"}, "Qwen3ForCausalLM": {"0.4.6"}, "Qwen3MoeForCausalLM": {"0.4.6"},
	"Glm4MoeForCausalLM": {"0.4.6"}, "Glm4vMoeForConditionalGeneration": {"0.4.6"}, "Step3VLForConditionalGeneration": {"0.4.6"},
	"Qwen3VLForConditionalGeneration": {"0.5.7"}, "Qwen3VLMoeForConditionalGeneration": {"0.5.7"}, "Glm4vForConditionalGeneration": {"0.5.7"},
}

// bestBackend is _get_default_attn_backend.
func (x *resolver) bestBackend() string {
	if x.m.is("WhisperForConditionalGeneration") && x.r.AtLeast("0.5.10") {
		return "flashinfer"
	}
	if x.m.mla() {
		switch {
		case x.sm90():
			return "fa3"
		case x.sm100():
			return "flashinfer"
		}
		return "triton"
	}
	switch {
	case x.sm90() && x.chainDraft() && (x.r.AtLeast("0.5.8") || fa3Archs.has(x.r, x.m.Arch)):
		return "fa3"
	case x.sm100() && x.r.AtLeast("0.5.7") && x.chainDraft() && x.chainKnown():
		if x.r.AtLeast("0.5.18") && x.m.asymmetric() {
			return "fa4"
		}
		return "trtllm_mha"
	case x.m.AttentionSinks && x.r.AtLeast("0.5.10"):
		return "triton"
	}
	return "flashinfer"
}

// chainDraft is is_no_spec_infer_or_topk_one.
func (x *resolver) chainDraft() bool {
	return x.isNone("speculative_eagle_topk") ||
		x.Int("speculative_eagle_topk") == 1 && (x.isNone("page_size") || x.Int("page_size") == 1)
}

// chainKnown: trtllm_mha needs the draft to be a chain, and a missing
// --speculative-eagle-topk is only filled in later.
func (x *resolver) chainKnown() bool {
	alg := x.Str("speculative_algorithm")
	return alg == "" || x.Has("speculative_eagle_topk") || x.r.AtLeast("0.5.22") && alg == "DFLASH"
}

// eagerBackends cannot be captured in graphs.
func (x *resolver) eagerBackends() {
	switch x.Str("attention_backend") {
	case "torch_native":
		x.disableGraphs("eager-attention-backend")
	case "flex_attention":
		x.disableGraphs("eager-attention-backend")
		if x.Has("speculative_algorithm") {
			x.refuse(CodeBackendSpeculative, "--attention-backend", "flex_attention does not run speculative decoding.")
		}
	}
	if x.m.IsEncoderDecoder && x.m.is("WhisperForConditionalGeneration") && x.r.AtLeast("0.5.10") {
		x.rule("disable_radix_cache", true, "whisper-without-radix")
	}
}

// pageRule is one backend with the page sizes it takes and the one that
// SGLang sets otherwise.
type pageRule struct {
	backend     string
	since, till string
	allowed     []int64
	page        int64
	prefillToo  bool // the prefill field counts too
}

var pageRules = []pageRule{
	{"flashmla", "", "", []int64{64}, 64, false},
	{"cutlass_mla", "0.4.6.post1", "0.5.20", []int64{128}, 128, false},
	{"trtllm_mla", "0.4.10.post1", "", []int64{32, 64}, 64, false},
	{"tokenspeed_mla", "0.5.12", "0.5.23", []int64{32, 64}, 64, false},
	{"cutedsl_mla", "0.5.12", "", []int64{32, 64}, 64, true},
	{"trtllm_mha", "0.5.1", "0.5.17", []int64{16, 32, 64}, 64, true},
	{"trtllm_mha", "0.5.17", "", []int64{16, 32, 64, 128}, 64, true},
	{"hpc_ops", "0.5.17", "", []int64{64}, 64, true},
}

// pageByBackend sets the page sizes that the kernels of a backend need.
func (x *resolver) pageByBackend() {
	for _, p := range pageRules {
		if p.since != "" && x.r.Before(p.since) || p.till != "" && x.r.AtLeast(p.till) {
			continue
		}
		used := x.usesBackend(p.backend, "attention_backend", "decode_attention_backend") ||
			p.prefillToo && x.usesBackend(p.backend) ||
			p.backend == "trtllm_mha" && x.r.AtLeast("0.5.17") && x.Str("speculative_draft_attention_backend") == p.backend
		if used && (x.isNone("page_size") || !slices.Contains(p.allowed, x.Int("page_size"))) {
			x.rule("page_size", p.page, "page-size-of-backend")
		}
	}
}

// latentBackends checks card and KV dtype of the MLA backends.
func (x *resolver) latentBackends() {
	kv := x.Str("kv_cache_dtype")
	if x.usesBackend("trtllm_mla", "attention_backend", "decode_attention_backend") {
		if !x.blackwell() {
			x.refuse(CodeBackendCard, "--attention-backend", fmt.Sprintf("trtllm_mla runs on Blackwell only; this card is compute capability %d.%d.", x.card.Major, x.card.Minor))
		}
		if ok := x.trtllmMLADtypes(); !slices.Contains(ok, kv) {
			x.refuse(CodeKVDtypeBackend, "--kv-cache-dtype", fmt.Sprintf("trtllm_mla takes a KV cache of %s; %s is asked.", quoted(ok), kv))
		}
	}
	if x.usesBackend("tokenspeed_mla", "attention_backend", "decode_attention_backend") && x.r.Before("0.5.23") {
		if !x.blackwell() {
			x.refuse(CodeBackendCard, "--attention-backend", "tokenspeed_mla runs on Blackwell only.")
		}
		if kv != "fp8_e4m3" {
			x.refuse(CodeKVDtypeBackend, "--kv-cache-dtype", "tokenspeed_mla needs --kv-cache-dtype fp8_e4m3; "+kv+" is asked.",
				fix("use an fp8 KV cache", setFlag("--kv-cache-dtype", "fp8_e4m3")))
		}
	}
}

func (x *resolver) trtllmMLADtypes() []string {
	switch {
	case x.r.Before("0.5.7"):
		return []string{"fp8_e4m3", "fp4_e2m1", "auto"}
	case x.r.Before("0.5.21"):
		return []string{"fp8_e4m3", "fp4_e2m1", "bf16", "auto"}
	}
	return []string{"fp8_e4m3", "bf16", "auto"}
}

// cutedslBackend decodes only; prefill falls to trtllm_mla.
func (x *resolver) cutedslBackend() {
	if !x.usesBackend("cutedsl_mla") {
		return
	}
	if x.Str("prefill_attention_backend") == "cutedsl_mla" {
		x.refuse(CodeBackendPhase, "--prefill-attention-backend", "cutedsl_mla only decodes.")
	}
	if !x.sm100() {
		x.refuse(CodeBackendCard, "--attention-backend", "cutedsl_mla runs on SM100 only.")
	}
	if ok := []string{"fp8_e4m3", "bf16", "bfloat16", "auto"}; !slices.Contains(ok, x.Str("kv_cache_dtype")) {
		x.refuse(CodeKVDtypeBackend, "--kv-cache-dtype", fmt.Sprintf("cutedsl_mla takes a KV cache of %s.", quoted(ok)))
	}
	x.fill("prefill_attention_backend", "trtllm_mla", "cutedsl-prefill")
}

// trtllmMHA checks the card for trtllm_mha: both phases wanted SM100 at first;
// decode came to Hopper and SM120 in 0.5.10, prefill in 0.5.19.
func (x *resolver) trtllmMHA() {
	if !x.usesBackend("trtllm_mha") {
		return
	}
	if x.r.Before("0.5.10") {
		if !x.sm100() {
			x.refuse(CodeBackendCard, "--attention-backend", "trtllm_mha runs on SM100 only in this release.")
		}
		return
	}
	anyCard := x.sm90() || x.sm100() || x.sm120()
	prefill := x.sm100() || x.r.AtLeast("0.5.19") && anyCard
	if x.prefillBackend() == "trtllm_mha" && !prefill {
		x.refuse(CodeBackendCard, "--prefill-attention-backend", "trtllm_mha does not prefill on this card in this release.")
	}
	if x.r.AtLeast("0.5.20") && x.prefillBackend() == "trtllm_mha" && x.sm120() && x.Str("kv_cache_dtype") == "fp8_e4m3" {
		x.refuse(CodeKVDtypeBackend, "--kv-cache-dtype", "trtllm_mha does not prefill from an fp8 KV cache on SM120.")
	}
	if x.decodeBackend() == "trtllm_mha" && !anyCard {
		x.refuse(CodeBackendCard, "--decode-attention-backend", "trtllm_mha decodes on Hopper, SM100 and SM120 only.")
	}
	if x.r.AtLeast("0.5.20") && x.prefillBackend() == "trtllm_mha" && !x.sm100() && x.Int("attn_cp_size") > 1 {
		x.refuse(CodeBackendParallel, "--attn-cp-size", "trtllm_mha prefills with context parallelism on SM100 only.")
	}
}

// fa4 was for prefill alone at first and always pages by 128.
func (x *resolver) fa4() {
	switch {
	case x.r.Before("0.5.4.post1"):
	case x.r.Before("0.5.7"):
		if x.usesBackend("fa4", "attention_backend", "decode_attention_backend") {
			x.refuse(CodeBackendPhase, "--attention-backend", "fa4 only prefills in this release; name it with --prefill-attention-backend.",
				fix("use fa4 for prefill alone", dropFlag("--attention-backend"), setFlag("--prefill-attention-backend", "fa4")))
		}
		if x.Str("prefill_attention_backend") == "fa4" {
			x.rule("page_size", int64(128), "page-size-of-backend")
		}
	case x.r.Before("0.5.15"):
		if x.Str("prefill_attention_backend") == "fa4" && !x.m.mla() && (x.r.Before("0.5.10") || x.sm100()) {
			x.rule("page_size", int64(128), "page-size-of-backend")
		}
	default:
		if x.usesBackend("fa4") && !x.m.mla() && x.sm100() && x.Int("speculative_eagle_topk") <= 1 {
			page := int64(128)
			if x.r.AtLeast("0.5.22") && x.m.is("DiffusionGemmaForBlockDiffusion") {
				page = 1
			}
			x.rule("page_size", page, "page-size-of-backend")
		}
	}
}

// dualChunk is for models with dual_chunk_attention_config (Qwen2.5-1M),
// until that backend was dropped.
func (x *resolver) dualChunk() {
	if x.r.AtLeast("0.5.20") {
		return
	}
	b := x.Str("attention_backend")
	if x.m.cfg.Top.Has("dual_chunk_attention_config") && b != "dual_chunk_flash_attn" {
		x.refuse(CodeBackendModel, "--attention-backend", "A model with dual chunk attention needs dual_chunk_flash_attn; it is "+b+".",
			fix("use its backend", setFlag("--attention-backend", "dual_chunk_flash_attn")))
	}
	if b == "dual_chunk_flash_attn" {
		x.rule("enable_mixed_chunk", false, "dual-chunk-attention")
		x.rule("disable_radix_cache", true, "dual-chunk-attention")
	}
}

// pageSize is _handle_page_size: one token where nothing asked for more.
func (x *resolver) pageSize() { x.fill("page_size", int64(1), "default-page-size") }
