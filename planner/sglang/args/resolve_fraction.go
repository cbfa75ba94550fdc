package args

import (
	"strconv"
)

// fraction is mem_fraction_static when the user gives none: the share of the
// card for weights and pools, which is what an estimate of activations and
// graphs in MiB leaves. The floating-point steps are SGLang's own.
func (x *resolver) fraction() {
	if x.Has("mem_fraction_static") {
		return
	}
	total := float64(x.card.TotalMiB)
	planned := x.postCapture()
	f := 0.88
	if x.r.AtLeast("0.5.20") {
		f = 0.95
	}
	if total > 0 {
		f = round3((total - x.reserve(planned)) / total)
	}
	if x.multimodalReserve() {
		f = x.multimodalFraction(f, planned)
	}
	x.rule("mem_fraction_static", f, "gpu-memory-fraction")
}

// round3 is Python's round(f, 3): exact on the binary value, ties to even.
func round3(f float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', 3, 64), 64)
	if err != nil {
		return f
	}
	return v
}

// reserve is reserved_mem in MiB.
func (x *resolver) reserve(postCapture bool) float64 {
	ranks := float64(x.Int("tp_size")*x.Int("pp_size")) / 8 * 1024
	if postCapture {
		// Free memory is measured after graph capture, so only a floor is kept.
		if x.r.Before("0.5.18") {
			return 512 + ranks
		}
		return 1536 + ranks
	}
	m := 512 + float64(x.activationTokens())*1.5
	if x.r.AtLeast("0.5.15") {
		m += ranks
		m += x.graphReserve()
	} else {
		m += float64(x.g.decode.max * 2)
		m += ranks
		m += x.dpReserve()
		m += x.piecewiseReserve()
	}
	if x.card.TotalMiB > 60*1024 {
		m = max(m, 10*1024)
	}
	if x.r.Before("0.5.14") {
		m += x.draftReserve()
	}
	m += x.lateGraphReserve()
	if x.r.AtLeast("0.5.15") && x.decodeGraphs() && x.Str("moe_a2a_backend") == "deepep" {
		m += 2 * 1024
	}
	return m
}

// activationTokens are the tokens of the largest forward pass, at least 2048.
func (x *resolver) activationTokens() int64 {
	n := x.Int("chunked_prefill_size")
	switch {
	case x.r.AtLeast("0.5.15") && x.Str("disaggregation_mode") == "decode":
		requests := x.Int("max_running_requests")
		if requests == 0 {
			requests = x.g.decode.max
		}
		n = max(requests, 1) * max(x.Int("speculative_num_draft_tokens"), 1)
	case n <= 0:
		n = x.Int("max_prefill_tokens")
	}
	return max(n, 2048)
}

// decodeGraphs reports that this server captures decode graphs.
func (x *resolver) decodeGraphs() bool {
	return x.Str("disaggregation_mode") != "prefill" && x.g.decode.backend != graphDisabled
}

// graphReserve is reserve_for_graph_mb (0.5.15).
func (x *resolver) graphReserve() float64 {
	var m float64
	if x.decodeGraphs() {
		m += float64(x.g.decode.max * 2)
	}
	if x.Str("disaggregation_mode") != "prefill" {
		m += x.dpReserve()
	}
	if x.Str("disaggregation_mode") != "decode" {
		m += x.prefillReserve()
	}
	return m
}

// dpReserve is the padding of DP attention, more for large graphs.
func (x *resolver) dpReserve() float64 {
	if !x.attnDP() {
		return 0
	}
	dp := x.attnDPSize()
	m := float64(x.g.decode.max * dp * 3)
	if x.g.decode.max > 300 {
		m += float64(x.g.decode.max*dp) * 1.5
	}
	return m
}

// prefillReserve is what prefill graphs keep outside torch's own pool.
func (x *resolver) prefillReserve() float64 {
	p := x.g.prefill
	if p.backend == graphDisabled {
		return 0
	}
	m := float64(len(p.bs) * 8)
	if x.m.mla() {
		m = 1.5 * 1024
	}
	if x.r.AtLeast("0.5.17") && p.backend == graphBreakable && x.Str("moe_a2a_backend") == "deepep" {
		m += 1024
	}
	return m
}

// piecewiseReserve is the same of the releases that called them piecewise:
// an opt-in in 0.5.8 and 0.5.9, on by default from 0.5.10.
func (x *resolver) piecewiseReserve() float64 {
	switch {
	case x.r.Before("0.5.8"):
		return 0
	case x.r.Before("0.5.10"):
		if x.Bool("enable_piecewise_cuda_graph") {
			return float64(len(x.g.prefill.bs) * 8)
		}
		return 0
	case x.r.Before("0.5.14"):
		if x.Bool("disable_piecewise_cuda_graph") {
			return 0
		}
	}
	return x.prefillReserve()
}

