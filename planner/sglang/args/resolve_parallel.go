package args

import "fmt"

// attnDP reports attention data parallelism: a switch until 0.5.21, a size of
// its own since (attn_dp_enabled_of).
func (x *resolver) attnDP() bool {
	if x.r.AtLeast("0.5.22") {
		return x.Int("attn_dp_size") > 1
	}
	return x.Bool("enable_dp_attention")
}

func (x *resolver) attnDPSize() int64 {
	if x.r.AtLeast("0.5.22") {
		return x.Int("attn_dp_size")
	}
	return x.Int("dp_size")
}

// splitDataParallel is handle_deprecated_dp_attention (0.5.22): the old pair
// --dp-size N --enable-dp-attention becomes --attn-dp-size N.
func (x *resolver) splitDataParallel() {
	if !x.Bool("enable_dp_attention") {
		return
	}
	if x.Int("attn_dp_size") == 1 {
		x.rule("attn_dp_size", x.Int("dp_size"), "attn-dp-size")
		x.rule("dp_size", int64(1), "attn-dp-size")
	}
	x.rule("enable_dp_attention", false, "attn-dp-size")
}

// dataParallel is _handle_data_parallelism: attention DP divides the chunk
// among its groups, after the fraction was computed from the whole one.
func (x *resolver) dataParallel() {
	if x.r.AtLeast("0.5.22") {
		x.checkDataParallel()
	}
	if x.r.AtLeast("0.5.22") {
		if x.Int("dp_size")*x.Int("attn_dp_size") == 1 {
			x.rule("enable_dp_lm_head", false, "dp-of-one")
		}
	} else if x.Int("dp_size") == 1 && x.Str("ep_join_mode") != "scale" {
		x.rule("enable_dp_attention", false, "dp-of-one")
		x.rule("enable_dp_lm_head", false, "dp-of-one")
	}
	if x.attnDP() {
		x.divideChunk(max(x.attnDPSize(), 1))
	}
	if x.Bool("enable_dp_lm_head") && !x.attnDP() {
		x.refuse(CodeDPAttention, "--enable-dp-lm-head", "A data-parallel LM head needs attention data parallelism.", fix("leave it out", dropFlag("--enable-dp-lm-head")))
	}
	x.allToAllHead()
}

func (x *resolver) checkDataParallel() {
	dp, attn := x.Int("dp_size"), x.Int("attn_dp_size")
	if attn < 1 {
		x.refuse(CodeDPAttention, "--attn-dp-size", "--attn-dp-size must be at least 1.")
	}
	if attn > 1 && dp > 1 {
		x.refuse(CodeDPAttention, "--attn-dp-size", fmt.Sprintf("--dp-size %d with --attn-dp-size %d: replicas do not combine with attention data parallelism.", dp, attn),
			fix("use one of the two", setFlag("--dp-size", "1")))
	}
}

func (x *resolver) divideChunk(dp int64) {
	x.rule("schedule_conservativeness", x.Float("schedule_conservativeness")*0.3, "dp-conservativeness")
	if tp := x.Int("tp_size"); tp%dp != 0 {
		x.refuse(CodeDPAttention, "--dp-size", fmt.Sprintf("--tp-size %d is not a multiple of %d attention groups.", tp, dp))
	}
	x.rule("chunked_prefill_size", floorDiv(x.Int("chunked_prefill_size"), dp), "dp-chunk")
	p, chunk := &x.g.prefill, x.Int("chunked_prefill_size")
	if x.r.Before("0.5.15") || p.backend == graphDisabled || p.max <= chunk || p.locked("max_bs") {
		return
	}
	p.setMax(chunk)
	if !p.locked("bs") {
		p.bs = x.prefillList(chunk)
	}
}

// floorDiv is Python's //, which rounds down: -1 // 4 is -1.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// allToAllHead is the LM head over all-to-all (0.5.17).
func (x *resolver) allToAllHead() {
	const field, flag = "enable_tp_lm_head_all_to_all", "--enable-tp-lm-head-all-to-all"
	if x.r.Before("0.5.17") {
		return
	}
	fits := x.attnDP() && x.attnDPSize() > 1 && x.Int("tp_size") == x.attnDPSize() && x.Int("attn_cp_size") <= 1 && !x.Bool("enable_dp_lm_head")
	if x.isNone(field) {
		x.rule(field, fits && x.Str("disaggregation_mode") == "decode", "lm-head-all-to-all")
		return
	}
	if x.Bool(field) && !fits {
		x.refuse(CodeDPAttention, flag, "The all-to-all LM head needs as many attention groups as TP ranks, no context parallelism and no data-parallel LM head.", fix("leave it out", dropFlag(flag)))
	}
}

// contextParallelAsked reports prefill context parallelism for the model's
// kind of attention, under the names of the release.
func (x *resolver) contextParallelAsked() bool {
	if x.r.AtLeast("0.5.14") {
		return x.Bool("enable_prefill_cp") || x.Bool("enable_prefill_context_parallel") || x.dsaCP()
	}
	return x.dsaCP()
}

