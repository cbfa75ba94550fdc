package args

import "slices"

// missingDefaults is _handle_missing_default_values as far as memory is
// concerned.
func (x *resolver) missingDefaults() {
	x.fill("device", "cuda", "device")
	x.renamedBackends()
	if x.Str("mamba_scheduler_strategy") == "auto" && x.r.Before("0.5.14") {
		x.rule("mamba_scheduler_strategy", "no_buffer", "hybrid-strategy")
	}
	x.draftQuantization()
	if x.Str("quantization") == "unquant" {
		x.unquantised = true
		x.rule("quantization", nil, "unquantised")
	}
}

// draftQuantization: the draft is quantised like the target unless its own flag
// says otherwise, in every release that has that flag.
func (x *resolver) draftQuantization() {
	const field = "speculative_draft_model_quantization"
	v, ok := x.Get(field)
	if !ok {
		return
	}
	if v.V == nil && x.Has("quantization") {
		x.rule(field, x.Str("quantization"), "draft-quantization")
	}
	if x.Str(field) == "unquant" {
		x.rule(field, nil, "draft-quantization")
	}
}

// renamedBackends replaces the former names of attention backends.
func (x *resolver) renamedBackends() {
	fixed := x.r.AtLeast("0.5.23") && x.usesBackend("tokenspeed_mla", "attention_backend", "decode_attention_backend")
	for _, f := range []string{"attention_backend", "decode_attention_backend", "prefill_attention_backend", "speculative_draft_attention_backend"} {
		switch b := x.Str(f); {
		case b == "compressed" && x.r.AtLeast("0.5.12"):
			x.rule(f, "dsv4", "backend-renamed")
		case b == "tokenspeed_mla" && x.r.AtLeast("0.5.23"):
			now := "cutedsl_mla"
			if f == "prefill_attention_backend" {
				now = "trtllm_mla" // cutedsl_mla only decodes
			}
			x.rule(f, now, "backend-renamed")
		}
	}
	if !fixed {
		return
	}
	// What the old name implied stays.
	x.rule("kv_cache_dtype", "fp8_e4m3", "backend-renamed")
	if x.Has("speculative_algorithm") && x.Str("speculative_attention_mode") == "prefill" {
		x.rule("speculative_attention_mode", "decode", "backend-renamed")
	}
}

// prefillOnly checks --prefill-only-disable-kv-cache (0.5.12).
func (x *resolver) prefillOnly() {
	const flag = "--prefill-only-disable-kv-cache"
	if !x.Bool("prefill_only_disable_kv_cache") {
		return
	}
	kv := x.Str("kv_cache_dtype")
	for _, bad := range []struct {
		on  bool
		why string
	}{
		{!x.Bool("is_embedding"), "needs --is-embedding"},
		{slices.Contains([]string{"fp4_e2m1", "nvfp4", "fp4_mx_block16", "mxfp8"}, kv), "does not know a KV cache of " + kv},
		{x.Int("chunked_prefill_size") != -1, "needs --chunked-prefill-size -1"},
		{!x.Bool("disable_radix_cache"), "needs --disable-radix-cache"},
		{x.Int("attn_cp_size") > 1 || x.contextParallelAsked(), "does not run context parallelism"},
		{x.Bool("enable_hisparse"), "does not run HiSparse"},
	} {
		if bad.on {
			x.refuse(CodePrefillOnly, flag, flag+" "+bad.why+".", fix("leave it out", dropFlag(flag)))
		}
	}
}

func (x *resolver) prefillOnlyBackend() {
	if b := x.prefillBackend(); x.Bool("prefill_only_disable_kv_cache") && b != "fa3" && b != "fa4" {
		x.refuse(CodePrefillOnly, "--attention-backend", "--prefill-only-disable-kv-cache prefills on fa3 or fa4; it is "+b+".", fix("use fa3", setFlag("--attention-backend", "fa3")))
	}
}

// multiItemScoring is _handle_multi_item_scoring (0.5.11).
func (x *resolver) multiItemScoring() {
	if !x.Bool("enable_mis") {
		return
	}
	x.disableGraphs("multi-item-scoring")
	if x.r.Before("0.5.14") {
		x.rule("disable_piecewise_cuda_graph", true, "multi-item-scoring")
	}
	x.rule("disable_radix_cache", true, "multi-item-scoring")
	x.rule("chunked_prefill_size", int64(-1), "multi-item-scoring")
	if x.prefillBackend() != "flashinfer" || x.decodeBackend() != "flashinfer" {
		x.refuse(CodeBackendModel, "--attention-backend", "Multi-item scoring runs on flashinfer only.", fix("use it", setFlag("--attention-backend", "flashinfer")))
	}
}

// deterministicBackends and those of them that keep the radix cache.
var (
	deterministicBackends = []string{"flashinfer", "fa3", "triton"}
	deterministicRadix    = []string{"fa3", "triton"}
	latentDeterministic   = []string{
		"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
		"MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM",
	}
)

