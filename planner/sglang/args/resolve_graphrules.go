package args

import "github.com/sglplan/sglplan/planner/sglang/release"

// archSince names architectures and the span of releases of a list of SGLang:
// from the first, until before the second ("" to this day).
type archSince map[string][2]string

func (s archSince) has(r release.Release, arch string) bool {
	span, ok := s[arch]
	return ok && r.AtLeast(span[0]) && (span[1] == "" || r.Before(span[1]))
}

// breakableMultimodal are the multimodal architectures whose prefill may run
// in breakable graphs (multimodal_breakable_cuda_graph_supported_model_archs).
var breakableMultimodal = archSince{
	"Qwen3_5ForConditionalGeneration": {"0.5.16"}, "Qwen3_5MoeForConditionalGeneration": {"0.5.16"},
	"KimiK25ForConditionalGeneration": {"0.5.18"}, "KimiK3ForConditionalGeneration": {"0.5.18"},
	"MuseGlimmerForConditionalGeneration": {"0.5.18"}, "InternS2MobiusForConditionalGeneration": {"0.5.18"},
	"Cohere2VisionForConditionalGeneration": {"0.5.19"}, "PaddleOCRVLForConditionalGeneration": {"0.5.19"},
	"Glm5NextForConditionalGeneration": {"0.5.20"},
	"MiniMaxM3SparseForCausalLM":       {"0.5.22"}, "MiniMaxM3SparseForConditionalGeneration": {"0.5.22"},
	"Qwen4ExpForConditionalGeneration": {"0.5.22"}, "MuseSparkForConditionalGeneration": {"0.5.23"},
}

// piecewiseMultimodal are those that run in piecewise graphs instead
// (multimodal_piecewise_cuda_graph_supported_model_archs).
var piecewiseMultimodal = archSince{
	"Cohere2VisionForConditionalGeneration": {"0.5.14", "0.5.19"},
	"KimiK25ForConditionalGeneration":       {"0.5.16", "0.5.22"},
	"MiniMaxM3SparseForCausalLM":            {"0.5.14", "0.5.22"}, "MiniMaxM3SparseForConditionalGeneration": {"0.5.14", "0.5.22"},
}

// piecewiseBarred never run in piecewise graphs
// (piecewise_cuda_graph_disabled_model_archs).
var piecewiseBarred = archSince{
	"DeepseekV32ForCausalLM": {"0.5.10", "0.5.13"}, "GlmMoeDsaForCausalLM": {"0.5.10", "0.5.13"},
	"Qwen3NextForCausalLM": {"0.5.10"}, "BailingMoeV2_5ForCausalLM": {"0.5.10"}, "LLaDAModelLM": {"0.5.10"},
	"DeepseekV4ForCausalLM": {"0.5.12"}, "DeepseekV4ForCausalLMNextN": {"0.5.12"}, "DeepseekV4ForCausalLMDSpark": {"0.5.16"},
	"Glm5NextForConditionalGeneration": {"0.5.20"},
}

// prefillGraphRules is _apply_cuda_graph_compatibility: the conditions under
// which SGLang gives up its default prefill graphs. A backend that the user
// chose stays.
func (x *resolver) prefillGraphRules() {
	p := &x.g.prefill
	if p.locked("backend") {
		return
	}
	if x.r.AtLeast("0.5.19") && x.Int("pp_size") > 1 && p.backend == graphBreakable {
		p.backend = graphDisabled
		return
	}
	if x.prefersPiecewise() {
		p.backend = graphPiecewise
	}
	switch {
	case p.backend == graphPiecewise && x.piecewiseUnfit(), p.backend == graphBreakable && x.breakableUnfit():
		p.backend = graphDisabled
	}
}

// prefersPiecewise: validated multimodal decoders take piecewise graphs where
// breakable ones do not work for them (0.5.16 to 0.5.21).
func (x *resolver) prefersPiecewise() bool {
	if x.g.prefill.backend != graphBreakable || x.r.Before("0.5.16") || !piecewiseMultimodal.has(x.r, x.m.Arch) || !x.multimodalOn() {
		return false
	}
	return x.r.Before("0.5.18") || (!breakableMultimodal.has(x.r, x.m.Arch) && x.prefillBackend() != "trtllm_mla")
}

// multimodalOn is enable_multimodal after its defaults: the allowlists count
// only where the model is served with its encoder.
func (x *resolver) multimodalOn() bool { return x.m.IsMultimodal }

