package args

import (
	"fmt"
	"slices"
	"strings"
)

// speculative is handle_speculative_decoding.
func (x *resolver) speculative() {
	x.fill("speculative_moe_runner_backend", x.draftRunner(), "draft-moe-runner")
	if x.isNone("speculative_algorithm") {
		return
	}
	alg := x.Str("speculative_algorithm")
	if x.r.AtLeast("0.5.10") {
		alg = strings.ToUpper(alg)
	}
	if alg == "NEXTN" {
		alg = "EAGLE"
	}
	x.rule("speculative_algorithm", alg, "draft-algorithm")
	x.draftWindow(alg)
	x.decodeRadixDraft(alg)
	if x.Bool("speculative_adaptive") && x.r.AtLeast("0.5.14") {
		x.adaptiveDraft(alg)
	}
	switch alg {
	case "EAGLE", "EAGLE3", "STANDALONE":
		x.eagle(alg)
	case "NGRAM":
		x.ngram()
	case "DFLASH":
		x.dflash()
	case "DSPARK":
		x.dspark()
	case "FROZEN_KV_MTP":
		x.draftRequests()
		if x.r.Before("0.5.14") {
			x.rule("disable_overlap_schedule", true, "draft-without-overlap")
		}
		x.rule("enable_mixed_chunk", false, "draft-without-mixed-chunk")
	}
}

// draftRunner is the MoE runner of the draft when none was named.
func (x *resolver) draftRunner() any {
	r := x.Str("moe_runner_backend")
	switch {
	case r == "":
		return nil
	case x.r.Before("0.5.7"):
		return nil
	case x.r.Before("0.5.12") && (r == "flashinfer_trtllm" || r == "flashinfer_trtllm_routed"), strings.HasPrefix(r, "lora_"):
		return "auto"
	case r == "flashinfer_megamoe":
		return "flashinfer_trtllm"
	}
	return r
}

// draftRequests: a draft limits the running requests to 48 by default.
func (x *resolver) draftRequests() { x.fill("max_running_requests", int64(48), "draft-max-requests") }

// draftWindow checks the window and sink of the draft's attention, and block
// verification (0.5.22).
func (x *resolver) draftWindow(alg string) {
	const flag = "--speculative-draft-window-size"
	if x.Has("speculative_draft_window_size") && x.Int("speculative_draft_window_size") <= 0 {
		x.refuse(CodeSpeculative, flag, "The draft's window must be positive.", fix("leave it out", dropFlag(flag)))
	}
	if x.Has("speculative_draft_sink_size") {
		if x.isNone("speculative_draft_window_size") {
			x.refuse(CodeSpeculative, "--speculative-draft-sink-size", "A sink of the draft needs --speculative-draft-window-size.", fix("leave it out", dropFlag("--speculative-draft-sink-size")))
		} else if x.Int("speculative_draft_sink_size") < 0 {
			x.refuse(CodeSpeculative, "--speculative-draft-sink-size", "The draft's sink cannot be negative.", fix("leave it out", dropFlag("--speculative-draft-sink-size")))
		}
	}
	if x.Bool("speculative_use_block_verification") {
		if !slices.Contains([]string{"EAGLE", "EAGLE3", "DFLASH", "DSPARK"}, alg) {
			x.refuse(CodeSpeculative, "--speculative-use-block-verification", alg+" does not verify in blocks.", fix("leave it out", dropFlag("--speculative-use-block-verification")))
		} else if alg == "EAGLE" || alg == "EAGLE3" {
			x.rule("speculative_use_rejection_sampling", true, "block-verification")
		}
	}
}

func (x *resolver) decodeRadixDraft(alg string) {
	if x.r.Before("0.5.20") || x.Str("disaggregation_mode") != "decode" || !x.Bool("disaggregation_decode_enable_radix_cache") {
		return
	}
	if !slices.Contains([]string{"DSPARK", "EAGLE", "EAGLE3"}, alg) {
		x.refuse(CodeSpeculative, "--speculative-algorithm", alg+" does not draft on a decode server with a radix cache.", fix("leave the radix cache off", dropFlag("--disaggregation-decode-enable-radix-cache")))
	}
}