// lateGraphReserve is the piecewise term of 0.5.5.post1 to 0.5.7, which was
// added after the floor.
func (x *resolver) lateGraphReserve() float64 {
	if !x.Bool("enable_piecewise_cuda_graph") {
		return 0
	}
	switch {
	case x.r.Within("0.5.5.post1", "0.5.6.post9"):
		return float64(x.g.prefill.max / 4)
	case x.r.AtLeast("0.5.7") && x.r.Before("0.5.8"):
		return float64(x.g.prefill.max / 8)
	}
	return 0
}

// draftReserve is the flat allowance for a draft model; from 0.5.14 drafts are
// charged to the budget itself.
func (x *resolver) draftReserve() float64 {
	switch alg := x.Str("speculative_algorithm"); {
	case alg == "" || alg == "NGRAM":
		return 0
	case alg == "STANDALONE":
		return 6 * 1024
	case x.r.Before("0.5.10"):
		return 2 * 1024
	}
	return 4 * 1024
}

// multimodalReserve reports that room for the image encoder is kept.
func (x *resolver) multimodalReserve() bool {
	return x.m.IsMultimodal &&
		!(x.r.AtLeast("0.5.9") && x.Bool("language_only")) &&
		!(x.r.AtLeast("0.5.18") && x.Bool("language_model_only")) &&
		!(x.r.AtLeast("0.5.17") && x.Str("disaggregation_mode") == "decode")
}

// multimodalFraction is adjust_mem_fraction_for_vlm: the fraction falls with
// the number of weights of the vision tower against ViT-L/14.
func (x *resolver) multimodalFraction(f float64, postCapture bool) float64 {
	if postCapture && x.r.AtLeast("0.5.20") {
		if x.card.TotalMiB <= 0 {
			return f
		}
		return f - 8*1024/float64(x.card.TotalMiB)
	}
	v := x.m.Vision
	if v == nil {
		return f
	}
	layers, hidden := float64(v.Layers), float64(v.Hidden)
	if layers == 0 {
		layers = 24
	}
	if hidden == 0 {
		hidden = 1024
	}
	ratio := layers * (hidden * hidden) / (24 * (1024 * 1024))
	factor := max(0.8, min(1.05, 1.0-0.1*(ratio-1.0)))
	return f * (0.95 * factor)
}

// postCapture is post_capture_kv_sizing_planned: the pool is sized after graph
// capture (SGLANG_ENABLE_POST_CAPTURE_KV_SIZING, 0.5.16), so the reserve for
// graphs is left out.
func (x *resolver) postCapture() bool {
	// Muse-Spark turns the switch on where the environment leaves it open.
	def := x.r.AtLeast("0.5.23") && x.m.is("MuseSparkForConditionalGeneration")
	if x.r.Before("0.5.16") || !x.env.Bool("SGLANG_ENABLE_POST_CAPTURE_KV_SIZING", def) {
		return false
	}
	if x.Int("dcp_size") > 1 || x.m.mla() || x.Bool("prefill_only_disable_kv_cache") || x.Bool("enable_memory_saver") ||
		x.env.Set("SGLANG_MOONCAKE_CUSTOM_MEM_POOL") || x.m.IsDeepseekV4 || x.m.Sparse != nil || x.Bool("enable_kv_cache_sharding") {
		return false
	}
	if x.r.Before("0.5.20") && x.Str("kv_cache_dtype") == "fp4_e2m1" {
		return false
	}
	if x.r.AtLeast("0.5.21") && x.Bool("enable_unified_memory") && !x.unifiedPostCapture() {
		return false
	}
	mode := x.Str("disaggregation_mode")
	if mode != "prefill" && x.g.decode.backend == graphDisabled {
		return false
	}
	if x.r.Before("0.5.17") {
		return !x.Bool("enable_dp_attention") && (mode == "decode" || x.g.prefill.backend != graphDisabled)
	}
	return mode == "decode" || x.prefillCovered()
}

// unifiedPostCapture: the unified pool is sized after capture only for
// sliding-window models without recurrent state and without a fused draft.
func (x *resolver) unifiedPostCapture() bool {
	switch x.Str("speculative_algorithm") {
	case "EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "DFLASH", "DSPARK":
		return false
	}
	return x.m.Window != nil && x.m.Linear == nil
}

// prefillCovered reports that every prefill fits a captured graph.
func (x *resolver) prefillCovered() bool {
	p := x.g.prefill
	chunk := x.Int("chunked_prefill_size")
	return p.backend != graphDisabled && chunk > 0 && x.prefillBuffer() <= maxOf(p.bs)
}

// prefillBuffer is max_prefill_buffer_tokens: dynamic chunking under PP may
// grow chunks up to --max-prefill-tokens and probes a quarter beyond.
func (x *resolver) prefillBuffer() int64 {
	chunk := max(x.Int("chunked_prefill_size"), 0)
	if x.Bool("enable_dynamic_chunking") && x.Int("pp_size") > 1 && chunk > 0 {
		return max(chunk, x.Int("max_prefill_tokens"), (chunk*5+3)/4)
	}
	return chunk
}
