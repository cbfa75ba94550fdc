package args

import "slices"

// family is what SGLang does for the architectures of one model family: the
// arch branch of _handle_model_specific_adjustments, or its override
// functions since 0.5.15. A family is one entry here and one function.
type family struct {
	archs archSince
	run   func(*resolver)
}

var families = []family{
	{archSince{"MistralLarge3ForCausalLM": {"0.5.6.post1"}, "PixtralForConditionalGeneration": {"0.5.6.post1"}},
		func(x *resolver) { x.rule("dtype", "bfloat16", "mistral-large-dtype") }},
	{archSince{
		"DeepseekV3ForCausalLM": {"0.5.3"}, "DeepseekV32ForCausalLM": {"0.5.12"},
		"MistralLarge3ForCausalLM": {"0.5.6.post1"}, "PixtralForConditionalGeneration": {"0.5.6.post1"},
		"KimiK25ForConditionalGeneration": {"0.5.9"}, "GlmMoeDsaForCausalLM": {"0.5.9"},
		"LongcatFlashForCausalLM": {"0.5.16"}, "LongcatFlashForCausalLMNextN": {"0.5.16"}, "Dots3NoteForCausalLM": {"0.5.19"},
		"Glm5NextForConditionalGeneration": {"0.5.20"}, "HYV4ForCausalLM": {"0.5.20"}, "HYV4ForCausalLMNextN": {"0.5.20"},
	}, (*resolver).deepseek},
	{archSince{"DeepseekV32ForCausalLM": {"0.5.3", "0.5.6"}}, (*resolver).sparse},
	{archSince{"DeepseekV32ForCausalLM": {"0.5.6", "0.5.12"}}, (*resolver).sparseByOtherName},
	{archSince{"DeepseekV4ForCausalLM": {"0.5.12"}}, (*resolver).deepseekV4},
	{archSince{"GptOssForCausalLM": {"0.5.1"}}, (*resolver).gptOss},
	{archSince{"MiMoV2FlashForCausalLM": {"0.5.7"}, "MiMoV2ForCausalLM": {"0.5.11"}}, (*resolver).mimo},
	{archSince{"Step3p5ForCausalLM": {"0.5.9"}, "Step3p7ForConditionalGeneration": {"0.5.13"}}, (*resolver).step3},
	{archSince{"Llama4ForConditionalGeneration": {"0.5.1"}, "Llama4ForCausalLM": {"0.5.1"}}, (*resolver).llama4},
	{archSince{
		"Gemma2ForCausalLM": {"0.5.1"}, "Gemma3ForCausalLM": {"0.5.1"}, "Gemma3ForConditionalGeneration": {"0.5.1"},
		"Gemma3nForCausalLM": {"0.5.1"}, "Gemma3nForConditionalGeneration": {"0.5.1"},
	}, func(x *resolver) { x.rule("disable_hybrid_swa_memory", true, "no-window-pool") }},
	{archSince{
		"Gemma4ForConditionalGeneration": {"0.5.11"}, "Gemma4ForCausalLM": {"0.5.13"}, "Gemma4UnifiedForConditionalGeneration": {"0.5.13"},
		"DiffusionGemmaForBlockDiffusion": {"0.5.22"},
	}, (*resolver).gemma4},
	{archSince{"MossVLForConditionalGeneration": {"0.5.11"}}, (*resolver).mossVL},
	{archSince{"Exaone4ForCausalLM": {"0.5.9"}, "ExaoneMoEForCausalLM": {"0.5.9"}, "ExaoneMoeForCausalLM": {"0.5.22"}}, (*resolver).exaone},
	{archSince{"Olmo2ForCausalLM": {"0.5.3"}}, (*resolver).olmo2},
	{archSince{"GigaChat35ForCausalLM": {"0.5.21"}}, func(x *resolver) { x.rule("disable_shared_experts_fusion", true, "model-without-fusion") }},
	{archSince{"NemotronHForCausalLM": {"0.5.6"}, "NemotronHPuzzleForCausalLM": {"0.5.11"}, "NemotronH_Omni_Reasoning_V3": {"0.5.21"}}, (*resolver).nemotron},
	{archSince{
		"Qwen3MoeForCausalLM": {"0.5.6"}, "Qwen3VLMoeForConditionalGeneration": {"0.5.6"}, "Qwen3NextForCausalLM": {"0.5.6"},
		"Qwen3_5MoeForConditionalGeneration": {"0.5.9"}, "Qwen3_5ForConditionalGeneration": {"0.5.9"},
		"InternS2PreviewForConditionalGeneration": {"0.5.12"}, "Qwen4ExpForConditionalGeneration": {"0.5.20"},
	}, (*resolver).qwenMoE},
	{archSince{
		"Qwen3NextForCausalLM": {"0.5.6"}, "Qwen3_5MoeForConditionalGeneration": {"0.5.9"}, "Qwen3_5ForConditionalGeneration": {"0.5.9"},
		"InternS2PreviewForConditionalGeneration": {"0.5.12"}, "InternS2MobiusForConditionalGeneration": {"0.5.18"},
		"Qwen4ExpForConditionalGeneration": {"0.5.20"},
	}, (*resolver).qwenHybrid},
	{archSince{"Qwen3VLForConditionalGeneration": {"0.5.20"}, "Qwen3VLMoeForConditionalGeneration": {"0.5.20"}}, (*resolver).qwenVL},
	{archSince{"Glm4MoeForCausalLM": {"0.5.7"}}, (*resolver).glm4},
	{archSince{"FalconH1ForCausalLM": {"0.5.7"}, "JetNemotronForCausalLM": {"0.5.7"}, "JetVLMForConditionalGeneration": {"0.5.7"}},
		func(x *resolver) { x.hybrid("triton", true, false) }},
	{archSince{"GraniteMoeHybridForCausalLM": {"0.5.9"}}, (*resolver).granite},
	{archSince{"MiniCPMV4_6ForConditionalGeneration": {"0.5.12"}, "MiniCPMV4_7ForConditionalGeneration": {"0.5.22"}},
		func(x *resolver) { x.hybrid("triton", true, true) }},
	{archSince{"Lfm2ForCausalLM": {"0.5.9"}, "Lfm2MoeForCausalLM": {"0.5.17"}}, (*resolver).lfm2},
	{archSince{"KimiLinearForCausalLM": {"0.5.4.post2"}}, func(x *resolver) { x.hybrid("", false, true) }},
	{archSince{"BailingMoeV2_5ForCausalLM": {"0.5.9"}}, func(x *resolver) { x.hybrid("", x.r.AtLeast("0.5.10"), true) }},
	{archSince{"KimiK3ForConditionalGeneration": {"0.5.17"}}, (*resolver).kimiK3},
	{archSince{"MiniMaxM3SparseForCausalLM": {"0.5.14"}, "MiniMaxM3SparseForConditionalGeneration": {"0.5.14"}}, (*resolver).minimaxM3},
	{archSince{"MiniMaxM2ForCausalLM": {"0.5.18"}}, (*resolver).minimaxM2},
	{archSince{"InklingForConditionalGeneration": {"0.5.16"}, "InklingForConditionalGenerationMTP": {"0.5.16"}}, (*resolver).inkling},
	{archSince{"MuseSparkForConditionalGeneration": {"0.5.23"}}, (*resolver).museSpark},
	{archSince{"MiniCPMForCausalLM": {"0.5.19"}, "MiniCPMSALAForCausalLM": {"0.5.19"}}, (*resolver).minicpm},
	{archSince{"BeamForCausalLM": {"0.5.22"}}, (*resolver).beam},
	{archSince{"IQuestQ1ForCausalLM": {"0.5.21"}, "IQuestQ1MTP": {"0.5.21"}}, (*resolver).iquest},
	{archSince{"EmbeddingGemma2Model": {"0.5.22"}}, (*resolver).embeddingGemma2},
	{archSince{"Ernie4_5_VLMoeForConditionalGeneration": {"0.5.22"}}, (*resolver).ernieVL},
}