// deterministic is _handle_deterministic_inference.
func (x *resolver) deterministic() {
	if x.Has("rl_on_policy_target") {
		x.rule("enable_deterministic_inference", true, "on-policy-deterministic")
	}
	if !x.Bool("enable_deterministic_inference") {
		return
	}
	x.rule("sampling_backend", "pytorch", "deterministic")
	latent := slices.Contains(latentDeterministic, x.m.Arch) || x.r.AtLeast("0.5.17") && x.m.is("Glm4MoeLiteForCausalLM")
	if x.isNone("attention_backend") {
		backend := "fa3"
		if x.sm100() || x.sm120() {
			backend = "flashinfer"
			if latent {
				backend = "triton"
			}
		}
		x.rule("attention_backend", backend, "deterministic")
	}
	ok, radix := deterministicBackends, deterministicRadix
	if x.r.AtLeast("0.5.17") {
		ok, radix = append(slices.Clone(ok), "fa4"), append(slices.Clone(radix), "fa4")
	}
	b := x.Str("attention_backend")
	if !slices.Contains(ok, b) {
		x.refuse(CodeDeterministic, "--attention-backend", "Deterministic inference runs on "+quoted(ok)+"; "+b+" is asked.", fix("use fa3", setFlag("--attention-backend", "fa3")))
	} else if latent && !slices.Contains(radix, b) {
		x.refuse(CodeDeterministic, "--attention-backend", "Deterministic inference of this model runs on "+quoted(radix)+"; "+b+" is asked.", fix("use triton", setFlag("--attention-backend", "triton")))
	}
	if !slices.Contains(radix, b) {
		x.rule("disable_radix_cache", true, "deterministic")
	}
	if x.Int("tp_size") > 1 {
		x.rule("disable_custom_all_reduce", true, "deterministic")
	}
}

// diffusionArchs are the diffusion language models (DLLM_PARAMS).
var diffusionArchs = archSince{
	"LLaDA2MoeModelLM": {"0.5.6"}, "SDARForCausalLM": {"0.5.9"}, "SDARMoeForCausalLM": {"0.5.9"},
	"DiffusionGemmaForBlockDiffusion": {"0.5.21"},
}

// diffusionPages: the radix cache keeps whole blocks, so pages are at least
// blocks; a model without a block size is none.
func (x *resolver) diffusionPages() {
	if !diffusionArchs.has(x.r, x.m.Arch) {
		x.refuse(CodeDiffusion, "--dllm-algorithm", x.m.Arch+" is not a diffusion language model.", fix("leave it out", dropFlag("--dllm-algorithm")))
		return
	}
	block := int64(4)
	switch {
	case x.m.is("LLaDA2MoeModelLM"):
		block = 32
	case x.m.is("DiffusionGemmaForBlockDiffusion"):
		block = max(x.m.cfg.Top.IntOr("canvas_length", 256), 1)
	}
	if x.Int("page_size")%block != 0 {
		x.rule("page_size", block, "diffusion-pages")
	}
}

// diffusion is _handle_dllm_inference (0.5.6).
func (x *resolver) diffusion() {
	if x.isNone("dllm_algorithm") {
		return
	}
	const id = "diffusion-model"
	if x.r.AtLeast("0.5.10") && x.m.known && !x.Bool("disable_radix_cache") {
		x.diffusionPages()
	}
	graphs := !x.Bool("disable_cuda_graph")
	if x.r.AtLeast("0.5.14") {
		graphs = x.g.decode.backend != graphDisabled
	}
	switch {
	case !graphs:
	case x.r.Before("0.5.7"):
		x.rule("disable_cuda_graph", true, id)
	default:
		if x.r.Before("0.5.9") {
			x.g.decode.bs = []int64{1}
		}
		x.rule("attention_backend", "flashinfer", id)
	}
	x.rule("disable_overlap_schedule", true, id)
	if x.r.Before("0.5.10") {
		x.rule("disable_radix_cache", true, id)
	} else if !x.Bool("disable_radix_cache") {
		x.rule("enable_hierarchical_cache", false, id)
	}
	x.rule("enable_lora", false, id)
	x.rule("disaggregation_mode", "null", id)
	x.rule("enable_mixed_chunk", false, id)
}

// tensorDump: dumping tensors runs eagerly.
func (x *resolver) tensorDump() {
	if !x.Has("debug_tensor_dump_output_folder") && !x.Has("msprobe_dump_config") {
		return
	}
	x.rule("disable_cuda_graph", true, "tensor-dump")
	x.disableGraphs("tensor-dump")
	x.rule("skip_server_warmup", true, "tensor-dump")
}

// noChunking are the multimodal architectures whose prompts cannot be split
// (is_multimodal_chunked_prefill_supported).
var noChunking = archSince{
	"Grok1VForCausalLM": {"0.4.6"}, "Grok1AForCausalLM": {"0.4.6"}, "LlavaLlamaForCausalLM": {"0.4.6"},
	"MllamaForConditionalGeneration": {"0.4.6"}, "CLIPModel": {"0.4.6"}, "MossVLForConditionalGeneration": {"0.5.11"},
}

// modelCapabilities is _handle_model_capability_adjustments (0.5.16), which
// came from the model runner.
func (x *resolver) modelCapabilities() {
	prefix, has := x.m.cfg.Top.Bool("prefix_lm")
	if (x.m.ModelType == "hrm_text" || x.m.is("HrmTextForCausalLM")) && (prefix || !has) {
		x.rule("attention_backend", "triton", "prefix-attention")
		x.rule("chunked_prefill_size", int64(-1), "prefix-attention")
		x.rule("disable_radix_cache", true, "prefix-attention")
		x.rule("disable_cuda_graph", true, "prefix-attention")
		x.disableGraphs("prefix-attention")
	}
	if x.m.IsMultimodal && noChunking.has(x.r, x.m.Arch) {
		x.rule("chunked_prefill_size", int64(-1), "no-chunked-prompts")
	}
}

// ggufPath reports a model given as one GGUF file.
func (x *resolver) ggufPath() bool {
	p := x.Str("model_path")
	return len(p) > 5 && p[len(p)-5:] == ".gguf"
}
