package modelcfg

// AttentionArch is SGLang's own split of architectures: how keys and values
// are kept.
type AttentionArch string

// The attention architectures of SGLang's ModelConfig.
const (
	MHA AttentionArch = "MHA" // keys and values by head, heads sharded over TP
	MLA AttentionArch = "MLA" // one compressed latent, whole on every rank
	SSM AttentionArch = "SSM" // state only, no keys and values
)

// Class is the name for the kind of pools, as printed in "attention".
type Class string

// The classes of pools.
const (
	ClassMHA       Class = "mha"
	ClassMLA       Class = "mla"
	ClassDSA       Class = "dsa"        // MLA with an indexer (DeepSeek-V3.2, GLM-5)
	ClassSWA       Class = "swa"        // full and sliding-window pools
	ClassHybrid    Class = "hybrid"     // attention layers and recurrent layers
	ClassSSM       Class = "ssm"        // recurrent layers alone
	ClassDSV4      Class = "compressed" // DeepSeek-V4: window, compressed and state pools
	ClassMiniMax   Class = "sparse"     // MiniMax-M3: K/V and index keys
	ClassQSA       Class = "qsa"        // gated-delta hybrid with a compressed index (Qwen4-Exp)
	ClassUndecided Class = "undecided"
)

// Info is what a release derives from one config.json. Layer numbers count
// from 0, head and dimension counts are those of the whole model, not of a
// rank; Kv... methods give a rank's share.
type Info struct {
	Arch      string // architectures[0], renamed as a draft is
	ModelType string
	Class     Class
	// Supported is false when the release does not know how to serve the
	// architecture or this module does not model its pools; Reason then names it.
	Supported bool
	Reason    string
	IsDraft   bool

	AttentionArch AttentionArch
	IsDSA         bool // MLA with sparse attention indexer
	IsDeepseekV4  bool
	// IsHybridSWA: the release gives window layers pools of their own (for
	// DeepSeek-V4, its compressed pools); false with --disable-hybrid-swa-memory.
	IsHybridSWA      bool
	IsMultimodal     bool // what the release calls multimodal, after its switches
	IsEncoderDecoder bool

	NumHiddenLayers       int
	NumAttentionLayers    int // layers that own attention (Longcat has two in each)
	NumAttentionHeads     int
	NumKeyValueHeads      int // the attribute; TotalKVHeads is what is sharded
	TotalKVHeads          int
	HeadDim               int
	VHeadDim              int
	SWAHeadDim            int
	SWAVHeadDim           int
	SWANumKeyValueHeads   int // 0: same as TotalKVHeads
	KVLoraRank            int // MLA only
	QKRopeHeadDim         int
	QKNopeHeadDim         int
	SWAKVLoraRank         int // window layers of MLA hybrids
	SWAQKRopeHeadDim      int
	QLoraRank             int
	IndexHeadDim          int // 0: no indexer
	IndexNHeads           int
	IndexTopK             int
	IndexKPool            int // 1: an index key per token
	IndexKPoolCompress    bool
	SlidingWindow         int // tokens, 0: none
	AttentionChunkSize    int // Llama 4
	ContextLen            int // tokens a request may have, after --context-length
	DerivedContextLen     int // what the file allows
	HiddenSize            int
	HCMult                int // residual streams (DeepSeek-V4, Qwen4-Exp), 1: one
	IntermediateSize      int
	MoEIntermediateSize   int
	NumExperts            int // routed experts, 0: dense
	NumExpertsPerTok      int
	NumSharedExperts      int
	FirstKDenseReplace    int
	VocabSize             int
	MaxPositionEmbeddings int
	TieWordEmbeddings     bool
	DType                 string // "bfloat16", "float16", "float32"
	DTypeBytes            int
	Quantization          string // SGLang's name, "" when none
	KVCacheQuantAlgo      string // "FP8" where the checkpoint asks for it
	// KVCacheSchemeOnly: the file names an 8-bit kv_cache_scheme, but the
	// quantization file from which the KV cache type is read is missing.
	KVCacheSchemeOnly bool
	NumNextN          int  // num_nextn_predict_layers
	HasNumNextN       bool // the attribute is present and not None
	AttentionSinks    bool

	// SkipsTopK tells, for DSA, which layers reuse the indices of the layer
	// before and so need no index keys of their own; nil: none does.
	SkipsTopK []bool

	// Window is set for sliding-window hybrids.
	Window *Window
	// Linear is set for hybrids with recurrent layers and for state-space models.
	Linear *Linear
	// V4 is set for DeepSeek-V4 and V4.1.
	V4 *V4
	// Sparse is set for MiniMax-M3 sparse attention.
	Sparse *Sparse
	// QSA is set for compressed sparse attention (Qwen4-Exp).
	QSA *QSA
	// Vision holds the facts of the vision tower, nil without a vision_config.
	Vision *Vision
	// MTPLocalLayers lists the draft depths that keep a window (Inkling);
	// nil when the config has no such list.
	MTPLocalLayers []int
}

// Window is the split of layers of a sliding-window hybrid.
type Window struct {
	FullLayers []int
	SWALayers  []int
	// Compress marks architectures whose window layers have their own head
	// geometry (is_hybrid_swa_compress).
	Compress bool
}

// Vision holds what the multimodal memory factor reads of vision_config, with
// the defaults of its class. Zero: the class has no such attribute.
type Vision struct {
	Layers int
	Hidden int
}

// V4 is the compressed attention of DeepSeek-V4 and V4.1.
type V4 struct {
	CompressRatios []int // by layer, drafts included
	WindowSize     int
	// SourceLayers lists the layers that own compressed storage (V4.1); nil:
	// every layer owns its own.
	SourceLayers []int
	IsV41        bool
}

// Sparse is MiniMax-M3's sparse attention: which layers keep index keys (and
// values) besides K and V.
type Sparse struct {
	SparseLayers  []int
	KeyOnlyLayers []int // sparse layers without an index value
	IndexDim      int
}

// QSA is the compressed index of Qwen4-Exp's attention layers.
type QSA struct {
	KVHeads       int
	HeadDim       int
	CompressRatio int
}

// KVHeads returns the KV heads that one rank holds: heads are replicated when
// there are fewer than ranks, never split.
func (m *Info) KVHeads(attentionTP int) int { return max(1, m.TotalKVHeads/max(1, attentionTP)) }

// SWAKVHeads is KVHeads for sliding-window layers.
func (m *Info) SWAKVHeads(attentionTP int) int {
	if m.SWANumKeyValueHeads == 0 {
		return m.KVHeads(attentionTP)
	}
	return max(1, m.SWANumKeyValueHeads/max(1, attentionTP))
}

// DraftLayers is the number of layers a release charges for a draft with this
// config: its multi-token-prediction depth where it has one, else its layers.
func (m *Info) DraftLayers() int {
	if m.HasNumNextN {
		return m.NumNextN
	}
	return max(m.NumHiddenLayers, m.NumAttentionLayers)
}