// modelRules is _handle_model_specific_adjustments.
func (x *resolver) modelRules() {
	if !x.m.known {
		return
	}
	for _, f := range families {
		if f.archs.has(x.r, x.m.Arch) {
			f.run(x)
		}
	}
	if x.r.AtLeast("0.5.14") {
		x.mambaStrategy()
	}
}

// defaultTo names the backend where the user named none of the three.
func (x *resolver) defaultTo(backend string) {
	if x.noBackend() {
		x.rule("attention_backend", backend, "model-attention-backend")
	}
}

// byCard picks a backend by the card's generation.
func (x *resolver) byCard(sm100, sm90, other string) string {
	switch {
	case x.sm100():
		return sm100
	case x.sm90():
		return sm90
	}
	return other
}

// needBackend refuses a launch whose phases do not both use one of the
// backends that the model works with.
func (x *resolver) needBackend(ok ...string) {
	p, d := x.prefillBackend(), x.decodeBackend()
	if slices.Contains(ok, p) && slices.Contains(ok, d) {
		return
	}
	x.refuse(CodeBackendModel, "--attention-backend",
		x.m.Arch+" needs one of "+quoted(ok)+"; prefill would use "+nameOr(p, "none")+", decode "+nameOr(d, "none")+".",
		fix("leave the choice to SGLang", dropFlag("--attention-backend")))
}

