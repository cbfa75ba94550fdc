package loading

import (
	"slices"

	"github.com/sglplan/sglplan/planner/model/weights"
)

// backends are the kernels that decide how weights are rewritten, chosen as
// the release does for the card where the launch leaves them at auto.
type backends struct {
	moe string // moe_runner_backend
}

// The runner backends that rewrite experts.
const (
	runAuto    = "auto"
	runTrtllm  = "flashinfer_trtllm"
	runRouted  = "flashinfer_trtllm_routed"
	runMXFP4   = "flashinfer_mxfp4"
	runKernel  = "triton_kernel"
	runMarlin  = "marlin"
	runCutlass = "flashinfer_cutlass"
)

// trtllmArchs take TensorRT-LLM's experts on compute capability 10.x unless
// the launch says otherwise (the model overrides of server_args), by the
// quantisations for which they do; "" is an unquantised model.
var trtllmArchs = map[string][]string{
	"Qwen3MoeForCausalLM":                {"", "fp8", "modelopt_fp4"},
	"Qwen3VLMoeForConditionalGeneration": {"", "fp8", "modelopt_fp4"},
	"Qwen3NextForCausalLM":               {"", "fp8", "modelopt_fp4"},
	"Qwen3_5MoeForConditionalGeneration": {"", "fp8", "modelopt_fp4"},
	"Qwen3_5ForConditionalGeneration":    {"", "fp8", "modelopt_fp4"},
	"DeepseekV3ForCausalLM":              deepseekQuants,
	"DeepseekV32ForCausalLM":             deepseekQuants,
	"KimiK25ForConditionalGeneration":    append([]string{"compressed-tensors"}, deepseekQuants...),
	"GlmMoeDsaForCausalLM":               deepseekQuants,
	"Glm4MoeForCausalLM":                 {"", "modelopt_fp4"},
	"Gemma4ForConditionalGeneration":     {"modelopt_fp4"},
	"Llama4ForConditionalGeneration":     {"modelopt_fp8"},
	"NemotronHForCausalLM":               {"", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed"},
	"MiMoV2FlashForCausalLM":             {"fp8"},
}

var deepseekQuants = []string{"", "fp8", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed"}

func (l *loader) chooseBackends() backends {
	b := backends{moe: l.args.Str("moe_runner_backend")}
	if b.moe == "" || b.moe == runAuto {
		b.moe = l.autoRunner()
	}
	return b
}

func (l *loader) method() string {
	if l.quant == nil {
		return ""
	}
	return l.quant.Method
}

func (l *loader) autoRunner() string {
	arch, method := l.cfg.Arch(), l.method()
	switch {
	case arch == "GptOssForCausalLM":
		return l.gptOssRunner(method)
	case arch == "NemotronHForCausalLM":
		return l.nemotronRunner(method)
	case isV4(arch):
		return l.v4Runner()
	case method == "compressed-tensors" && l.quant.MoE.Kind == weights.MXFP4 && l.card.Major == 10 && l.rel.AtLeast("0.5.18"):
		return runMXFP4
	}
	if l.card.Major != 10 {
		return runAuto
	}
	switch {
	case method == "modelopt_mixed" && arch == "MiniMaxM3SparseForConditionalGeneration",
		method == "modelopt_fp4" && arch == "MiniMaxM2ForCausalLM" && l.rel.AtLeast("0.5.18"):
		return runRouted
	case method == "modelopt_mixed" && arch == "Qwen3_5MoeForConditionalGeneration" && l.rel.AtLeast("0.5.18"):
		return runMarlin
	case !l.lay.A2A && slices.Contains(trtllmArchs[arch], method):
		return runTrtllm
	}
	return runAuto
}

// gptOssRunner follows _gpt_oss_overrides.
func (l *loader) gptOssRunner(method string) string {
	switch {
	case method == "mxfp4" && l.card.Major == 10:
		return runMXFP4
	case method == "mxfp4" && l.card.Major == 12 && l.rel.AtLeast("0.5.17"):
		return runMXFP4
	case method == "mxfp4" && l.card.Major == 12:
		return runMarlin
	case l.args.IntOr("ep_size", 1) == 1:
		return runKernel
	}
	return runAuto
}

func (l *loader) nemotronRunner(method string) string {
	fp4 := method == "modelopt_fp4" || method == "modelopt_mixed"
	switch {
	case l.card.Major == 10 && !l.lay.A2A:
		return runTrtllm
	case fp4 && l.card.Major >= 8 && l.card.Major < 10:
		return runMarlin
	}
	return runCutlass
}

func isV4(arch string) bool {
	return arch == "DeepseekV4ForCausalLM" || arch == "DeepseekV41ForCausalLM"
}

// v4Runner: DeepSeek-V4's fp4 experts.
func (l *loader) v4Runner() string {
	if l.quant == nil || l.quant.MoE.Kind != weights.MXFP4Fp8 || l.lay.A2A || l.fp4ToFP8() {
		return runAuto
	}
	if l.card.Major == 12 || l.rel.AtLeast("0.5.18") {
		return runMXFP4
	}
	return runAuto
}

// trtllm reports either of TensorRT-LLM's runners.
func (b backends) trtllm() bool { return b.moe == runTrtllm || b.moe == runRouted }
