package args

// hostCacheDefaults is handle_hicache_ratio_default (0.5.18): the ratio and,
// since 0.5.21, the automatic share of host memory.
func (x *resolver) hostCacheDefaults() {
	f := x.Float("hicache_host_memory_fraction")
	if x.Has("hicache_host_memory_fraction") && (f <= 0 || f > 1) {
		x.refuse(CodeHicacheSize, "--hicache-host-memory-fraction", "The share of host memory must be above 0 and at most 1; "+show(f)+" is asked.",
			fix("use the default", dropFlag("--hicache-host-memory-fraction")))
	}
	given := x.Has("hicache_ratio") || x.Int("hicache_size") > 0
	if x.isNone("hicache_ratio") && x.Str("disaggregation_mode") != "decode" {
		ratio := 2.0
		if x.Str("hicache_host_memory_mode") == "buffer_only" {
			ratio = 1.2
		}
		x.rule("hicache_ratio", ratio, "hicache-ratio")
	}
	if given && x.r.AtLeast("0.5.21") {
		x.rule("hicache_host_memory_fraction", nil, "hicache-fraction")
	}
}

// hostCacheOn reports that a host pool will exist.
func (x *resolver) hostCacheOn() bool {
	on := x.Bool("enable_hierarchical_cache") || x.Bool("disaggregation_decode_enable_offload_kvcache")
	if x.r.AtLeast("0.5.18") && x.Str("disaggregation_mode") == "decode" {
		b := x.Str("disaggregation_decode_retraction_backup")
		on = on || b == "" || b == "host_pool"
	}
	return on
}

// hostCache is _handle_hicache: layout, transfer and storage must fit one
// another. The order of the rewrites changed twice.
func (x *resolver) hostCache() {
	switch {
	case x.r.Before("0.5.3"):
		x.hostCacheBefore053()
	case x.r.Before("0.5.8"):
		x.storageLayout()
		x.directLayout(x.r.Before("0.5.7"))
		x.fa3HostDecode(false)
	case x.r.Before("0.5.10"):
		x.kernelLayout()
		x.fa3HostDecode(true)
		x.storageLayout()
	default:
		x.hostCacheOrdered()
	}
}

// hostCacheOrdered is the order since 0.5.10, only while a host pool exists.
func (x *resolver) hostCacheOrdered() {
	if x.r.AtLeast("0.5.20") && x.externalLinker() {
		return
	}
	if !x.hostCacheOn() {
		return
	}
	if x.r.AtLeast("0.5.19") {
		x.hostMemoryMode()
	}
	receive := x.hostReceiving()
	if receive {
		x.rule("hicache_mem_layout", "layer_first", "host-receive-layout")
	}
	x.layoutAndTransfer()
	x.storageLayout()
	if x.r.Before("0.5.14") && x.fa3HostDecode(true) {
		x.layoutAndTransfer()
	}
	if x.r.AtLeast("0.5.23") && x.Bool("enable_unified_memory") && x.Str("hicache_mem_layout") == "page_first_direct" {
		x.rule("hicache_mem_layout", "page_first", "unified-host-layout")
		x.rule("hicache_io_backend", "kernel", "unified-host-layout")
	}
	if layout := x.Str("hicache_mem_layout"); receive && layout != "layer_first" {
		x.refuse(CodeHicacheLayout, "--hicache-storage-backend", "KV transfer into host memory needs the layer_first layout; the storage backend needs "+layout+".", fix("run without storage", dropFlag("--hicache-storage-backend")))
	}
	x.hostCacheDCP()
}

// storageLayout: Mooncake stores pages, so layers may not come first.
func (x *resolver) storageLayout() {
	s := x.Str("hicache_storage_backend")
	paged := s == "mooncake" || s == "npu_memcache" && x.r.AtLeast("0.5.20")
	if !paged || x.Str("hicache_mem_layout") != "layer_first" || x.r.AtLeast("0.5.23") && s == "mooncake" && x.Int("dcp_size") > 1 {
		return
	}
	switch x.Str("hicache_io_backend") {
	case "direct":
		x.rule("hicache_mem_layout", "page_first_direct", "storage-layout")
	case "kernel":
		x.rule("hicache_mem_layout", "page_first", "storage-layout")
	}
}

// directLayout: page_first_direct is moved by direct copies only.
func (x *resolver) directLayout(strict bool) {
	if io := x.Str("hicache_io_backend"); x.Str("hicache_mem_layout") == "page_first_direct" && io != "direct" && (strict || io != "kernel_ascend") {
		x.rule("hicache_io_backend", "direct", "layout-transfer")
	}
}

func (x *resolver) kernelLayout() {
	if x.Str("hicache_mem_layout") == "page_first_direct" && x.Str("hicache_io_backend") == "kernel" {
		x.rule("hicache_io_backend", "direct", "layout-transfer")
	}
}

func (x *resolver) layoutAndTransfer() {
	x.kernelLayout()
	if x.Str("hicache_mem_layout") == "page_first" && x.Str("hicache_io_backend") == "direct" {
		x.rule("hicache_mem_layout", "page_first_direct", "layout-transfer")
	}
}

