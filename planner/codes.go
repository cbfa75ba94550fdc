package planner

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
)

// Findings of the planner itself; those about arguments, pools, the host and
// graphs are defined beside their rules.
var (
	CodeReleaseAssumed = finding.Define("release-assumed",
		"the SGLang release is assumed",
		"Defaults, flags and memory rules differ between SGLang releases. The release is taken from --sglang, else from the sglang-*.dist-info of the Python environment that the command would use, else from the tag of its container image, else the newest known one is assumed.",
		"Name the release that will run with --sglang.")
	CodeModelNotFound = finding.Define("model-not-found",
		"the model's files were not found",
		"What a token costs and what the weights take follow from the model's config.json. It is looked for in the folder that the command names, in the Hugging Face cache, and in the built-in catalogue of public models.",
		"Run the check where the files are, or name them with --model DIR, or a public model of the same shape with --model ID.")
	CodeClassNewer = finding.Define("model-class-newer-than-release",
		"the release does not know this model class yet",
		"Each architecture has a first SGLang release; an older one stops with an unknown model class. Development builds carry the number of the release before them, so this is not refused.",
		"Run a release that serves the model.")
	CodeGPUsUnknown = finding.Define("gpus-unknown",
		"no GPU could be read or was named",
		"The GPUs are read through NVML on this machine, taken from the JSON of `sglplan machine`, or from the catalogue of cards.",
		"Run the check on the GPU machine, or pass --machine FILE or --gpus, for example --gpus 8xH200.")
	CodeHostUnknown = finding.Define("host-unknown",
		"the host memory is not known",
		"Cards that are named with --gpus belong to another machine, so the memory of this host says nothing about it.",
		"Give --host-ram (and --host-available), or --machine with the JSON of `sglplan machine`.")
	CodeNoRoom = finding.Define("no-room-for-kv-pool",
		"the weights leave no room for the KV pool",
		"SGLang gives the KV cache what is free after loading, less (1 - mem_fraction_static) of what was free before it. When nothing remains the start ends with `Not enough memory. Please try to increase --mem-fraction-static`, from 0.5.14 on with `Loaded weights leave no GPU memory for the KV cache`.",
		"Raise --mem-fraction-static above the smallest usable one, use more GPUs for a replica (--tp), or quantised weights.")
	CodeMayHaveNoRoom = finding.Define("kv-pool-may-not-fit",
		"the KV pool may have no room",
		"The estimate of the weights has a band, and at its high end nothing remains for the KV cache at this fraction.",
		"Raise --mem-fraction-static a little, or give the weights as measured with --gpu-weights or --calibrate.")
	CodePoolsExceed = finding.Define("gpu-oom-pools",
		"the pools will not fit the GPU",
		"SGLang sizes the KV cache from the fraction and then allocates it, with the table of requests (one row of the whole context length for every request that may run), free lists and maps that the fraction does not count. Together they are more than what loading left of the card, and the start ends with an out-of-memory error while the pools are allocated.",
		"Lower --mem-fraction-static, or shorten the table: a smaller --context-length or --max-running-requests.")
	CodeDiesLoading = finding.Define("gpu-oom-loading",
		"loading the weights takes more GPU memory at its worst moment than is free",
		"Before any pool exists, loading can hold more than what stays: repacking int4 weights for Marlin keeps old and new side by side, and online quantisation builds the whole model in its own precision first.",
		"Use a checkpoint that is quantised already, or more GPUs for a replica.")
	CodeDiesInCapture = finding.Define("gpu-oom-graph-capture",
		"graph capture will run out of GPU memory",
		"After the pools, SGLang captures CUDA graphs into memory that the fraction left over. What that takes does not depend on the fraction; here it is more than what is left.",
		"Lower --mem-fraction-static, or capture less: fewer decode sizes, a smaller chunk.")
	CodeDiesServing = finding.Define("gpu-oom-serving",
		"serving will run out of GPU memory",
		"The first long prompts need activations, logits and workspaces on top of the captured graphs, and the memory left over by the fraction is less than that. Such a server becomes ready and dies under load.",
		"Lower --mem-fraction-static or --chunked-prefill-size.")
	CodeTight = finding.Define("gpu-headroom-tight",
		"the memory left after the pools is inside the band of the need",
		"What graph capture and serving take is known within a band. The memory that this fraction leaves over lies inside it: the launch may live or die.",
		"Take the recommended fraction, or narrow the band with --calibrate and the log of an earlier start.")
	CodeMultipleNodesOneMachine = finding.Define("nodes-assumed-alike",
		"one machine stands for several nodes",
		"The launch spans several nodes and fewer machines were given; the last one was taken for the rest.",
		"Give --machine once per node, in node-rank order.")
	CodeNodesDiffer = finding.Define("nodes-differ",
		"the nodes of this launch differ",
		"All ranks get the same number of tokens, the smallest that any rank can hold, so the tightest node decides for all.",
		"Free what others hold on the node that is named, or leave it out.")
	CodeNodesMismatch = finding.Define("nodes-mismatch",
		"the launcher and the command disagree about the number of nodes",
		"A LeaderWorkerSet or a batch step starts the command on several hosts; without --nnodes each of them starts a whole server of its own, and with another number the ranks wait for each other for ever.",
		"Set --nnodes to the number of hosts, and --node-rank to the index of each.")
	CodeGPUsGranted = finding.Define("gpus-granted-not-there",
		"the container asks for more GPUs than the machine has",
		"Kubernetes and Slurm never place such a container on this machine; docker refuses to start it.",
		"Ask for as many GPUs as a machine has, or check against the machine that is meant.")
	CodeUnevenGPUs = finding.Define("gpus-uneven",
		"the GPUs of this launch are not equally free",
		"SGLang takes the minimum of free memory over all ranks, so the fullest GPU decides for all; to 0.5.6 a difference above 10 % ends the start.",
		"Stop what holds the memory, or choose other GPUs with CUDA_VISIBLE_DEVICES or --base-gpu-id.")
	CodeSmallContext = finding.Define("pool-below-context",
		"the pool holds fewer tokens than the context length",
		"SGLang starts all the same and then refuses requests that are longer than the pool.",
		"Set --context-length to what is needed, raise the fraction, or use more GPUs.")
	CodeConflictingGPUs = finding.Define("gpus-taken-twice",
		"two launches of this file take the same GPU",
		"Launches on one host that name the same GPU share its memory; each sizes its pool by what is free when it starts.",
		"Give each its own GPUs with --base-gpu-id or CUDA_VISIBLE_DEVICES.")
)

// modelMissing says that the model's files are not here.
func modelMissing(path string, cause error) finding.Finding {
	detail := fmt.Sprintf("%q is no folder here, is not in the model cache and is not in the built-in catalogue, so tokens, weights and pools cannot be computed.", path)
	if path == "" {
		detail = "The command names no model."
	} else if cause != nil {
		detail = cause.Error() + "."
	}
	return finding.New(CodeModelNotFound, finding.Warning, "--model-path", detail).
		With("name the folder of the model's files with --model DIR, or a public model with --model ID")
}
