package args

import "slices"

// unifiedMemory is _handle_page_major_kv_layout and _handle_unified_memory_pool:
// the opt-in pool of bytes that all kinds of cache share (0.5.15).
func (x *resolver) unifiedMemory() {
	if x.Bool("enable_unified_memory") {
		x.rule("enable_page_major_kv_layout", true, "unified-memory-layout")
	}
	if x.Bool("enable_page_major_kv_layout") {
		x.pageMajor()
	}
	if x.Bool("enable_unified_memory") {
		x.unifiedPool()
	}
}

func (x *resolver) pageMajor() {
	const flag = "--enable-page-major-kv-layout"
	if x.r.AtLeast("0.5.19") && !x.Bool("enable_unified_memory") {
		x.refuse(CodeUnifiedMemory, flag, "The page-major layout works only with --enable-unified-memory in this release.", fix("leave it out", dropFlag(flag)))
	}
	ok := x.pageMajorBackends()
	for _, b := range []string{x.prefillBackend(), x.decodeBackend()} {
		if b != "" && !slices.Contains(ok, b) {
			x.refuse(CodeUnifiedMemory, "--attention-backend", "The page-major layout is read by "+quoted(ok)+"; this launch runs on "+b+".", fix("use triton", setFlag("--attention-backend", "triton")))
			break
		}
	}
	if b := x.Str("mamba_backend"); b != "" && b != "triton" {
		x.refuse(CodeUnifiedMemory, "--mamba-backend", "The page-major layout needs the triton state kernels.", fix("use triton", setFlag("--mamba-backend", "triton")))
	}
}

func (x *resolver) pageMajorBackends() []string {
	switch {
	case x.r.Before("0.5.18"):
		return []string{"triton"}
	case x.m.mla() && x.r.Before("0.5.20"):
		return []string{"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "tokenspeed_mla"}
	case x.m.mla():
		return []string{"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "flashmla", "tokenspeed_mla"}
	case x.r.Before("0.5.20"):
		return []string{"triton"}
	case x.m.asymmetric():
		return []string{"triton", "fa3", "fa4"}
	}
	return []string{"triton", "fa3", "fa4", "flashinfer", "trtllm_mha"}
}

func (x *resolver) unifiedPool() {
	const flag = "--enable-unified-memory"
	drop := fix("leave it out", dropFlag(flag))
	no := func(on bool, why string) {
		if on {
			x.refuse(CodeUnifiedMemory, flag, why, drop)
		}
	}
	alg, mode := x.Str("speculative_algorithm"), x.Str("disaggregation_mode")
	no(x.r.Before("0.5.17") && mode != "null", "The unified pool does not work with PD disaggregation in this release.")
	no(mode != "null" && x.Int("pp_size") > 1, "The unified pool does not transfer parts of a pipeline.")
	no(mode != "null" && x.r.Before("0.5.21") && x.Str("disaggregation_transfer_backend") != "mooncake", "The unified pool transfers over mooncake only in this release.")
	no(mode != "null" && x.Bool("enable_hisparse"), "The unified pool does not combine with HiSparse under PD disaggregation.")
	drafts := []string{"", "DSPARK"}
	switch {
	case x.r.Before("0.5.17"):
		drafts = drafts[:1]
	case x.r.AtLeast("0.5.21"):
		drafts = append(drafts, "EAGLE", "EAGLE3", "DFLASH")
	}
	no(!slices.Contains(drafts, alg), "The unified pool does not work with the draft algorithm "+alg+".")
	no(x.Int("speculative_eagle_topk") > 1, "The unified pool verifies chains only.")
	no(x.Bool("enable_lmcache") || x.Bool("enable_hierarchical_cache") && x.r.Before("0.5.21"), "The unified pool has no host pools in this release.")
	no(x.Int("dcp_size") > 1 && (x.r.Before("0.5.20") || !x.m.mla()), "The unified pool does not know decode context parallelism here.")
	no(x.Bool("enable_two_batch_overlap") && x.r.AtLeast("0.5.21"), "The unified pool does not run two-batch overlap.")
	no(x.Bool("enable_unified_cache_external_linker"), "The unified pool does not link to external stores.")
	no(x.g.prefill.backend == graphPiecewise, "The unified pool does not run piecewise prefill graphs.")
	if alg == "EAGLE" || alg == "EAGLE3" {
		no(x.m.known && x.m.Window == nil && x.m.Linear == nil, "With "+alg+" the unified pool needs a model with windows or recurrent state.")
		no(x.Bool("enable_hierarchical_cache"), "With "+alg+" the unified pool has no host pools.")
	}
	if x.r.AtLeast("0.5.21") && x.g.prefill.backend == graphFull && !slices.Contains([]string{"fa3", "fa4"}, x.prefillBackend()) {
		x.g.prefill.backend = graphDisabled
	}
}

// cacheSharding is handle_kv_cache_sharding (0.5.22): a rank of a prefill
// server keeps only its stripe of every page.
func (x *resolver) cacheSharding() {
	const flag = "--enable-kv-cache-sharding"
	if x.Bool("enable_kv_cache_sharding") && x.Str("disaggregation_mode") != "prefill" {
		x.refuse(CodeDisaggregation, flag, "KV cache sharding is for prefill servers: a rank holds only a stripe of each page.", fix("leave it out", dropFlag(flag)))
	}
}
