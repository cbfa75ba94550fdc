package args

import "github.com/sglplan/sglplan/planner/finding"

// Codes of what SGLang refuses after parsing: ServerArgs.__post_init__ and
// check_server_args end the launch with an assertion or a ValueError.
var (
	CodeGraphBackend = finding.Define("graph-backend-unknown",
		"no such CUDA graph backend",
		"From 0.5.14 each phase (decode, prefill) names the way it captures CUDA graphs: full, breakable, tc_piecewise (until 0.5.21) or disabled.",
		"Use one of the names in the finding, or leave the backend out.")
	CodeGraphContext = finding.Define("graph-context-outside-model",
		"the largest context of prefill graphs is out of range",
		"From 0.5.22 --cuda-graph-prefill-max-context is rounded up to whole pages and must then fit the context length of the model.",
		"Lower it, or leave it out.")
	CodeGraphPadding = finding.Define("graph-padding-with-compile",
		"torch.compile needs padded batches",
		"Without padding every batch size is captured, and torch.compile would compile each of them.",
		"Drop --disable-cuda-graph-padding or --enable-torch-compile.")
	CodeBackendSpeculative = finding.Define("attention-backend-without-drafts",
		"the attention backend does not run speculative decoding",
		"Verification needs masks or several query tokens per request, which this backend does not have.",
		"Use another attention backend or run without a draft.")
	CodeBackendCard = finding.Define("attention-backend-needs-other-gpu",
		"the attention backend does not run on this GPU",
		"SGLang tests the compute capability of the card before it takes a backend: the kernels exist for some generations only.",
		"Leave --attention-backend out, SGLang then picks one for the card.")
	CodeBackendPhase = finding.Define("attention-backend-for-one-phase",
		"the attention backend runs one phase only",
		"Some kernels only decode, some only prefill; the other phase needs a backend of its own.",
		"Name the backend with --prefill-attention-backend or --decode-attention-backend.")
	CodeBackendParallel = finding.Define("attention-backend-without-parallelism",
		"the attention backend does not run this kind of parallelism",
		"The backend has no kernels for a context that is spread over ranks on this card.",
		"Use another backend or one context rank.")
	CodeBackendModel = finding.Define("attention-backend-for-model",
		"the attention backend does not run this model",
		"SGLang holds the model to the backends it was validated with.",
		"Leave --attention-backend out, or use one that the finding names.")
	CodeKVDtypeBackend = finding.Define("kv-dtype-for-backend",
		"the attention backend does not read this KV cache dtype",
		"Kernels read a KV cache in some formats only.",
		"Change --kv-cache-dtype or the attention backend.")
	CodeKVDtypeModel = finding.Define("kv-dtype-for-model",
		"the model does not take this KV cache dtype",
		"The cache of sparse attention models is laid out for some formats only.",
		"Leave --kv-cache-dtype at auto.")
	CodeKVDtypeCard = finding.Define("kv-dtype-needs-other-gpu",
		"the KV cache dtype needs another GPU",
		"Block-scaled formats are read by Blackwell kernels only.",
		"Use fp8_e4m3 or bf16.")
	CodePageSizeModel = finding.Define("page-size-for-model",
		"the model needs another page size",
		"The kernels of the model are written for one page size.",
		"Leave --page-size out.")
	CodeChunkPages = finding.Define("chunk-not-whole-pages",
		"the prefill chunk is not a whole number of pages",
		"check_server_args wants chunked_prefill_size, after it was divided among attention groups, to be a multiple of page_size.",
		"Use a multiple of the page size times the number of attention groups.")
	CodeWindowPool = finding.Define("window-pool-out-of-range",
		"the sizing of the sliding-window pool is out of range",
		"--swa-full-tokens-ratio is the window pool's tokens over those of the full pool and lies in (0, 1].",
		"Leave the flag out or use a value in range.")
	CodeHisparse = finding.Define("hisparse-unsupported",
		"HiSparse does not run here",
		"HiSparse keeps part of a sparse attention cache in host memory; it takes sparse models, no radix cache and few dtypes.",
		"Leave --enable-hisparse out.")
	CodeSparseName = finding.Define("sparse-model-name-unknown",
		"the release's rules do not list this model's name",
		"From 0.5.6 to 0.5.11 the rules for DeepSeek sparse attention hang on the name DeepseekV3ForCausalLM, which DeepSeek-V3.2 has only where transformers does not know the model.",
		"Name the backend, page size and KV dtype, or run a newer release.")
	CodePrefillOnly = finding.Define("prefill-only-unsupported",
		"serving without a KV cache is not possible here",
		"--prefill-only-disable-kv-cache serves embeddings in one pass: no chunks, no radix cache, fa3 or fa4.",
		"Leave the flag out or meet its conditions.")
	CodeDeterministic = finding.Define("deterministic-backend",
		"deterministic inference does not run on this backend",
		"Only some attention backends give the same bits whatever the batch.",
		"Use fa3 or triton.")
	CodeLoRA = finding.Define("lora-shape-unknown",
		"the shape of LoRA adapters is not known",
		"With --enable-lora SGLang takes rank and modules from --lora-paths, or from --max-lora-rank and --lora-target-modules where no adapter is loaded at start.",
		"Name the adapters, or their rank and modules.")
	CodeEncoderModel = finding.Define("encoder-split-for-model",
		"the model's encoder cannot be served apart",
		"Encoder disaggregation and language-model-only servers exist for listed architectures only.",
		"Serve the whole model.")
	CodeDiffusion = finding.Define("diffusion-model-unknown",
		"the model is not a diffusion language model",
		"--dllm-algorithm decodes blocks in any order, which only diffusion language models can do.",
		"Leave --dllm-algorithm out.")
	CodeServedName = finding.Define("served-name-with-colon",
		"the served model name has a colon",
		"A colon separates a model from its LoRA adapter in requests, so a served name may not have one.",
		"Choose a name without a colon.")
	CodePDMux = finding.Define("pdmux-unsupported",
		"PD multiplexing does not run here",
		"--enable-pdmux runs prefill and decode on one GPU: one stage, no chunks, no overlap scheduler.",
		"Leave it out or meet its conditions.")
	CodeSchedule = finding.Define("schedule-refused",
		"the scheduler does not take these settings",
		"check_server_args holds the scheduler's arguments to ranges and to one another.",
		"Use the value that the finding names.")
)

