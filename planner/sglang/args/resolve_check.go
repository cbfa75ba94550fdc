package args

import (
	"fmt"
	"slices"
	"strings"
)

// check is check_server_args, the second stage: sizes that must divide one
// another and combinations that no rule resolves.
func (x *resolver) check() {
	x.checkSizes()
	x.checkPipeline()
	x.checkOverlap()
	if x.Has("speculative_algorithm") && x.Bool("enable_mixed_chunk") && x.r.Before("0.5.20") {
		x.refuse(CodeSpeculative, "--enable-mixed-chunk", "Mixed chunks do not run with speculative decoding.", fix("leave it out", dropFlag("--enable-mixed-chunk")))
	}
	chunk, page := x.Int("chunked_prefill_size"), x.Int("page_size")
	if chunk > 0 && page > 0 && chunk%page != 0 && x.Str("disaggregation_mode") != "decode" {
		x.refuse(CodeChunkPages, "--chunked-prefill-size", fmt.Sprintf("A chunk of %d tokens is not a whole number of pages of %d.", chunk, page),
			fix("use whole pages", setFlag("--chunked-prefill-size", fmt.Sprint(max(chunk/page, 1)*page))))
	}
	x.checkMultiplex()
	x.checkSchedule()
	x.checkLoRA()
	x.checkHisparse()
}

func (x *resolver) checkSizes() {
	tp, pp, nodes := x.Int("tp_size"), x.Int("pp_size"), max(x.Int("nnodes"), 1)
	if (tp*pp)%nodes != 0 && x.Str("ep_join_mode") != "scale" {
		x.refuse(CodeParallelSizes, "--nnodes", fmt.Sprintf("%d ranks do not divide among %d nodes.", tp*pp, nodes))
	}
	if dp := x.Int("dp_size"); dp > 1 && nodes != 1 && (x.r.AtLeast("0.5.22") || !x.Bool("enable_dp_attention")) {
		x.refuse(CodeParallelSizes, "--dp-size", "Replicas do not spread over several nodes.", fix("use attention data parallelism", setFlag("--enable-dp-attention", "")))
	}
	if x.Int("base_gpu_id") < 0 || x.Has("gpu_id_step") && x.Int("gpu_id_step") < 1 {
		x.refuse(CodeParallelSizes, "--base-gpu-id", "GPU numbers begin at 0 and count upwards.")
	}
	ok := []int64{1}
	if x.r.AtLeast("0.5.10") {
		ok = append(ok, tp)
	}
	if x.Has("moe_dense_tp_size") && !slices.Contains(ok, x.Int("moe_dense_tp_size")) {
		x.refuse(CodeParallelSizes, "--moe-dense-tp-size", fmt.Sprintf("Dense layers run on 1 rank or all of them; %d is asked.", x.Int("moe_dense_tp_size")), fix("use 1", setFlag("--moe-dense-tp-size", "1")))
	}
	if n := x.Str("served_model_name"); x.r.AtLeast("0.5.6") && strings.Contains(n, ":") && !strings.Contains(n, "://") {
		x.refuse(CodeServedName, "--served-model-name", "A served name has no colon, which separates LoRA adapters.")
	}
	if x.Bool("disable_cuda_graph_padding") && x.Bool("enable_torch_compile") && x.r.AtLeast("0.5.11") {
		x.refuse(CodeGraphPadding, "--disable-cuda-graph-padding", "torch.compile without padding compiles every batch size.", fix("pad", dropFlag("--disable-cuda-graph-padding")))
	}
}

// checkPipeline: what pipeline stages run with.
func (x *resolver) checkPipeline() {
	if x.Int("pp_size") <= 1 {
		return
	}
	alg := x.Str("speculative_algorithm")
	one := fix("use one stage", setFlag("--pp-size", "1"))
	if x.Bool("enable_mixed_chunk") && x.r.Before("0.5.10") {
		x.refuse(CodePipeline, "--enable-mixed-chunk", "Pipeline stages do not run mixed chunks in this release.", fix("leave it out", dropFlag("--enable-mixed-chunk")))
	}
	if !x.Bool("disable_overlap_schedule") {
		x.refuse(CodePipeline, "--pp-size", "Pipeline stages do not run the overlap scheduler.", one)
	}
	if alg == "" {
		return
	}
	if x.r.Before("0.5.19") {
		x.refuse(CodePipeline, "--speculative-algorithm", "Pipeline stages do not run speculative decoding in this release.", one)
		return
	}
	x.checkPipelineDraft(alg)
}

func (x *resolver) checkPipelineDraft(alg string) {
	prefill := x.Str("disaggregation_mode") == "prefill"
	both := x.env.Bool("SGLANG_ENABLE_PP_SPEC", false) && x.r.AtLeast("0.5.22")
	drop := fix("run without a draft", dropFlag("--speculative-algorithm"))
	if alg == "DSPARK" && x.r.AtLeast("0.5.22") {
		if !prefill || both {
			x.refuse(CodePipeline, "--speculative-algorithm", "DSPARK drafts over stages on prefill servers only.", drop)
		}
		return
	}
	if !strings.EqualFold(alg, "EAGLE") || x.Bool("enable_multi_layer_eagle") {
		x.refuse(CodePipeline, "--speculative-algorithm", "Over pipeline stages only EAGLE with one layer drafts; "+alg+" is asked.", drop)
		return
	}
	switch {
	case both && (x.Str("disaggregation_mode") != "null" || x.Bool("speculative_adaptive") || x.attnDP()):
		x.refuse(CodePipeline, "--speculative-algorithm", "SGLANG_ENABLE_PP_SPEC does not combine with PD disaggregation, adaptive drafts or attention data parallelism.", drop)
	case !both && !prefill:
		x.refuse(CodePipeline, "--speculative-algorithm", "Over pipeline stages a draft runs on prefill servers only.", drop)
	}
}

