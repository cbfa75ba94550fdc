package args

import (
	"fmt"
	"slices"
)

// moeRunnerAlias: --moe-runner-backend megamoe stands for the all-to-all
// backend of that name (0.5.18).
func (x *resolver) moeRunnerAlias() {
	if x.Str("moe_runner_backend") != "megamoe" {
		return
	}
	x.rule("moe_runner_backend", "auto", "megamoe-alias")
	x.rule("moe_a2a_backend", "megamoe", "megamoe-alias")
}

// moeKernels is _handle_moe_kernel_config: which runners take which weights.
func (x *resolver) moeKernels() {
	q := x.Str("quantization")
	x.runnerOfQuantization(q)
	runner := x.Str("moe_runner_backend")
	if ok, known := x.runnerTakes(runner); known && !slices.Contains(ok, q) {
		x.refuse(CodeMoERunner, "--moe-runner-backend", fmt.Sprintf("%s takes weights in %s; these are %s.", runner, quoted(ok), nameOr(q, "not quantised")),
			fix("leave the choice to SGLang", setFlag("--moe-runner-backend", "auto")))
	}
	if ep := x.Int("ep_size"); (runner == "flashinfer_cutlass" || runner == "flashinfer_cutedsl") && ep != 1 && ep != x.Int("tp_size") {
		x.refuse(CodeExpertParallel, "--ep-size", fmt.Sprintf("%s needs --ep-size 1 or %d; %d is asked.", runner, x.Int("tp_size"), ep), fix("use one of them", setFlag("--ep-size", fmt.Sprint(x.Int("tp_size")))))
	}
	if ok := []string{"none", "deepep", "flashinfer"}; runner == "flashinfer_cutedsl" && !slices.Contains(ok, x.a2a()) {
		x.refuse(CodeAllToAll, "--moe-a2a-backend", "flashinfer_cutedsl takes "+quoted(ok)+".", fix("use none", setFlag("--moe-a2a-backend", "none")))
	}
	switch runner {
	case "flashinfer_trtllm", "flashinfer_trtllm_routed", "flashinfer_cutedsl", "experimental_sgl_trtllm":
		x.rule("disable_shared_experts_fusion", true, "runner-without-fusion")
	}
	if runner == "cutlass" && (q == "fp8" || q == "mxfp8") && x.Int("ep_size") != 1 {
		x.refuse(CodeExpertParallel, "--ep-size", "The cutlass MoE runner needs --ep-size 1.", fix("use 1", setFlag("--ep-size", "1")))
	}
}

// runnerOfQuantization is the choice that the weights alone decide.
func (x *resolver) runnerOfQuantization(q string) {
	runner := x.Str("moe_runner_backend")
	switch {
	case q == "mxfp8" && x.r.Before("0.5.10") && x.r.AtLeast("0.5.9"):
		x.rule("moe_runner_backend", "cutlass", "mxfp8-moe-runner")
	case q == "mxfp8" && x.r.AtLeast("0.5.10") && !slices.Contains([]string{"cutlass", "flashinfer_trtllm", "flashinfer_trtllm_routed", "deep_gemm", "flashinfer_megamoe"}, runner):
		x.rule("moe_runner_backend", "flashinfer_trtllm", "mxfp8-moe-runner")
	case q == "nvfp4_online" && !x.sm100():
		x.refuse(CodeMoERunner, "--quantization", "nvfp4_online runs on SM100 only.", fix("leave it out", dropFlag("--quantization")))
	case q == "nvfp4_online":
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	case q == "modelopt_fp4" && x.r.AtLeast("0.5.11") && (x.sm120() || x.r.AtLeast("0.5.22") && x.card.Major == 11):
		x.autoRunner("flashinfer_cutlass", "sm120-moe-runner")
	}
}

// runnerTakes lists the quantisations a runner works with; "" is none at all.
func (x *resolver) runnerTakes(runner string) (ok []string, known bool) {
	switch runner {
	case "flashinfer_cutlass":
		if x.r.Before("0.5.6") {
			return []string{"modelopt_fp4"}, true
		}
		return []string{"modelopt_fp4", "modelopt_fp8", "modelopt_mixed", ""}, true
	case "flashinfer_trtllm", "experimental_sgl_trtllm":
		ok = []string{"modelopt_fp4", "fp8", "modelopt_fp8"}
		if x.r.AtLeast("0.5.8") {
			ok = append(ok, "compressed-tensors", "")
		}
		if x.r.AtLeast("0.5.10") {
			ok = append(ok, "mxfp8", "modelopt_mixed", "nvfp4_online")
		}
		return ok, true
	case "flashinfer_trtllm_routed":
		return []string{"fp8", "mxfp8", "modelopt_fp4", "modelopt_mixed", "nvfp4_online", "minimax_m3_nvfp4", ""}, true
	case "flashinfer_cutedsl":
		ok = []string{"modelopt_fp4"}
		if x.r.AtLeast("0.5.16") {
			ok = append(ok, "modelopt_mixed", "nvfp4_online")
		}
		return ok, x.r.AtLeast("0.5.11") && !(x.r.AtLeast("0.5.15") && x.m.mixedNVFP4())
	}
	return nil, false
}