// adaptiveDraft: steps come from the candidates of the configuration file,
// which is not read here; without a file they are SGLang's own.
func (x *resolver) adaptiveDraft(alg string) {
	steps := []int64{1, 3, 7}
	if x.Has("speculative_adaptive_config") || alg != "EAGLE" && alg != "EAGLE3" {
		return
	}
	x.fill("speculative_eagle_topk", int64(1), "adaptive-draft")
	x.fill("speculative_num_steps", steps[len(steps)/2], "adaptive-draft")
	x.rule("speculative_num_draft_tokens", x.Int("speculative_num_steps")+1, "adaptive-draft")
}

// ownDraft are the architectures that draft with layers of their own
// checkpoint, so that no draft path is needed.
var ownDraft = archSince{
	"DeepseekV32ForCausalLM": {"0.5.3"}, "DeepseekV3ForCausalLM": {"0.4.6"}, "Glm4MoeForCausalLM": {"0.5.1"},
	"BailingMoeForCausalLM": {"0.5.2"}, "BailingMoeV2ForCausalLM": {"0.5.4"}, "BailingMoeV2_5ForCausalLM": {"0.5.9"},
	"MistralLarge3ForCausalLM": {"0.5.7"}, "PixtralForConditionalGeneration": {"0.5.7"},
	"Glm4MoeLiteForCausalLM": {"0.5.8"}, "GlmMoeDsaForCausalLM": {"0.5.9"}, "DeepseekV4ForCausalLM": {"0.5.12"},
	"HYV3ForCausalLM": {"0.5.12"}, "HYV4ForCausalLM": {"0.5.20"}, "Qwen4ExpForConditionalGeneration": {"0.5.20"},
}

// eagle is _handle_eagle_family.
func (x *resolver) eagle(alg string) {
	if alg == "STANDALONE" && x.attnDP() {
		x.refuse(CodeSpeculativeDP, "--speculative-algorithm", "A standalone draft does not run with attention data parallelism.", fix("leave it out", dropFlag("--enable-dp-attention")))
	}
	x.draftRequests()
	x.eagleOverlap(alg)
	if x.r.Before("0.5.20") || alg == "STANDALONE" {
		x.rule("enable_mixed_chunk", false, "draft-without-mixed-chunk")
	}
	if ownDraft.has(x.r, x.m.Arch) {
		x.fill("speculative_draft_model_path", x.Str("model_path"), "draft-in-checkpoint")
	}
	x.draftShape(alg)
	x.draftBackend()
}

