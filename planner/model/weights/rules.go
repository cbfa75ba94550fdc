package weights

// Rules are the decisions of a release and a card that change how a model is
// built. planner/sglang/loading sets them; this package only follows them.
type Rules struct {
	DeepseekRopeCopies bool  // DeepSeek's yarn class keeps cos and sin of its own
	EmbedReplicated    bool  // SGLANG_ENABLE_EMBED_REPLICATION
	FuseShared         bool  // the shared expert becomes one more routed expert
	FuseGated          bool  // Qwen3-Next's gated shared expert becomes one more routed expert
	GemmaNorms         bool  // Gemma-style norms keep a second copy, weight + 1
	LookupOffGPU       bool  // --ple-offload-embedding
	RouterType         DType // of GLM-4.5's gate
	IndexerFused       bool  // an interleaved indexer's key and weight projections are one, in bf16
	IndexerOwners      bool  // only layers that compute a top-k build an indexer
	Int4Index          bool  // int4 experts carry index tables while loading (Marlin)
	PadInter           int64 // bf16 and fp8 experts are built with their width padded to this
	NVFP4Swizzled      bool  // NVFP4 experts are built with a second, interleaved set of scales
	NVFP4PadInter      int64 // NVFP4 experts are built with their width padded to this
	MXFP4PadHidden     int64
	MXFP4PadInter      int64
	PlainOutputA       bool // DeepSeek-V4.1's wo_a is not quantised
	MixingFP32         int  // copies of DeepSeek-V4.1's hyper-connection matrices, made after loading
	MixingBF16         int
	MXFP4NarrowScales  bool // DeepSeek-V4's fp4 experts are built with one-byte scales
}
