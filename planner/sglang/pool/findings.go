package pool

import "github.com/sglplan/sglplan/planner/finding"

// Codes of the findings about pools.
var (
	CodeHeads = finding.Define("attention-heads-not-divisible",
		"the attention heads do not divide over the ranks",
		"Attention heads are split evenly over the attention-TP ranks (TP divided by attention DP and CP); SGLang stops at load when they do not divide. KV heads are replicated when there are fewer than ranks, which needs the ranks to be a multiple.",
		"Choose a --tp-size that divides the head count, or use DP attention.")
	CodeStateHeads = finding.Define("state-heads-not-divisible",
		"the recurrent heads do not divide over the ranks",
		"The heads and channels of recurrent layers are split evenly over the ranks; SGLang stops when they do not divide.",
		"Choose a --tp-size that divides the model's linear-attention heads.")
	CodePartition = finding.Define("pp-partition-invalid",
		"SGLANG_PP_LAYER_PARTITION does not fit the model",
		"The variable lists the layers of every pipeline stage; there must be one number per stage and they must add up to the model's layers.",
		"Unset the variable or correct its numbers.")
	CodePage = finding.Define("page-size-not-fitting",
		"the page size does not fit the compressed pools",
		"DeepSeek-V4's compressed pools hold one row per 128 tokens, so the page size must be a multiple of 128; Qwen4-Exp's index needs a multiple of its ratio.",
		"Leave out --page-size.")
	CodeUnifiedUnsupported = finding.Define("unified-memory-unsupported",
		"--enable-unified-memory does not serve this model",
		"The unified pool replaces the separate pools of hybrids (state or sliding-window layers, DeepSeek-V4 excluded); SGLang refuses it for other models.",
		"Leave out --enable-unified-memory.")
	CodeKVDTypeGuess = finding.Define("kv-cache-dtype-from-checkpoint",
		"the checkpoint asks for an 8-bit KV cache in a way that depends on its quantization file",
		"config.json names an 8-bit kv_cache_scheme, but hf_quant_config.json, from which the KV cache type is read, is not at hand; the plan takes the model's own dtype.",
		"Give --kv-cache-dtype explicitly, or put hf_quant_config.json beside config.json.")
	CodeKVSharding = finding.Define("kv-sharding-undecided",
		"the pools of a launch with KV sharding are not modelled",
		"Logical-page KV sharding (--enable-kv-cache-sharding) keeps a part of the pages on each rank and an assembly buffer whose size depends on the backend.",
		"Calibrate with a startup log of this launch.")
	CodeUnifiedDraft = finding.Define("unified-memory-draft-undecided",
		"the draft inside the unified pool is not modelled",
		"From 0.5.22 a draft may live inside the unified pool's pages, which changes the cost of every token.",
		"Calibrate with a startup log of this launch, or leave out --enable-unified-memory.")
	CodePostCapture = finding.Define("post-capture-sizing-undecided",
		"pools sized after graph capture are not modelled",
		"With SGLANG_ENABLE_POST_CAPTURE_KV_SIZING the pools first reserve addresses only and are filled after graph capture with what is then free; the plan shows the first pass, which is the most they can have.",
		"Calibrate with a startup log of this launch, or unset the variable.")
)