// spanning are the all-to-all backends that put the experts on all ranks of
// the TP group (_A2A_EP_SPANNING_BACKENDS), with their first release.
var spanning = archSince{
	"deepep": {"0.4.6"}, "mooncake": {"0.5.2"}, "ascend_fuseep": {"0.5.6"}, "flashinfer": {"0.5.8"}, "mori": {"0.5.8"},
	"nixl": {"0.5.10"}, "megamoe": {"0.5.12"}, "pplx": {"0.5.18"}, "deepep_v2": {"0.5.20"}, "flashinfer_megamoe": {"0.5.20"},
}

// moeAllToAll is _handle_a2a_moe.
func (x *resolver) moeAllToAll() {
	if x.Bool("enable_waterfill") && x.a2a() != "deepep" && x.a2a() != "megamoe" || x.Bool("enable_deepep_waterfill") && x.a2a() != "deepep" {
		x.rule("moe_a2a_backend", "deepep", "waterfill-all-to-all")
	}
	b := x.a2a()
	if spanning.has(x.r, b) {
		x.rule("ep_size", x.Int("tp_size"), "experts-on-all-ranks")
	}
	switch b {
	case "deepep":
		x.deepEP()
	case "deepep_v2":
		x.deepEPv2()
	case "flashinfer":
		x.flashinferAllToAll()
	case "mori":
		if x.Str("deepep_mode") == "auto" {
			x.rule("deepep_mode", "normal", "mori-mode")
		}
	case "pplx":
		x.pplx()
	case "megamoe":
		x.megaMoE()
	}
}

func (x *resolver) deepEP() {
	if x.Str("moe_runner_backend") == "flashinfer_cutedsl" && x.r.AtLeast("0.5.17") {
		switch x.Str("deepep_mode") {
		case "auto":
			x.rule("deepep_mode", "low_latency", "cutedsl-low-latency")
		case "normal":
			x.refuse(CodeAllToAll, "--deepep-mode", "flashinfer_cutedsl runs DeepEP in low_latency mode only.", fix("use it", setFlag("--deepep-mode", "low_latency")))
		}
	}
	if x.Str("deepep_mode") == "normal" {
		x.disableGraphs("deepep-normal")
	}
}

// deepEPv2Models were validated for DeepEP v2.
var deepEPv2Models = []string{"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM", "Qwen3MoeForCausalLM"}

func (x *resolver) deepEPv2() {
	const flag = "--moe-a2a-backend"
	old := fix("use DeepEP", setFlag(flag, "deepep"))
	if x.m.known && !slices.Contains(deepEPv2Models, x.m.Arch) && x.r.Before("0.5.22") {
		x.refuse(CodeAllToAll, flag, "DeepEP v2 is not validated for "+x.m.Arch+".", old)
	}
	switch runner := x.Str("moe_runner_backend"); runner {
	case "auto":
		x.rule("moe_runner_backend", "deep_gemm", "deepep-v2-runner")
	case "deep_gemm":
	default:
		x.refuse(CodeAllToAll, "--moe-runner-backend", "DeepEP v2 runs with deep_gemm only; "+runner+" is asked.", fix("use it", setFlag("--moe-runner-backend", "deep_gemm")))
	}
	if x.Bool("enable_two_batch_overlap") || x.Bool("enable_single_batch_overlap") || x.Bool("enforce_shared_experts_fusion") {
		x.refuse(CodeAllToAll, flag, "DeepEP v2 runs without batch overlap and without fused shared experts.", old)
	}
	x.g.prefill.backend = graphDisabled
}

func (x *resolver) flashinferAllToAll() {
	const flag = "--moe-a2a-backend"
	if x.r.AtLeast("0.5.10") && !(x.attnDP() && x.attnDPSize() == x.Int("tp_size")) {
		x.refuse(CodeAllToAll, flag, "FlashInfer's all-to-all needs as many attention groups as TP ranks.", fix("leave it out", dropFlag(flag)))
	}
	x.rule("disable_shared_experts_fusion", true, "runner-without-fusion")
	ok := []string{"flashinfer_cutlass"}
	if x.r.AtLeast("0.5.11") {
		ok = append(ok, "flashinfer_cutedsl")
	}
	if x.r.AtLeast("0.5.15") {
		ok = append(ok, "flashinfer_trtllm_routed")
	}
	if x.r.AtLeast("0.5.20") {
		ok = append(ok, "flashinfer_trtllm", "deep_gemm")
	}
	if runner := x.Str("moe_runner_backend"); !slices.Contains(ok, runner) {
		x.refuse(CodeAllToAll, "--moe-runner-backend", "FlashInfer's all-to-all runs with "+quoted(ok)+"; "+runner+" is asked.", fix("name one", setFlag("--moe-runner-backend", ok[0])))
	}
}