// piecewiseUnfit holds the conditions that end piecewise graphs, which run
// under torch.compile.
func (x *resolver) piecewiseUnfit() bool {
	return piecewiseBarred.has(x.r, x.m.Arch) && !(x.r.AtLeast("0.5.14") && piecewiseMultimodal.has(x.r, x.m.Arch)) ||
		x.Bool("enable_dp_attention") || x.Bool("enable_torch_compile") || x.Int("pp_size") > 1 ||
		x.a2a() != "none" || x.lora() ||
		x.m.IsMultimodal && !piecewiseMultimodal.has(x.r, x.m.Arch) ||
		x.Str("load_format") == "gguf" || x.Str("quantization") == "gguf" || x.ggufPath() ||
		x.Has("dllm_algorithm") || x.Float("cpu_offload_gb") > 0 || x.Bool("enable_hierarchical_cache") ||
		x.Bool("enable_deterministic_inference") || x.Str("disaggregation_mode") != "null" || x.Bool("enable_symm_mem") ||
		x.Bool("enable_eplb") || x.Has("expert_distribution_recorder_mode") || x.Int("attn_cp_size") > 1 ||
		x.Bool("debug_cuda_graph") || x.r.AtLeast("0.5.13") && x.dsaCP() ||
		x.Int("dcp_size") > 1 ||
		x.r.Before("0.5.11") && x.Has("speculative_algorithm")
}

// breakableUnfit holds those of breakable graphs.
func (x *resolver) breakableUnfit() bool {
	if x.m.mla() && (x.r.Before("0.5.17") || x.r.Before("0.5.18") && !x.m.IsDSA && x.m.Arch != "KimiK3ForConditionalGeneration") {
		return true
	}
	if x.r.Before("0.5.17") && (x.lora() || x.a2a() != "none" || x.Bool("enable_dp_attention")) {
		return true
	}
	if x.r.AtLeast("0.5.17") {
		switch x.a2a() {
		case "none", "deepep", "megamoe", "flashinfer":
		default:
			return true
		}
		if x.Bool("enable_two_batch_overlap") {
			return true
		}
	}
	if x.r.AtLeast("0.5.17") && x.r.Before("0.5.18") && x.m.is("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM") {
		return true
	}
	if x.r.AtLeast("0.5.20") && x.m.kda() && !(x.r.AtLeast("0.5.22") && x.m.is("Glm5NextForConditionalGeneration")) {
		return true
	}
	if x.m.IsDeepseekV4 && !(x.r.AtLeast("0.5.23") && x.prefillCPGraphs()) {
		return true
	}
	if x.Int("attn_cp_size") > 1 && !(x.r.AtLeast("0.5.17") && x.prefillCPGraphs()) {
		return true
	}
	return x.r.AtLeast("0.5.16") && x.Int("dcp_size") > 1 || x.m.IsMultimodal && !breakableMultimodal.has(x.r, x.m.Arch)
}

// prefillCPGraphs is supports_prefill_cp_bcg: prefill context parallelism over
// all ranks, in zigzag order, on trtllm_mha.
func (x *resolver) prefillCPGraphs() bool {
	return x.Bool("enable_prefill_cp") && x.Int("attn_cp_size") == x.Int("tp_size") &&
		x.Str("cp_strategy") == "zigzag" && x.prefillBackend() == "trtllm_mha" &&
		(x.r.Before("0.5.20") || x.Int("pp_size") == 1)
}

// piecewiseRunners: some MoE runners route outside the op that piecewise
// graphs see (0.5.10 to 0.5.12), after the fraction was computed.
func (x *resolver) piecewiseRunners() {
	r := x.Str("moe_runner_backend")
	if (r == "flashinfer_trtllm" || r == "flashinfer_mxfp4") && x.m.known && !x.m.is("GptOssForCausalLM") && !x.Bool("enforce_piecewise_cuda_graph") {
		x.rule("disable_piecewise_cuda_graph", true, "piecewise-unfit")
	}
}

// piecewiseGraphs is _handle_piecewise_cuda_graph of 0.5.10 to 0.5.13.
func (x *resolver) piecewiseGraphs() {
	if x.Bool("enforce_piecewise_cuda_graph") {
		x.rule("disable_piecewise_cuda_graph", false, "piecewise-enforced")
	} else if x.piecewiseUnfit() {
		x.rule("disable_piecewise_cuda_graph", true, "piecewise-unfit")
	}
}

func (x *resolver) lora() bool { return x.Bool("enable_lora") || x.Has("lora_paths") }

// a2a is the all-to-all backend of MoE layers, "none" where the release has
// no such argument.
func (x *resolver) a2a() string {
	if s := x.Str("moe_a2a_backend"); s != "" {
		return s
	}
	return "none"
}
