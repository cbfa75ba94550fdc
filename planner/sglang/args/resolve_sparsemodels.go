package args

import (
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
)

// minimaxM3 is the sparse attention of MiniMax-M3: pages of 128 with the
// backend of the card, and its own NVFP4 stack in 0.5.23.
func (x *resolver) minimaxM3() {
	q := x.m.quantMethod()
	native := x.r.AtLeast("0.5.23") && q == "mxfp8" && strings.EqualFold(x.m.quantConfig().Str("moe_quant_algo"), "NVFP4") &&
		x.m.quantConfig().Str("moe_quant_format") == "nvfp4-pack-quantized"
	if native {
		q = "minimax_m3_nvfp4"
	}
	if q != "" && x.isNone("quantization") && !x.unquantised {
		x.rule("quantization", q, "checkpoint-quantization")
	}
	if x.Str("quantization") == "minimax_m3_nvfp4" {
		x.minimaxNVFP4()
		return
	}
	switch {
	case x.sm100():
		backend := "fa4"
		if x.r.AtLeast("0.5.17") && x.Str("kv_cache_dtype") == "fp8_e4m3" && !x.env.Bool("SGLANG_DISABLE_M3_FP8_ATTN_GEMM", false) {
			backend = "trtllm_mha"
		}
		x.defaultTo(backend)
		if b := x.Str("attention_backend"); b == "fa4" || b == "trtllm_mha" && x.r.AtLeast("0.5.17") {
			x.fill("page_size", int64(128), "minimax-page-size")
		}
		if x.Str("quantization") == "mxfp8" {
			x.autoRunner("deep_gemm", "sm100-moe-runner")
		} else if x.Str("quantization") == "modelopt_mixed" && x.r.AtLeast("0.5.17") {
			x.autoRunner("flashinfer_trtllm_routed", "sm100-moe-runner")
		}
	case x.sm90():
		x.defaultTo("fa3")
		if x.Str("attention_backend") == "fa3" {
			x.fill("page_size", int64(128), "minimax-page-size")
		}
	}
	if r := x.Str("moe_runner_backend"); x.isNone("quantization") && (r == "auto" || r == "deep_gemm") {
		x.rule("moe_runner_backend", "triton", "minimax-moe-runner")
	}
}

func (x *resolver) minimaxNVFP4() {
	alg := x.Str("speculative_algorithm")
	if !slices.Contains([]string{"", "DSPARK", "DFLASH"}, alg) {
		x.refuse(CodeSpeculativeModel, "--speculative-algorithm", "MiniMax-M3.1 in NVFP4 drafts with DSPARK or DFLASH only.")
	}
	if x.Has("page_size") && x.Int("page_size") != 128 {
		x.refuse(CodePageSizeModel, "--page-size", "MiniMax-M3.1 in NVFP4 needs pages of 128.", fix("use 128", setFlag("--page-size", "128")))
	}
	x.rule("page_size", int64(128), "minimax-page-size")
	if !x.blackwell() {
		x.autoRunner("marlin", "minimax-moe-runner")
		x.defaultTo("fa3")
		return
	}
	if a := x.a2a(); a != "none" && a != "megamoe" {
		x.refuse(CodeAllToAll, "--moe-a2a-backend", "MiniMax-M3.1 in NVFP4 needs --moe-a2a-backend megamoe.", fix("use megamoe", setFlag("--moe-a2a-backend", "megamoe")))
	}
	if x.Str("moe_runner_backend") != "flashinfer_trtllm_routed" {
		x.rule("moe_a2a_backend", "megamoe", "minimax-moe-runner")
		x.autoRunner("deep_gemm", "minimax-moe-runner")
	}
	switch kv := x.Str("kv_cache_dtype"); kv {
	case "auto":
		x.rule("kv_cache_dtype", "fp8_e4m3", "minimax-kv-dtype")
	case "fp8_e4m3":
	default:
		x.refuse(CodeKVDtypeModel, "--kv-cache-dtype", "MiniMax-M3.1 in NVFP4 needs an fp8_e4m3 KV cache; "+kv+" is asked.", fix("use fp8", setFlag("--kv-cache-dtype", "fp8_e4m3")))
	}
	x.defaultTo("trtllm_mha")
}

