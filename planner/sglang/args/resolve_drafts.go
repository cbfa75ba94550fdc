package args

import (
	"fmt"
	"slices"
)

// ngram is the branch of drafts looked up in the text so far.
func (x *resolver) ngram() {
	x.draftRequests()
	if x.r.Before("0.5.14") {
		x.rule("disable_overlap_schedule", true, "draft-without-overlap")
	}
	x.rule("enable_mixed_chunk", false, "draft-without-mixed-chunk")
	x.rule("speculative_eagle_topk", x.Int("speculative_ngram_max_bfs_breadth"), "ngram-draft")
	tokens := int64(12)
	if n := x.Int("speculative_ngram_max_match_window_size"); x.r.Before("0.5.10") && n > 0 {
		tokens = n
	}
	x.fill("speculative_num_draft_tokens", tokens, "ngram-draft")
	if topk := x.Int("speculative_eagle_topk"); x.r.AtLeast("0.5.14") && topk > 0 {
		x.fill("speculative_num_steps", floorDiv(x.Int("speculative_num_draft_tokens"), topk), "ngram-draft")
	}
	if x.Int("speculative_eagle_topk") > 1 && x.Int("page_size") > 1 && x.Str("attention_backend") != "flashinfer" {
		x.refuse(CodeSpeculative, "--page-size", "N-gram trees with pages of more than one token work with flashinfer only.", fix("use pages of one", setFlag("--page-size", "1")))
	}
	if x.attnDP() {
		x.refuse(CodeSpeculativeDP, "--speculative-algorithm", "N-gram drafts do not run with attention data parallelism.", fix("leave it out", dropFlag("--enable-dp-attention")))
	}
}

func (x *resolver) dflash() {
	if x.attnDP() && (x.r.Before("0.5.22") || !x.Bool("enable_dp_lm_head")) {
		x.refuse(CodeSpeculativeDP, "--speculative-algorithm", "DFLASH does not run with attention data parallelism here.", fix("leave it out", dropFlag("--enable-dp-attention")))
	}
	if x.Int("pp_size") > 1 {
		x.refuse(CodePipeline, "--pp-size", "DFLASH runs in one pipeline stage only.", fix("use one stage", setFlag("--pp-size", "1")))
	}
	x.needDraft("DFLASH")
	x.rule("speculative_num_steps", int64(1), "block-draft")
	x.rule("speculative_eagle_topk", int64(1), "block-draft")
	block := "speculative_dflash_block_size"
	if x.Has(block) {
		n := x.Int(block)
		if n <= 0 || x.Has("speculative_num_draft_tokens") && x.Int("speculative_num_draft_tokens") != n {
			x.refuse(CodeSpeculative, "--speculative-dflash-block-size", "The block must be positive and equal to --speculative-num-draft-tokens.", fix("leave one out", dropFlag("--speculative-num-draft-tokens")))
		}
		x.rule("speculative_num_draft_tokens", n, "block-draft")
	}
	// Without a size the draft's own block counts; 16 where it names none.
	x.fill("speculative_num_draft_tokens", int64(16), "block-draft")
	if w := x.Int("speculative_draft_window_size"); x.Has("speculative_draft_window_size") && w < x.Int("speculative_num_draft_tokens") {
		x.refuse(CodeSpeculative, "--speculative-draft-window-size", "The draft's window must hold a block.", fix("leave it out", dropFlag("--speculative-draft-window-size")))
	}
	if x.r.AtLeast("0.5.14") {
		x.blockDraftBackend()
	} else {
		x.rule("disable_overlap_schedule", true, "draft-without-overlap")
	}
	x.draftRequests()
	if x.r.Before("0.5.20") {
		x.rule("enable_mixed_chunk", false, "draft-without-mixed-chunk")
	}
}

// blockDraftBackend: the draft takes the target's prefill backend where a
// draft may run on it.
func (x *resolver) blockDraftBackend() {
	const field = "speculative_draft_attention_backend"
	ok := []string{"flashinfer", "fa3", "fa4", "triton"}
	if x.r.AtLeast("0.5.17") {
		ok = append(ok, "trtllm_mha")
	}
	b := nameOr(x.Str(field), x.prefillBackend())
	if !slices.Contains(ok, b) {
		b = "flashinfer"
	}
	x.rule(field, b, "draft-attention-backend")
}

func (x *resolver) needDraft(alg string) {
	if x.isNone("speculative_draft_model_path") {
		x.refuse(CodeSpeculative, "--speculative-draft-model-path", alg+" needs a draft model.", fix("name it", setFlag("--speculative-draft-model-path", "PATH")))
	}
}

// bundledBlock reports a checkpoint with a DSPARK draft inside
// (checkpoint_bundles_dspark_draft, 0.5.16).
func (x *resolver) bundledBlock() bool {
	for _, k := range []string{"dspark_block_size", "dspark_markov_rank", "dspark_noise_token_id", "dspark_target_layer_ids"} {
		if x.m.cfg.Top.Has(k) {
			return true
		}
	}
	return false
}

// dspark is the branch of DSPARK drafts (0.5.15).
func (x *resolver) dspark() {
	if x.Int("pp_size") > 1 && !(x.r.AtLeast("0.5.22") && x.Str("disaggregation_mode") == "prefill") {
		x.refuse(CodePipeline, "--pp-size", "DSPARK runs in one pipeline stage only here.", fix("use one stage", setFlag("--pp-size", "1")))
	}
	if x.attnDP() && x.attnDPSize() > 1 && !x.Bool("enable_dp_lm_head") {
		x.refuse(CodeSpeculativeDP, "--enable-dp-lm-head", "DSPARK with attention data parallelism needs --enable-dp-lm-head.", fix("turn it on", setFlag("--enable-dp-lm-head", "")))
	}
	if x.attnDP() && x.attnDPSize() > 1 && x.Int("attn_cp_size") > 1 {
		x.refuse(CodeContextParallel, "--attn-cp-size", "DSPARK with attention data parallelism does not run context parallelism.")
	}
	if x.bundledBlock() || x.r.Before("0.5.16") && x.m.IsDeepseekV4 {
		x.fill("speculative_draft_model_path", x.Str("model_path"), "draft-in-checkpoint")
	}
	x.needDraft("DSPARK")
	x.rule("speculative_num_steps", int64(1), "block-draft")
	x.rule("speculative_eagle_topk", int64(1), "block-draft")
	if x.Has("speculative_dspark_block_size") {
		window := x.Int("speculative_dspark_block_size") + 1
		if window < 2 || x.Has("speculative_num_draft_tokens") && x.Int("speculative_num_draft_tokens") != window {
			x.refuse(CodeSpeculative, "--speculative-dspark-block-size", fmt.Sprintf("DSPARK verifies its block and one token more (%d); --speculative-num-draft-tokens says otherwise.", window), fix("leave one out", dropFlag("--speculative-num-draft-tokens")))
		}
		x.rule("speculative_num_draft_tokens", window, "block-draft")
	}
	if n, ok := x.m.cfg.Top.Int("dspark_block_size"); ok && x.Str("speculative_draft_model_path") == x.Str("model_path") {
		x.fill("speculative_num_draft_tokens", n+1, "block-draft")
	}
	x.fill("speculative_num_draft_tokens", int64(8), "block-draft")
	x.draftRequests()
}