func (x *resolver) pplx() {
	const flag = "--moe-a2a-backend"
	if x.Str("deepep_mode") == "normal" {
		x.refuse(CodeAllToAll, "--deepep-mode", "pplx runs in low_latency mode only.", fix("use it", setFlag("--deepep-mode", "low_latency")))
	}
	if x.Str("deepep_mode") == "auto" {
		x.rule("deepep_mode", "low_latency", "pplx-mode")
	}
	if !x.attnDP() || x.attnDPSize() < 2 {
		x.refuse(CodeAllToAll, flag, "pplx needs at least two attention groups.", fix("leave it out", dropFlag(flag)))
	}
	if r := x.Str("moe_runner_backend"); r != "auto" && r != "deep_gemm" {
		x.refuse(CodeAllToAll, "--moe-runner-backend", "pplx runs with deep_gemm only.", fix("use it", setFlag("--moe-runner-backend", "deep_gemm")))
	}
	x.autoRunner("deep_gemm", "pplx-mode")
}

func (x *resolver) megaMoE() {
	const flag = "--moe-a2a-backend"
	if x.r.Before("0.5.22") {
		return
	}
	if x.Bool("enable_two_batch_overlap") || x.Bool("enable_single_batch_overlap") {
		x.refuse(CodeAllToAll, flag, "megamoe runs without batch overlap.", fix("leave the overlap out", dropFlag("--enable-two-batch-overlap")))
	}
	if x.card.Major != 0 && !x.sm90() && !x.sm100() {
		x.refuse(CodeAllToAll, flag, "megamoe runs on SM90 and SM100 only.", fix("leave it out", dropFlag(flag)))
	}
}

// expertBalance is _handle_eplb_and_dispatch.
func (x *resolver) expertBalance() {
	if x.Bool("enable_eplb") {
		x.fill("expert_distribution_recorder_mode", "stat", "eplb-recorder")
	}
	placed := x.Has("init_expert_location") && x.Str("init_expert_location") != "trivial" || x.r.Before("0.5.9") && x.Has("init_expert_location")
	invariant := x.a2a() == "none" && x.r.AtLeast("0.5.17")
	if x.Bool("enable_eplb") || placed {
		algorithm := "static"
		if invariant {
			algorithm = "dynamic"
		}
		x.fill("ep_dispatch_algorithm", algorithm, "expert-dispatch")
	}
	if d := x.Str("ep_dispatch_algorithm"); invariant && (d == "static" || d == "lp") {
		x.refuse(CodeExpertParallel, "--ep-dispatch-algorithm", d+" picks replicas by rank, which only works with an all-to-all backend.", fix("dispatch dynamically", setFlag("--ep-dispatch-algorithm", "dynamic")))
	}
	if x.Bool("enable_eplb") && x.Int("ep_size") <= 1 && x.Str("ep_join_mode") != "scale" {
		x.refuse(CodeExpertParallel, "--enable-eplb", "Expert load balancing needs --ep-size above 1.", fix("leave it out", dropFlag("--enable-eplb")))
	}
}

// tokenBudgets checks the buffers of all-to-all backends that have a fixed
// number of tokens a rank.
func (x *resolver) tokenBudgets() {
	switch x.a2a() {
	case "deepep_v2":
		x.deepEPv2Budget()
	case "mori":
		if n := x.Int("chunked_prefill_size"); n > x.envInt("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 4096) && (x.r.Before("0.5.10") || x.Str("disaggregation_mode") != "decode") {
			x.budget("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", n, 4096)
		}
	case "pplx":
		n := max(x.Int("chunked_prefill_size"), x.Int("cuda_graph_max_bs_decode"))
		if x.Int("chunked_prefill_size") > 0 && x.Str("disaggregation_mode") != "decode" && n > x.envInt("SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128) {
			x.budget("SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK", n, 128)
		}
	}
}

// deepEPv2Budget: the buffer must hold a prefill chunk's share of a rank and
// the largest decode graph.
func (x *resolver) deepEPv2Budget() {
	const name = "SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
	room := x.envInt(name, 128)
	if x.Str("disaggregation_mode") != "decode" {
		need := x.prefillBuffer()
		if need == 0 {
			need = x.Int("max_prefill_tokens")
		}
		if x.r.AtLeast("0.5.22") {
			share := max(x.Int("tp_size")/max(x.Int("attn_dp_size"), 1), 1)
			need = (need + share - 1) / share
		}
		if need > room {
			x.budget(name, need, room)
		}
	}
	if x.decodeGraphs() {
		need := x.g.decode.max
		if x.Has("max_running_requests") {
			dp := int64(1)
			if x.attnDP() {
				dp = max(x.attnDPSize(), 1)
			}
			need = min(need, max(x.Int("max_running_requests")/dp, 1))
		}
		if x.Has("speculative_algorithm") {
			need *= max(x.Int("speculative_num_draft_tokens"), 1)
		}
		if need > room {
			x.budget(name, need, room)
		}
	}
}

func (x *resolver) budget(name string, need, room int64) {
	x.refuse(CodeTokenBudget, "--moe-a2a-backend", fmt.Sprintf("A rank sends up to %d tokens at once, its buffer holds %d (%s).", need, room, name),
		fix(fmt.Sprintf("set %s=%d in the environment", name, need)), fix("use smaller chunks", setFlag("--chunked-prefill-size", fmt.Sprint(room))))
}