// fa3HostDecode keeps FlashAttention 3 from decoding beside kernel transfers
// (until 0.5.13): another decode backend where the user named none, else
// direct transfers. Until 0.5.7 any backend was replaced. It reports a change
// of the transfer.
func (x *resolver) fa3HostDecode(effective bool) bool {
	on := x.Bool("enable_hierarchical_cache") || x.r.AtLeast("0.5.7") && x.Bool("disaggregation_decode_enable_offload_kvcache")
	if !on || x.Str("hicache_io_backend") != "kernel" {
		return false
	}
	if effective && x.decodeBackend() != "fa3" {
		return false
	}
	switch x.Str("decode_attention_backend") {
	case "":
		x.rule("decode_attention_backend", x.hostDecodeBackend(), "hicache-decode-backend")
	case "fa3":
		x.rule("hicache_io_backend", "direct", "hicache-fa3")
		return true
	default:
		if effective {
			x.rule("hicache_io_backend", "direct", "hicache-fa3")
			return true
		}
	}
	return false
}

func (x *resolver) hostDecodeBackend() string {
	switch {
	case x.m.mla() && !x.sm100():
		return "triton"
	case !x.m.mla() && x.m.AttentionSinks && x.r.AtLeast("0.5.10"):
		return "triton"
	}
	return "flashinfer"
}

// hostMemoryMode is validate_hicache_host_memory_mode (0.5.19).
func (x *resolver) hostMemoryMode() {
	const flag = "--hicache-host-memory-mode"
	if x.Int("hicache_size") <= 0 && x.isNone("hicache_ratio") && x.Str("disaggregation_mode") != "decode" {
		x.refuse(CodeHicacheSize, "--hicache-size", "The host pool has no size.", fix("give one", setFlag("--hicache-ratio", "2")))
	}
	if x.Str("hicache_host_memory_mode") != "buffer_only" {
		return
	}
	if x.isNone("hicache_storage_backend") {
		x.refuse(CodeHicacheMode, flag, "buffer_only keeps nothing in host memory and needs a storage backend.", fix("cache in host memory", setFlag(flag, "cache")))
	}
	if x.r.AtLeast("0.5.22") && x.Str("hicache_write_policy") == "write_back" {
		x.rule("hicache_write_policy", "write_through", "buffer-write-policy")
	}
	if x.Str("disaggregation_mode") == "decode" {
		x.refuse(CodeHicacheMode, flag, "buffer_only is not for decode servers.", fix("cache in host memory", setFlag(flag, "cache")))
	}
}

// externalLinker reports a cache linked to an external store, which has no
// host pool and excludes HiCache (0.5.20).
func (x *resolver) externalLinker() bool {
	const flag = "--enable-unified-cache-external-linker"
	if !x.Bool("enable_unified_cache_external_linker") {
		return false
	}
	drop := fix("leave the linker out", dropFlag(flag))
	if x.Bool("enable_hierarchical_cache") {
		x.refuse(CodeHicacheMode, flag, "The external linker and HiCache exclude one another.", drop)
	}
	if x.Has("hicache_storage_backend") {
		x.refuse(CodeHicacheMode, flag, "The external linker uses no HiCache storage backend.", drop)
	}
	if x.r.AtLeast("0.5.22") && x.Bool("disable_radix_cache") {
		x.refuse(CodeHicacheRadix, flag, "The external linker needs the radix cache.", drop)
	}
	return true
}

// hostCacheDCP: which host pools know decode context parallelism.
func (x *resolver) hostCacheDCP() {
	if x.r.Before("0.5.17") || x.Int("dcp_size") <= 1 || !x.Bool("enable_hierarchical_cache") {
		return
	}
	drop := fix("run without HiCache", dropFlag("--enable-hierarchical-cache"))
	switch {
	case x.r.Before("0.5.20") && x.Has("hicache_storage_backend"):
		x.refuse(CodeDCP, "--hicache-storage-backend", "HiCache storage does not know decode context parallelism in this release.", fix("run without storage", dropFlag("--hicache-storage-backend")))
	case x.Has("hicache_storage_backend") && x.Str("hicache_host_memory_mode") == "buffer_only":
		x.refuse(CodeDCP, "--hicache-host-memory-mode", "buffer_only does not know decode context parallelism.", fix("cache in host memory", setFlag("--hicache-host-memory-mode", "cache")))
	}
	if alg := x.Str("speculative_algorithm"); alg != "" && alg != "DSPARK" {
		x.refuse(CodeDCP, "--speculative-algorithm", "With decode context parallelism and HiCache only DSPARK drafts.", drop)
	}
	if x.Bool("enable_lmcache") || x.Bool("enable_hisparse") || x.m.known && !x.m.mla() {
		x.refuse(CodeDCP, "--dcp-size", "HiCache knows decode context parallelism for MLA models without LMCache and HiSparse only.", drop)
	}
}

// hostCacheBefore053 is the order of 0.5.1 and 0.5.2: Mooncake fixed both.
func (x *resolver) hostCacheBefore053() {
	if x.Str("hicache_storage_backend") == "mooncake" {
		x.rule("hicache_io_backend", "kernel", "storage-layout")
		x.rule("hicache_mem_layout", "page_first", "storage-layout")
	}
}