// Codes about parallel sizes.
var (
	CodeExpertParallel = finding.Define("expert-parallel-refused",
		"the expert-parallel sizes do not fit",
		"Experts are spread over --ep-size ranks of the TP group; runners and all-to-all backends take some sizes only.",
		"Use the size that the finding names.")
	CodeContextParallel = finding.Define("context-parallel-refused",
		"context parallelism does not fit this launch",
		"Prefill context parallelism spreads a prompt over ranks of the TP group, for some models, orders and sizes.",
		"Leave --attn-cp-size and --enable-prefill-cp out, or meet the rule named in the finding.")
	CodeDCP = finding.Define("decode-context-parallel-refused",
		"decode context parallelism does not fit this launch",
		"--dcp-size stripes the KV cache of decode over ranks (0.5.15); several features do not know the stripes yet.",
		"Use --dcp-size 1 or drop the feature that the finding names.")
	CodeDPAttention = finding.Define("attention-dp-refused",
		"attention data parallelism does not fit this launch",
		"Attention data parallelism splits the TP group in groups with their own KV cache; --tp-size must be a multiple of their number.",
		"Change the sizes, or leave attention data parallelism out.")
	CodePipeline = finding.Define("pipeline-parallel-refused",
		"pipeline parallelism does not combine with this",
		"Stages pass batches on asynchronously; some features need the whole model on one stage.",
		"Use --pp-size 1 or drop the feature.")
	CodeParallelSizes = finding.Define("parallel-sizes-refused",
		"the parallel sizes do not fit",
		"check_server_args wants tp x pp to divide among the nodes and GPU numbers to be valid.",
		"Change the sizes.")
	CodeTwoBatchOverlap = finding.Define("two-batch-overlap-refused",
		"two-batch overlap does not run here",
		"Two-batch overlap hides the exchange of one half batch behind the other's computation, so it needs an exchange to hide.",
		"Leave --enable-two-batch-overlap out.")
	CodeAllToAll = finding.Define("all-to-all-refused",
		"the all-to-all backend does not run here",
		"An all-to-all backend for MoE layers works with some cards, runners and sizes.",
		"Leave --moe-a2a-backend out or meet the rule named in the finding.")
	CodeMoERunner = finding.Define("moe-runner-for-weights",
		"the MoE runner does not take these weights",
		"A MoE runner has kernels for some quantisations only.",
		"Leave --moe-runner-backend at auto.")
	CodeTokenBudget = finding.Define("all-to-all-buffer-too-small",
		"the all-to-all buffer holds fewer tokens than a batch",
		"DeepEP v2, Mori and pplx send from a buffer with a fixed number of tokens a rank, which must hold a chunk and the largest decode graph.",
		"Raise the variable named in the finding or use smaller chunks.")
)