func nameOr(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func (x *resolver) gptOss() {
	x.defaultTo(x.byCard("trtllm_mha", "fa3", "triton"))
	ok := []string{"triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_amx", "intel_xpu", "aiter"}
	switch {
	case x.r.Before("0.5.7"):
		ok = ok[:4]
	case x.r.Before("0.5.10"):
		ok = ok[:5]
	}
	x.needBackend(ok...)
	if x.r.Before("0.5.9") {
		x.rule("disable_hybrid_swa_memory", true, "no-window-pool")
	} else if x.r.Before("0.5.10") && (x.prefillBackend() == "trtllm_mha" || x.decodeBackend() == "trtllm_mha") {
		x.rule("disable_hybrid_swa_memory", true, "no-window-pool")
	}
	mx := x.m.quantMethod() == "mxfp4"
	if mx {
		x.rule("dtype", "bfloat16", "mxfp4-dtype")
	}
	if x.Str("moe_runner_backend") == "auto" {
		x.rule("moe_runner_backend", x.gptOssRunner(mx), "gpt-oss-moe-runner")
	}
	if x.Str("moe_runner_backend") == "triton_kernel" && x.Int("ep_size") != 1 {
		x.refuse(CodeExpertParallel, "--ep-size", "The triton_kernel MoE runner needs --ep-size 1.", fix("run without expert parallelism", setFlag("--ep-size", "1")))
	}
}

func (x *resolver) gptOssRunner(mx bool) string {
	blackwell := x.blackwell()
	if x.r.AtLeast("0.5.10") {
		blackwell = x.sm100() || x.r.AtLeast("0.5.17") && x.sm120()
	}
	switch {
	case x.r.Within("0.5.6", "0.5.6.post9") && x.Bool("enable_piecewise_cuda_graph"):
		return "auto"
	case blackwell && mx:
		return "flashinfer_mxfp4"
	case x.sm120() && mx && x.r.AtLeast("0.5.14"):
		return "marlin"
	case x.sm120() && mx && x.r.AtLeast("0.5.10"):
		return "triton_kernel"
	case x.Int("ep_size") == 1 && (x.r.Before("0.5.8") || x.isNone("quantization")):
		return "triton_kernel"
	}
	return "auto"
}

func (x *resolver) llama4() {
	if x.isNone("attention_backend") && x.r.AtLeast("0.5.6") {
		x.rule("attention_backend", x.byCard("trtllm_mha", "fa3", "triton"), "model-attention-backend")
	}
	ok := []string{"fa3", "aiter", "triton", "trtllm_mha", "intel_xpu", "ascend"}
	if !slices.Contains(ok, x.Str("attention_backend")) {
		// 0.5.5 and older test before any default is chosen, so a launch
		// without the flag ends here too.
		x.refuse(CodeBackendModel, "--attention-backend", "Llama 4 needs --attention-backend fa3, triton or trtllm_mha; it is "+nameOr(x.Str("attention_backend"), "not given")+".",
			fix("name a backend that works here", setFlag("--attention-backend", x.byCard("trtllm_mha", "fa3", "triton"))))
	}
	if q := x.Str("quantization"); x.sm100() && (q == "fp8" || q == "modelopt_fp8") {
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	}
}

// autoRunner names the MoE runner where the user left it to SGLang.
func (x *resolver) autoRunner(backend, id string) {
	if x.Str("moe_runner_backend") == "auto" {
		x.rule("moe_runner_backend", backend, id)
	}
}

func (x *resolver) gemma4() {
	def := "triton"
	if x.r.Before("0.5.13") {
		x.defaultTo(def)
		return
	}
	if x.sm100() && !x.m.is("DiffusionGemmaForBlockDiffusion") &&
		!(x.r.Before("0.5.14") && x.m.Quantization == "modelopt_fp4" && x.gemmaMoE()) {
		def = "trtllm_mha"
	}
	x.defaultTo(def)
	x.fill("attention_backend", def, "model-attention-backend")
	ok := []string{"trtllm_mha", "triton", "intel_xpu", "ascend", "intel_amx", "aiter"}
	if x.r.AtLeast("0.5.22") {
		ok = append(ok, "fa4")
	}
	if !x.m.is("DiffusionGemmaForBlockDiffusion") {
		x.needBackend(ok...)
	}
	if x.sm100() && x.m.Quantization == "modelopt_fp4" && x.Str("moe_runner_backend") == "auto" {
		x.rule("quantization", "modelopt_fp4", "checkpoint-quantization")
		x.rule("moe_runner_backend", "flashinfer_trtllm", "sm100-moe-runner")
	}
}

func (x *resolver) gemmaMoE() bool { on, _ := x.m.cfg.Text().Bool("enable_moe_block"); return on }

func (x *resolver) mossVL() {
	if x.noBackend() {
		x.rule("prefill_attention_backend", "flashinfer", "model-attention-backend")
	}
	if b := x.prefillBackend(); b != "flashinfer" {
		x.refuse(CodeBackendModel, "--prefill-attention-backend", "Moss-VL prefills with flashinfer only; "+nameOr(b, "none")+" is asked.")
	}
}

func (x *resolver) exaone() {
	if !x.m.cfg.Top.Has("sliding_window_pattern") {
		return
	}
	x.rule("disable_hybrid_swa_memory", true, "no-window-pool")
	if x.r.AtLeast("0.5.22") {
		x.fill("attention_backend", x.fa3ByCard(), "model-attention-backend")
	}
	if ok := []string{"fa3", "triton", "trtllm_mha"}; !slices.Contains(ok, x.Str("attention_backend")) {
		x.refuse(CodeBackendModel, "--attention-backend", "EXAONE 4 with sliding windows needs one of "+quoted(ok)+".",
			fix("name one", setFlag("--attention-backend", x.fa3ByCard())))
	}
}

// fa3ByCard is the choice for models that want FlashAttention 3 from SM80 on.
func (x *resolver) fa3ByCard() string {
	switch {
	case x.sm100():
		return "trtllm_mha"
	case x.sm80up():
		return "fa3"
	}
	return "triton"
}

func (x *resolver) olmo2() {
	x.rule("disable_hybrid_swa_memory", true, "no-window-pool")
	x.fill("attention_backend", x.fa3ByCard(), "model-attention-backend")
	if x.Str("attention_backend") == "flashinfer" {
		x.refuse(CodeBackendModel, "--attention-backend", "OLMo does not run on flashinfer.", fix("leave the choice to SGLang", dropFlag("--attention-backend")))
	}
}

func (x *resolver) glm4() {
	if !x.sm100() {
		return
	}
	x.checkpointQuantization()
	q := x.Str("quantization")
	if x.a2a() == "none" && (q == "modelopt_fp4" || q == "" && x.r.AtLeast("0.5.15")) {
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	}
}

// checkpointQuantization takes the method that config.json names where the
// user named none.
func (x *resolver) checkpointQuantization() {
	if q := x.m.quantMethod(); q != "" && x.isNone("quantization") && !x.unquantised {
		x.rule("quantization", q, "checkpoint-quantization")
	}
}

func (x *resolver) qwenMoE() {
	if !x.sm100() {
		return
	}
	x.checkpointQuantization()
	q := x.Str("quantization")
	if x.r.AtLeast("0.5.20") && q == "modelopt_mixed" && x.m.weightOnlyExperts() {
		x.autoRunner("marlin", "w4a16-moe-runner")
		return
	}
	fits := q == "fp8" || q == "modelopt_fp4" || q == "" && x.r.AtLeast("0.5.9") || q == "modelopt_mixed" && x.r.AtLeast("0.5.20")
	if fits && x.a2a() == "none" {
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	}
}

// qwenVL is the serving profile of Qwen3-VL on large Hopper cards.
func (x *resolver) qwenVL() {
	if x.hopperQwenVL() && x.isNone("attention_backend") {
		x.fill("decode_attention_backend", "flashinfer", "qwen-vl-hopper")
	}
	if x.hopperQwenVL() {
		x.fill("mm_preprocess_cache_size_mb", int64(0), "qwen-vl-hopper")
	}
}

func (x *resolver) step3() {
	if x.r.AtLeast("0.5.13") {
		if x.blackwell() {
			x.defaultTo("fa4")
		} else if x.sm90() {
			x.defaultTo("fa3")
		}
	}
	if x.Bool("enable_hierarchical_cache") {
		x.rule("swa_full_tokens_ratio", 1.0, "window-pool-with-hicache")
		x.rule("disable_hybrid_swa_memory", true, "window-pool-with-hicache")
	}
}

func (x *resolver) mimo() {
	if x.r.AtLeast("0.5.22") && x.sm100() {
		x.defaultTo("fa4")
	}
	if x.r.AtLeast("0.5.18") && x.sm100() && x.m.quantMethod() == "fp8" && x.a2a() == "none" {
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	}
	if !x.Bool("enable_hierarchical_cache") {
		return
	}
	switch {
	case x.r.Before("0.5.14"):
		x.rule("swa_full_tokens_ratio", 1.0, "window-pool-with-hicache")
		x.rule("disable_hybrid_swa_memory", true, "window-pool-with-hicache")
	case x.r.Before("0.5.19") && !x.env.Bool("SGLANG_ENABLE_UNIFIED_RADIX_TREE", false):
		x.refuse(CodeHicacheModel, "--enable-hierarchical-cache", "HiCache for MiMo-V2 needs the unified radix tree in this release.",
			fix("set SGLANG_ENABLE_UNIFIED_RADIX_TREE=1 in the environment"), fix("run without HiCache", dropFlag("--enable-hierarchical-cache")))
	}
}