func (x *resolver) dsaCP() bool {
	return x.Bool("enable_dsa_prefill_context_parallel") || x.Bool("enable_nsa_prefill_context_parallel")
}

// formerContextParallel is _handle_legacy_cp_arguments: the two switches by
// kind of attention became one, and their modes an order.
func (x *resolver) formerContextParallel() {
	orders := map[string]string{"in-seq-split": "zigzag", "round-robin-split": "interleave"}
	for _, f := range []struct{ on, mode string }{
		{"enable_prefill_context_parallel", "prefill_cp_mode"},
		{"enable_dsa_prefill_context_parallel", "dsa_prefill_cp_mode"}, {"enable_nsa_prefill_context_parallel", "nsa_prefill_cp_mode"},
	} {
		if x.Bool(f.on) {
			x.rule("enable_prefill_cp", true, "context-parallel-renamed")
			x.fill("cp_strategy", orders[nameOr(x.Str(f.mode), "round-robin-split")], "context-parallel-renamed")
		}
	}
}

// zigzag reports the order of context parallelism that splits within a
// sequence, under its old and new name.
func (x *resolver) zigzag() bool {
	if s := x.Str("cp_strategy"); s != "" {
		return s == "zigzag"
	}
	for _, f := range []string{"dsa_prefill_cp_mode", "nsa_prefill_cp_mode", "prefill_cp_mode"} {
		if s := x.Str(f); s != "" {
			return s == "in-seq-split"
		}
	}
	return false
}

// spreadContext gives the attention groups of context parallelism all ranks.
func (x *resolver) spreadContext(id string) {
	tp := x.Int("tp_size")
	if x.r.AtLeast("0.5.22") {
		dp := max(x.Int("attn_dp_size")*x.Int("dp_size"), 1)
		x.rule("attn_dp_size", dp, id)
		x.rule("dp_size", int64(1), id)
		x.rule("attn_cp_size", tp/dp, id)
		return
	}
	x.rule("enable_dp_attention", true, id)
	if x.r.AtLeast("0.5.12") {
		x.rule("attn_cp_size", tp/max(x.Int("dp_size"), 1), id)
	}
}

// sparseContextParallel is prefill context parallelism of DSA models.
func (x *resolver) sparseContextParallel() {
	const id = "context-parallel"
	if x.r.Before("0.5.20") || x.zigzag() {
		x.rule("moe_dense_tp_size", int64(1), id)
	}
	if x.zigzag() || x.r.Before("0.5.8") {
		x.rule("moe_a2a_backend", "deepep", id)
		x.rule("ep_size", x.Int("tp_size"), id)
		if x.r.Before("0.5.10") {
			x.rule("kv_cache_dtype", "bf16", id)
		}
	} else if x.r.Before("0.5.22") && x.Int("dp_size") != 1 {
		x.refuse(CodeContextParallel, "--dp-size", "Prefill context parallelism in interleave order does not combine with attention data parallelism.", fix("use one group", setFlag("--dp-size", "1")))
	}
	if tp := x.Int("tp_size"); tp > 8 || tp != 8 && x.r.Before("0.5.10") {
		x.refuse(CodeContextParallel, "--tp-size", fmt.Sprintf("Prefill context parallelism runs within one machine of 8 ranks; --tp-size is %d.", tp))
	}
	x.spreadContext(id)
	if x.r.AtLeast("0.5.14") && !(x.r.AtLeast("0.5.22") && x.g.prefill.backend == graphBreakable && x.prefillCPGraphs()) {
		x.g.prefill.backend = graphDisabled
	}
	if x.Str("disaggregation_mode") == "decode" {
		x.refuse(CodeContextParallel, "--disaggregation-mode", "Prefill context parallelism has no place on a decode server.", fix("leave it out", dropFlag("--enable-prefill-cp")))
	}
}

// latentContextParallel is the same for MLA models.
func (x *resolver) latentContextParallel() {
	const id = "context-parallel"
	x.rule("moe_dense_tp_size", int64(1), id)
	x.rule("moe_a2a_backend", "deepep", id)
	x.rule("ep_size", x.Int("tp_size"), id)
	x.spreadContext(id)
	if x.r.AtLeast("0.5.14") {
		x.g.prefill.backend = graphDisabled
	}
}