// checkOverlap: two-batch overlap needs something to overlap with.
func (x *resolver) checkOverlap() {
	if !x.Bool("enable_two_batch_overlap") || x.a2a() != "none" || x.r.Before("0.5.7") {
		return
	}
	if x.r.Before("0.5.15") || !x.attnDP() {
		x.refuse(CodeTwoBatchOverlap, "--enable-two-batch-overlap", "Two-batch overlap needs an all-to-all backend.",
			fix("name one", setFlag("--moe-a2a-backend", "deepep")), fix("leave it out", dropFlag("--enable-two-batch-overlap")))
	}
}

func (x *resolver) checkMultiplex() {
	const flag = "--enable-pdmux"
	if !x.Bool("enable_pdmux") {
		return
	}
	if x.Int("pp_size") != 1 || x.Int("chunked_prefill_size") != -1 || x.Str("disaggregation_mode") != "null" || !x.Bool("disable_overlap_schedule") {
		x.refuse(CodePDMux, flag, "PD multiplexing needs one stage, --chunked-prefill-size -1, no PD disaggregation and --disable-overlap-schedule.", fix("leave it out", dropFlag(flag)))
	}
}

// checkLoRA: without adapters at start their rank and modules must be given.
func (x *resolver) checkLoRA() {
	paths, _ := x.Get("lora_paths")
	if !x.Bool("enable_lora") || !emptyList(paths.V) {
		return
	}
	modules, _ := x.Get("lora_target_modules")
	if x.Int("max_lora_rank") == 0 || emptyList(modules.V) {
		x.refuse(CodeLoRA, "--enable-lora", "Without --lora-paths SGLang cannot know the adapters to come: both --max-lora-rank and --lora-target-modules are needed.",
			fix("name the adapters", setFlag("--lora-paths", "PATH")), fix("give their rank and modules", setFlag("--max-lora-rank", "64"), setFlag("--lora-target-modules", "all")))
	}
}

func (x *resolver) checkSchedule() {
	if x.Bool("enable_priority_scheduling") && !slices.Contains([]string{"fcfs", "lof"}, x.Str("schedule_policy")) {
		x.refuse(CodeSchedule, "--schedule-policy", "Priority scheduling runs with fcfs or lof.", fix("use fcfs", setFlag("--schedule-policy", "fcfs")))
	}
	if x.Str("retraction_policy") == "priority" && !x.Bool("enable_priority_scheduling") {
		x.refuse(CodeSchedule, "--retraction-policy", "Retraction by priority needs --enable-priority-scheduling.", fix("turn it on", setFlag("--enable-priority-scheduling", "")))
	}
	if x.Float("schedule_conservativeness") < 0 {
		x.refuse(CodeSchedule, "--schedule-conservativeness", "The conservativeness cannot be negative.", fix("use the default", dropFlag("--schedule-conservativeness")))
	}
	if x.Has("prefill_decode_interval") && x.Int("prefill_decode_interval") < 0 {
		x.refuse(CodeSchedule, "--prefill-decode-interval", "The interval cannot be negative.", fix("leave it out", dropFlag("--prefill-decode-interval")))
	}
	if x.Has("multi_item_scoring_delimiter") && (!x.Bool("disable_radix_cache") || x.Int("chunked_prefill_size") != -1) {
		x.refuse(CodeSchedule, "--multi-item-scoring-delimiter", "Multi-item scoring needs --disable-radix-cache and --chunked-prefill-size -1.", fix("set both", setFlag("--disable-radix-cache", ""), setFlag("--chunked-prefill-size", "-1")))
	}
}

// checkHisparse is validate_hisparse (0.5.11).
func (x *resolver) checkHisparse() {
	const flag = "--enable-hisparse"
	if !x.Bool("enable_hisparse") || !x.m.known {
		return
	}
	if !x.m.IsDSA && !x.m.IsDeepseekV4 && !(x.m.Sparse != nil && x.r.AtLeast("0.5.20")) {
		x.refuse(CodeHisparse, flag, "HiSparse works with sparse attention models only; "+x.m.Arch+" is none.", fix("leave it out", dropFlag(flag)))
	}
	if !x.Bool("disable_radix_cache") {
		x.refuse(CodeHisparse, flag, "HiSparse needs --disable-radix-cache.", fix("turn it off", setFlag("--disable-radix-cache", "")))
	}
	if kv := x.Str("kv_cache_dtype"); x.m.IsDSA && !slices.Contains([]string{"bfloat16", "auto", "fp8_e4m3"}, kv) {
		x.refuse(CodeHisparse, "--kv-cache-dtype", "HiSparse keeps its cache in bf16 or fp8_e4m3; "+kv+" is asked.", fix("use bf16", setFlag("--kv-cache-dtype", "bfloat16")))
	}
	if x.Int("speculative_eagle_topk") > 1 && x.r.AtLeast("0.5.20") {
		x.refuse(CodeHisparse, "--speculative-eagle-topk", "HiSparse drafts chains only.", fix("draft a chain", setFlag("--speculative-eagle-topk", "1")))
	}
	if x.Bool("enable_mixed_chunk") && x.r.AtLeast("0.5.20") {
		x.refuse(CodeHisparse, "--enable-mixed-chunk", "HiSparse does not run mixed chunks.", fix("leave it out", dropFlag("--enable-mixed-chunk")))
	}
}
