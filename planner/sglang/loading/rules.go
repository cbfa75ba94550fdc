package loading

import (
	"slices"

	"github.com/sglplan/sglplan/planner/model/weights"
)

// buildRules sets how the release builds models on this card.
func (l *loader) buildRules() weights.Rules {
	r := weights.Rules{
		// One RoPE table of the DeepSeek class went away between 0.5.9 and 0.5.17.
		DeepseekRopeCopies: l.rel.Before("0.5.10"),
		EmbedReplicated:    l.rel.AtLeast("0.5.16") && truthy(l.env["SGLANG_ENABLE_EMBED_REPLICATION"]),
		FuseShared:         l.fusesShared(),
		FuseGated:          l.fusesGated(),
		GemmaNorms:         l.rel.AtLeast("0.5.10"),
		LookupOffGPU:       l.args.Bool("ple_offload_embedding"),
		RouterType:         l.since("0.5.18", weights.FP32),
		IndexerFused:       l.rel.AtLeast("0.5.10"),
		IndexerOwners:      l.rel.AtLeast("0.5.18"),
		Int4Index:          !l.back.trtllm() && l.back.moe != "triton",
		MXFP4NarrowScales:  l.back.moe == runMXFP4 && l.card.Major != 10,
		NVFP4Swizzled:      !l.back.trtllm(),
	}
	l.padExperts(&r)
	if l.arch == "DeepseekV41ForCausalLM" {
		l.v41Rules(&r)
	}
	return r
}

// v41Rules: only 128 x 128 blocks have a kernel for wo_a, and Hopper and
// Blackwell have kernels of their own for the hyper-connections.
func (l *loader) v41Rules(r *weights.Rules) {
	r.PlainOutputA = l.quant != nil && (l.quant.Linear.Rows != 128 || l.quant.Linear.Cols != 128)
	switch l.card.Major {
	case 9:
		r.MixingBF16 = 3
	case 10:
		r.MixingFP32, r.MixingBF16 = 2, 3
	}
	r.LookupOffGPU = truthy(l.env["SGLANG_ENABLE_DSV41_ENGRAM_HOST_TABLE"])
}

// padExperts sets the widths to which kernels want experts padded when they
// are built.
func (l *loader) padExperts(r *weights.Rules) {
	if l.back.trtllm() {
		// FusedMoE pads the width to 128 for TensorRT-LLM's kernels; NVFP4
		// is left alone from 0.5.18 on.
		r.PadInter = 128
		if l.rel.Before("0.5.18") {
			r.NVFP4PadInter = 128
		}
	}
	r.MXFP4PadInter, r.MXFP4PadHidden = 64, 1
	if l.rel.Before("0.5.10") {
		r.MXFP4PadInter = 32
	}
	switch {
	case l.back.moe == runMarlin:
		r.MXFP4PadInter, r.MXFP4PadHidden = 128, 256
	case l.back.moe == runMXFP4 && l.card.Major == 10:
		r.MXFP4PadInter, r.MXFP4PadHidden = 128, 256
		if l.rel.Before("0.5.17") {
			r.MXFP4PadInter = 256
		}
	case l.back.moe == runMXFP4:
		r.MXFP4PadInter, r.MXFP4PadHidden = 1, 256 // CUTLASS: the width is padded after loading
	}
}

func truthy(s string) bool { return s == "1" || s == "true" || s == "True" || s == "TRUE" }

// since returns d from a release on and the model's own type before.
func (l *loader) since(v string, d weights.DType) weights.DType {
	if l.rel.AtLeast(v) {
		return d
	}
	return weights.BF16
}

// fusesShared follows determine_num_fused_shared_experts.
func (l *loader) fusesShared() bool {
	t := l.cfg.Text()
	if l.arch == "BailingMoeV3ForCausalLM" {
		a2a := l.args.Str("moe_a2a_backend")
		return !l.args.Bool("disable_shared_experts_fusion") && (a2a == "" || a2a == "none") && (l.card.SM() == 0 || l.card.SM() >= 80)
	}
	if l.args.Bool("disable_shared_experts_fusion") || l.lay.A2A || l.lay.EP > 1 || l.card.SM() < 80 || l.back.trtllm() {
		return false
	}
	if l.rel.AtLeast("0.5.18") && l.quant.Keeps("mlp.shared_experts.down_proj") {
		return false // routed and shared experts are stored differently
	}
	n, _ := t.Int("n_routed_experts")
	s, _ := t.Int("n_shared_experts")
	switch l.arch {
	case "DeepseekV3ForCausalLM", "GlmMoeDsaForCausalLM", "DeepseekV3ForCausalLMNextN", "GlmMoeDsaForCausalLMNextN":
		return n == 256 && s == 1
	case "Glm4MoeForCausalLM", "Glm4MoeForCausalLMNextN":
		return s == 1
	case "MiniMaxM3ForCausalLM", "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration":
		return s > 0 && l.method() != "modelopt_mixed"
	}
	return false
}

// fusesGated follows can_fuse_shared_expert of the Qwen MoE classes.
func (l *loader) fusesGated() bool {
	return l.rel.AtLeast("0.5.10") && !l.args.Bool("disable_shared_experts_fusion") && !l.back.trtllm() &&
		!slices.Contains([]string{"deepep", "mori", "deepep_v2"}, l.args.Str("moe_a2a_backend"))
}