// Codes about host caches, drafts, roles and state.
var (
	CodeHicacheModel = finding.Define("hicache-for-model",
		"HiCache does not run with this model",
		"The host cache does not know this model's kind of cache in this release.",
		"Run without --enable-hierarchical-cache.")
	CodeHicacheSize = finding.Define("hicache-size-refused",
		"the size of the host cache is not valid",
		"The host pool is sized by --hicache-size, --hicache-ratio or a share of host memory.",
		"Give one of them, in range.")
	CodeHicacheMode = finding.Define("hicache-mode-refused",
		"the mode of the host cache does not fit",
		"From 0.5.19 host memory can be a mere buffer before storage (buffer_only), and from 0.5.20 the cache can be linked to an external store instead.",
		"Cache in host memory, or meet the rule named in the finding.")
	CodeHicacheLayout = finding.Define("hicache-layout-refused",
		"the layout of the host cache does not fit",
		"Storage and transfer each need a layout of the host pool, and here they differ.",
		"Run without the storage backend.")
	CodeHicacheRadix = finding.Define("hicache-needs-radix-cache",
		"the host cache needs the radix cache",
		"HiCache extends the radix cache to host memory and storage; there is nothing to extend while that is off.",
		"Drop one of the two flags.")
	CodeLMCache = finding.Define("lmcache-refused",
		"LMCache does not combine with this",
		"LMCache replaces the radix cache and does not know the other feature.",
		"Drop one of the two.")
	CodeRadixPolicy = finding.Define("radix-policy-refused",
		"the eviction policy of the radix cache does not fit",
		"A policy may need settings of its own.",
		"Use the value that the finding names.")
	CodeUnifiedMemory = finding.Define("unified-memory-refused",
		"the unified pool does not run here",
		"--enable-unified-memory keeps all kinds of cache in one pool of bytes, page by page; few features know it so far.",
		"Leave --enable-unified-memory out.")
	CodeSpeculative = finding.Define("speculative-refused",
		"the speculative decoding settings do not fit",
		"Steps, top-k and draft tokens depend on one another, and an algorithm takes some backends only.",
		"Draft a chain (--speculative-eagle-topk 1) or change what the finding names.")
	CodeSpeculativeModel = finding.Define("speculative-for-model",
		"the model does not draft this way",
		"The model's own draft layers work with some algorithms only.",
		"Use the algorithm that the finding names.")
	CodeSpeculativeDP = finding.Define("speculative-with-attention-dp",
		"this draft does not run with attention data parallelism",
		"The draft worker of this algorithm does not gather the batches of attention groups.",
		"Leave attention data parallelism out or use EAGLE.")
	CodeHybridStrategy = finding.Define("recurrent-state-strategy",
		"recurrent state cannot be cached this way",
		"State of recurrent layers is cached without a buffer (pages of one token, no overlap) or with an extra buffer of snapshots, for some models.",
		"Use the strategy that the finding names.")
	CodeDisaggregation = finding.Define("disaggregation-refused",
		"the role of this server does not fit its other settings",
		"A prefill, decode or encoder server of a disaggregated deployment takes some features only.",
		"Change the role or the feature.")
)