// contextParallel is _handle_context_parallelism.
func (x *resolver) contextParallel() {
	tp, cp, dp := x.Int("tp_size"), x.Int("attn_cp_size"), max(x.attnDPSize(), 1)
	if x.r.AtLeast("0.5.14") && x.Bool("enable_prefill_cp") && x.isNone("cp_strategy") {
		x.refuse(CodeContextParallel, "--cp-strategy", "--enable-prefill-cp needs --cp-strategy.", fix("choose an order", setFlag("--cp-strategy", "zigzag")))
	}
	if cp > 1 && tp%(dp*cp) != 0 {
		x.refuse(CodeContextParallel, "--attn-cp-size", fmt.Sprintf("--tp-size %d is not a multiple of %d attention groups of %d context ranks.", tp, dp, cp))
	}
	if cp > 1 && x.r.Before("0.5.10") && x.Int("pp_size") > 1 {
		x.refuse(CodeContextParallel, "--pp-size", "Context parallelism does not combine with pipeline parallelism in this release.")
	}
	moe, ep := x.Int("moe_dp_size"), x.Int("ep_size")
	if moe > 1 {
		if tp%moe != 0 || ep*moe > tp || ep > 1 && ep*moe != tp {
			x.refuse(CodeExpertParallel, "--moe-dp-size", fmt.Sprintf("%d MoE groups of %d expert ranks do not divide --tp-size %d.", moe, ep, tp))
		}
		if x.Int("pp_size") > 1 {
			x.refuse(CodePipeline, "--moe-dp-size", "MoE data parallelism does not combine with pipeline parallelism.")
		}
	}
	if x.r.AtLeast("0.5.10") && moe > 1 && cp != moe {
		x.refuse(CodeExpertParallel, "--moe-dp-size", "--moe-dp-size must be 1 or equal to --attn-cp-size.")
	}
}

// decodeContextParallel is _handle_dcp_validation (0.5.15).
func (x *resolver) decodeContextParallel() {
	n := x.Int("dcp_size")
	comm := x.Str("dcp_comm_backend")
	if x.r.AtLeast("0.5.20") && x.isNone("dcp_comm_backend") {
		comm = "a2a"
		if n <= 1 {
			comm = "ag_rs"
		}
		x.rule("dcp_comm_backend", comm, "dcp-communication")
	}
	switch {
	case n < 1:
		x.refuse(CodeDCP, "--dcp-size", "--dcp-size must be at least 1.", fix("use 1", setFlag("--dcp-size", "1")))
	case n > 1 && x.r.Before("0.5.17") && x.Has("speculative_algorithm"):
		x.refuse(CodeDCP, "--dcp-size", "Decode context parallelism does not run with speculative decoding in this release.", fix("use 1", setFlag("--dcp-size", "1")))
	case n > 1 && x.r.AtLeast("0.5.22") && x.Bool("enable_prefill_cp"):
		x.refuse(CodeDCP, "--dcp-size", "Decode context parallelism does not combine with prefill context parallelism.", fix("use 1", setFlag("--dcp-size", "1")))
	case n == 1 && x.Given("dcp_comm_backend") && comm != "ag_rs":
		x.refuse(CodeDCP, "--dcp-comm-backend", "--dcp-comm-backend "+comm+" needs --dcp-size above 1.", fix("leave it out", dropFlag("--dcp-comm-backend")))
	}
	if x.Bool("dcp_replicate_q_proj") && (n <= 1 || comm == "ag_rs") {
		x.refuse(CodeDCP, "--dcp-replicate-q-proj", "A replicated query projection needs decode context parallelism over all-to-all.", fix("leave it out", dropFlag("--dcp-replicate-q-proj")))
	}
}

// distributedWeightData is _handle_dwdp (0.5.17), which fixes most sizes.
func (x *resolver) distributedWeightData() {
	n := x.Int("dwdp_size")
	if n <= 1 {
		return
	}
	const flag, id = "--dwdp-size", "dwdp"
	if n != x.Int("tp_size") {
		x.refuse(CodeExpertParallel, flag, "--dwdp-size must equal --tp-size.", fix("make them equal", setFlag(flag, fmt.Sprint(x.Int("tp_size")))))
	}
	if x.Str("disaggregation_mode") == "decode" || x.Bool("enable_eplb") || x.Has("speculative_algorithm") || x.Int("pp_size") > 1 || x.Bool("enable_two_batch_overlap") {
		x.refuse(CodeExpertParallel, flag, "DWDP does not combine with decode servers, EPLB, speculative decoding, pipeline parallelism or two-batch overlap.", fix("leave it out", dropFlag(flag)))
	}
	if x.r.AtLeast("0.5.22") {
		x.rule("attn_dp_size", n, id)
		x.rule("dp_size", int64(1), id)
	} else {
		x.rule("dp_size", n, id)
		x.rule("enable_dp_attention", true, id)
	}
	x.rule("enable_dp_lm_head", true, id)
	x.rule("moe_dense_tp_size", int64(1), id)
	x.rule("ep_size", n, id)
	x.rule("moe_dp_size", int64(1), id)
	x.rule("moe_a2a_backend", "none", id)
	x.rule("disable_cuda_graph", true, id)
}

// pipelineParallel: stages do not run with the overlap scheduler.
func (x *resolver) pipelineParallel() {
	if x.Int("pp_size") > 1 {
		x.rule("disable_overlap_schedule", true, "pipeline-without-overlap")
	}
}