// eagleOverlap is the scheduler of the draft: V2 workers were an opt-in until
// 0.5.10, the default since, except for trees until 0.5.12.
func (x *resolver) eagleOverlap(alg string) {
	v2 := x.env.Bool("SGLANG_ENABLE_SPEC_V2", x.r.AtLeast("0.5.11"))
	if x.m.is("MiMoV2FlashForCausalLM", "Step3p5ForCausalLM") && alg == "EAGLE" && x.r.AtLeast("0.5.7") {
		v2 = true // the branch of these models turns it on
	}
	covered := alg == "EAGLE" || alg == "EAGLE3" && x.r.AtLeast("0.5.7") || alg == "STANDALONE" && x.r.AtLeast("0.5.8")
	switch {
	case x.r.AtLeast("0.5.14"):
	case x.r.AtLeast("0.5.11"):
		if !v2 || x.r.Before("0.5.13") && x.Int("speculative_eagle_topk") > 1 {
			x.rule("disable_overlap_schedule", true, "draft-without-overlap")
		}
	case v2 && covered:
		x.rule("disable_overlap_schedule", false, "draft-overlap")
		if x.r.AtLeast("0.5.7") && x.Int("speculative_eagle_topk") > 1 {
			x.refuse(CodeSpeculative, "--speculative-eagle-topk", "The V2 draft workers draft a chain only.", fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
		}
	default:
		x.rule("disable_overlap_schedule", true, "draft-without-overlap")
	}
}

// chainModels draft three tokens in a chain by default.
var chainModels = archSince{
	"DeepseekV32ForCausalLM": {"0.5.3"}, "DeepseekV3ForCausalLM": {"0.4.6"}, "DeepseekV2ForCausalLM": {"0.4.6"}, "GptOssForCausalLM": {"0.5.1"},
	"BailingMoeForCausalLM": {"0.5.2"}, "BailingMoeV2ForCausalLM": {"0.5.4"}, "Glm4MoeForCausalLM": {"0.5.7"},
	"MistralLarge3ForCausalLM": {"0.5.7"}, "PixtralForConditionalGeneration": {"0.5.7"}, "MiMoV2FlashForCausalLM": {"0.5.7"},
}

// defaultDraft is auto_choose_speculative_params: steps, top-k, draft tokens.
func (x *resolver) defaultDraft(alg string) [3]int64 {
	chain, tree := [3]int64{3, 1, 4}, [3]int64{5, 4, 8}
	switch {
	case alg == "STANDALONE":
		return chain
	case x.m.is("LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"):
		return tree
	case chainModels.has(x.r, x.m.Arch), x.r.AtLeast("0.5.8"):
		return chain
	}
	return tree
}

// draftShape fills and checks steps, top-k and draft tokens.
func (x *resolver) draftShape(alg string) {
	if x.isNone("speculative_num_steps") {
		if x.Has("speculative_eagle_topk") || x.Has("speculative_num_draft_tokens") {
			x.refuse(CodeSpeculative, "--speculative-num-steps", "Top-k and draft tokens are only taken together with --speculative-num-steps.",
				fix("give all three", setFlag("--speculative-num-steps", "3"), setFlag("--speculative-eagle-topk", "1"), setFlag("--speculative-num-draft-tokens", "4")))
			return
		}
		d := x.defaultDraft(alg)
		x.rule("speculative_num_steps", d[0], "draft-defaults")
		x.rule("speculative_eagle_topk", d[1], "draft-defaults")
		x.rule("speculative_num_draft_tokens", d[2], "draft-defaults")
	}
	topk := x.Int("speculative_eagle_topk")
	if x.isNone("speculative_eagle_topk") {
		x.refuse(CodeSpeculative, "--speculative-eagle-topk", "--speculative-num-steps needs --speculative-eagle-topk beside it.", fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	}
	x.rejectionSampling(alg, topk)
	if steps := x.Int("speculative_num_steps"); topk == 1 && x.Int("speculative_num_draft_tokens") != steps+1 {
		x.rule("speculative_num_draft_tokens", steps+1, "chain-draft-tokens")
	}
}

func (x *resolver) rejectionSampling(alg string, topk int64) {
	const flag = "--speculative-use-rejection-sampling"
	if !x.Bool("speculative_use_rejection_sampling") {
		return
	}
	drop := fix("leave it out", dropFlag(flag))
	switch {
	case alg != "EAGLE" && alg != "EAGLE3":
		x.refuse(CodeSpeculative, flag, "Rejection sampling works with EAGLE and EAGLE3 only.", drop)
	case topk != 1:
		x.refuse(CodeSpeculative, "--speculative-eagle-topk", "Rejection sampling needs --speculative-eagle-topk 1.", fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	case x.Float("speculative_accept_threshold_single") != 1 || x.Float("speculative_accept_threshold_acc") != 1:
		x.refuse(CodeSpeculative, flag, "Rejection sampling does not combine with acceptance thresholds.", drop)
	case x.Bool("enable_deterministic_inference") && x.r.Before("0.5.20"):
		x.refuse(CodeSpeculative, flag, "Rejection sampling is not deterministic.", drop)
	}
}

// draftBackend: trees need an attention backend that knows them.
func (x *resolver) draftBackend() {
	topk := x.Int("speculative_eagle_topk")
	if topk <= 1 {
		return
	}
	mha := x.usesBackend("trtllm_mha")
	if x.r.AtLeast("0.5.15") {
		mha = x.prefillBackend() == "trtllm_mha" || x.decodeBackend() == "trtllm_mha"
	}
	if mha {
		x.refuse(CodeSpeculative, "--speculative-eagle-topk", fmt.Sprintf("trtllm_mha verifies chains only; top-k is %d.", topk), fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	}
	ok := []string{"flashinfer"}
	if x.r.AtLeast("0.5.6") {
		ok = append(ok, "fa3")
	}
	if x.r.AtLeast("0.5.13") {
		ok = append(ok, "triton")
	}
	if b := x.Str("attention_backend"); x.Int("page_size") > 1 && !slices.Contains(ok, b) {
		x.refuse(CodeSpeculative, "--speculative-eagle-topk", fmt.Sprintf("Trees of top-k %d with pages of %d work with %s only; attention runs on %s.", topk, x.Int("page_size"), quoted(ok), b),
			fix("draft a chain", setFlag("--speculative-eagle-topk", "1")), fix("use pages of one", setFlag("--page-size", "1")))
	}
}