func (x *resolver) minimaxM2() {
	if x.sm100() && x.m.Quantization == "modelopt_fp4" {
		x.autoRunner("flashinfer_trtllm_routed", "sm100-moe-runner")
	}
}

// inkling: small window and state pools, state snapshots, its own backend.
func (x *resolver) inkling() {
	for _, f := range []string{"swa_full_tokens_ratio", "mamba_full_memory_ratio"} {
		if x.defaulted(f) {
			x.rule(f, 0.1, "inkling-pools")
		}
	}
	if x.Str(x.strategyField()) == "auto" {
		x.rule(x.strategyField(), "extra_buffer", "hybrid-strategy")
	}
	if x.sm100() || x.sm90() && x.r.AtLeast("0.5.22") {
		x.defaultTo("fa4")
	} else {
		x.defaultTo("triton")
	}
}

func (x *resolver) museSpark() {
	if x.Str("kv_cache_dtype") == "auto" {
		x.rule("kv_cache_dtype", "fp8_e4m3", "muse-spark-kv-dtype")
	}
}

// minicpm: the hybrid attention of MiniCPM-SALA.
func (x *resolver) minicpm() {
	if x.attnDP() {
		x.refuse(CodeDPAttention, "--enable-dp-attention", "MiniCPM does not run attention data parallelism.")
	}
	// Properties of the class, not keys of the file.
	linear := x.m.Linear != nil && x.m.Linear.Kind == modelcfg.Lightning
	sparse := x.m.cfg.Top.Has("sparse_config") && (!linear || len(x.m.Linear.FullLayers) > 0)
	if !sparse && !linear {
		return
	}
	if x.Bool("enable_hierarchical_cache") {
		x.refuse(CodeHicacheModel, "--enable-hierarchical-cache", "MiniCPM-SALA does not run HiCache.", fix("run without HiCache", dropFlag("--enable-hierarchical-cache")))
	}
	x.rule("disable_radix_cache", true, "hybrid-without-radix")
	if sparse {
		if x.blackwell() {
			x.defaultTo("minicpm_flashinfer")
		} else {
			x.defaultTo("minicpm_flashattn")
		}
	}
}

func (x *resolver) beam() {
	if x.sm90() || x.sm100() || x.sm120() {
		x.defaultTo("trtllm_mha")
	}
}

// iquest applies its attention sink from the softmax of FlashAttention 3.
func (x *resolver) iquest() {
	for _, f := range []string{"attention_backend", "prefill_attention_backend", "decode_attention_backend"} {
		if b := x.Str(f); b != "" && b != "fa3" {
			x.refuse(CodeBackendModel, "--"+strings.ReplaceAll(f, "_", "-"), "IQuest-Q1 runs on fa3 only; "+b+" is asked.", fix("use fa3", setFlag("--attention-backend", "fa3")))
		}
	}
	if x.Int("attn_cp_size") > 1 || x.Int("dcp_size") > 1 || x.Bool("enable_prefill_cp") {
		x.refuse(CodeContextParallel, "--attn-cp-size", "IQuest-Q1 does not run context parallelism.")
	}
	if x.attnDP() {
		x.refuse(CodeDPAttention, "--attn-dp-size", "IQuest-Q1 does not run attention data parallelism.")
	}
	if x.Int("pp_size") > 1 {
		x.refuse(CodePipeline, "--pp-size", "IQuest-Q1 does not run pipeline parallelism.", fix("use one stage", setFlag("--pp-size", "1")))
	}
	x.defaultTo("fa3")
}

func (x *resolver) embeddingGemma2() {
	x.rule("disable_radix_cache", true, "embedding-without-radix")
	x.fill("attention_backend", "triton", "model-attention-backend")
}

func (x *resolver) ernieVL() {
	if x.attnDP() {
		x.refuse(CodeDPAttention, "--attn-dp-size", "ERNIE 4.5 VL splits its heads over the whole TP group and does not run attention data parallelism.")
	}
}
