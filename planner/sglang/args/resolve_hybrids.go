package args

import "strings"

// granite: only members with mamba layers count as hybrids.
func (x *resolver) granite() {
	if !x.graniteMamba() {
		return
	}
	backend := "triton"
	if x.r.AtLeast("0.5.10") {
		backend = "flashinfer"
	}
	x.hybrid(backend, true, false)
}

func (x *resolver) lfm2() {
	x.hybrid("flashinfer", true, false)
	x.refuseTriton()
}

// refuseTriton: triton reads the head size off the first layer, which need
// not be an attention layer in these models.
func (x *resolver) refuseTriton() {
	if x.Str("attention_backend") == "triton" {
		x.refuse(CodeBackendModel, "--attention-backend", x.m.Arch+" does not run on triton, because its first layer need not be an attention layer.",
			fix("use flashinfer", setFlag("--attention-backend", "flashinfer")))
	}
}

// qwenHybrid is the gated-delta branch of Qwen3-Next and Qwen3.5.
func (x *resolver) qwenHybrid() {
	backend := "triton"
	switch {
	case x.r.Before("0.5.11"):
		x.hybrid(backend, true, true)
		return
	case x.sm100() && x.bestBackend() == "trtllm_mha" && (x.extraBuffer() || x.Bool("disable_radix_cache") || x.Has("speculative_algorithm")):
		backend = "trtllm_mha"
	}
	if x.r.Before("0.5.14") {
		x.hybrid(backend, true, true)
		return
	}
	if x.sm100() && x.isNone("attention_backend") {
		x.rule("attention_backend", backend, "model-attention-backend")
		page := int64(1)
		if backend == "trtllm_mha" {
			page = 64
		}
		x.rule("page_size", page, "hybrid-page-size")
	}
	if x.m.is("Qwen4ExpForConditionalGeneration") && x.m.QSA != nil {
		x.rule("page_size", int64(64), "compressed-index-page")
	}
}

// nemotron is the branch of Nemotron-H.
func (x *resolver) nemotron() {
	x.nemotronQuantization()
	switch {
	case x.r.AtLeast("0.5.19"):
		x.nemotronBackend()
		return
	case x.r.AtLeast("0.5.7"):
		x.hybrid("flashinfer", true, false)
		x.refuseTriton()
	}
}

func (x *resolver) nemotronQuantization() {
	q := x.m.Quantization
	modelopt := strings.HasPrefix(q, "modelopt")
	if modelopt {
		if q == "modelopt" {
			switch x.m.quantConfig().Str("quant_algo") {
			case "NVFP4":
				q = "modelopt_fp4"
			case "MIXED_PRECISION":
				q = "modelopt_mixed"
			default:
				q = "modelopt_fp8"
			}
		}
		x.rule("quantization", q, "checkpoint-quantization")
	}
	switch {
	case x.r.AtLeast("0.5.11") && x.r.Before("0.5.13") && !modelopt:
	case x.r.Before("0.5.11"):
		if modelopt {
			x.rule("moe_runner_backend", "flashinfer_cutlass", "nemotron-moe-runner")
		}
	case !modelopt && q != "":
	case x.sm100() && x.a2a() == "none":
		x.autoRunner("flashinfer_trtllm", "sm100-moe-runner")
	case (q == "modelopt_fp4" || q == "modelopt_mixed") && x.card.Major >= 8 && x.card.Major < 10 && x.r.AtLeast("0.5.13"):
		x.autoRunner("marlin", "nemotron-moe-runner")
	default:
		x.autoRunner("flashinfer_cutlass", "nemotron-moe-runner")
	}
}

// nemotronBackend is the choice since 0.5.19: trtllm_mha on SM100, with pages
// of 64 and state snapshots when it drafts a chain.
func (x *resolver) nemotronBackend() {
	if !x.blackwell() || !x.noBackend() {
		return
	}
	alg := strings.ToUpper(x.Str("speculative_algorithm"))
	if alg == "" {
		if x.sm100() {
			x.rule("attention_backend", "trtllm_mha", "model-attention-backend")
		}
		return
	}
	draft := "speculative_draft_attention_backend"
	if x.sm100() && (x.isNone("speculative_eagle_topk") || x.Int("speculative_eagle_topk") == 1) {
		x.rule("attention_backend", "trtllm_mha", "model-attention-backend")
		x.fill("page_size", int64(64), "page-size-of-backend")
		if x.Str(x.strategyField()) == "auto" {
			x.rule(x.strategyField(), "extra_buffer", "hybrid-strategy")
		}
		if alg == "EAGLE" || alg == "NEXTN" || alg == "DSPARK" {
			x.fill(draft, "trtllm_mha", "model-attention-backend")
		}
		return
	}
	x.rule("attention_backend", "triton", "model-attention-backend")
	if alg == "EAGLE" || alg == "NEXTN" || alg == "DFLASH" || alg == "DSPARK" {
		x.fill(draft, "flashinfer", "model-attention-backend")
	}
}

// kimiK3 picks trtllm_mla for both phases on SM100 and SM103.
func (x *resolver) kimiK3() {
	if x.Int("dcp_size") > 1 && x.r.AtLeast("0.5.18") {
		x.kimiK3DCP()
		return
	}
	sm := x.card.SM()
	if sm != 100 && sm != 103 {
		return
	}
	if x.noBackend() {
		x.rule("decode_attention_backend", "trtllm_mla", "model-attention-backend")
		x.rule("prefill_attention_backend", "trtllm_mla", "model-attention-backend")
	}
	if x.Str("speculative_algorithm") == "DSPARK" && (x.decodeBackend() == "trtllm_mla" || x.decodeBackend() == "cutedsl_mla") {
		x.rule("speculative_attention_mode", "decode", "kimi-k3-verify")
	}
	if x.kimiMX4() {
		x.autoRunner("flashinfer_mxfp4", "sm100-moe-runner")
	}
}

// kimiMX4 is _is_mxfp4_pack_quantized.
func (x *resolver) kimiMX4() bool {
	s := x.m.cfg.Top.Sub("text_config")
	if s == nil {
		s = x.m.cfg.Top
	}
	for k := range s.Sub("quantization_config").Sub("config_groups") {
		if strings.Contains(s.Sub("quantization_config").Sub("config_groups").Sub(k).Str("format"), "mxfp4") {
			return true
		}
	}
	return false
}

func (x *resolver) kimiK3DCP() {
	x.rule("enable_symm_mem", false, "kimi-k3-dcp")
	switch b := x.decodeBackend(); {
	case b == "" || b == "cutedsl_mla":
		x.rule("prefill_attention_backend", "trtllm_mla", "kimi-k3-dcp")
		x.rule("decode_attention_backend", "cutedsl_mla", "kimi-k3-dcp")
	case b == "tokenspeed_mla" && x.r.Before("0.5.23"):
		x.rule("prefill_attention_backend", b, "kimi-k3-dcp")
		x.rule("decode_attention_backend", b, "kimi-k3-dcp")
		x.rule("kv_cache_dtype", "fp8_e4m3", "kimi-k3-dcp")
	default:
		x.refuse(CodeDCP, "--decode-attention-backend", "Kimi-K3 with decode context parallelism decodes with cutedsl_mla; "+b+" is asked.",
			fix("leave the choice to SGLang", dropFlag("--decode-attention-backend")))
	}
}
