package serverlog

import "github.com/sglplan/sglplan/planner/finding"

// What ended a start. The codes stay; `sglplan explain` prints the text.
var (
	CodeOOMWeights = finding.Define("start-gpu-oom-weights",
		"out of GPU memory while weights are loaded",
		"The weights of one rank, and what the loader needs beside them, are more than the card has free. --mem-fraction-static has no part in it: nothing of it is applied before the weights are there.",
		"Look whether another process holds the card (`sglplan machine`). Use more GPUs for a replica (--tp-size), quantised weights, or --cpu-offload-gb.")
	CodeOOMPools = finding.Define("start-gpu-oom-pools",
		"out of GPU memory while the pools are made",
		"The KV pool is sized from what is free after loading; what is allocated with it (states, a draft's pool, window pools) can be outside that budget.",
		"Lower --mem-fraction-static, or set --max-total-tokens; `sglplan recommend` says to what.")
	CodeOOMCapture = finding.Define("start-gpu-oom-capture",
		"out of GPU memory while graphs are captured",
		"Weights and pools fitted, and what the fraction left over was less than graph capture takes. A cuBLAS handle that cannot be created is the same thing.",
		"Lower --mem-fraction-static (`sglplan recommend` says to what), or capture less: --cuda-graph-max-bs, a smaller --chunked-prefill-size.")
	CodeOOMServing = finding.Define("start-gpu-oom-serving",
		"out of GPU memory in the first requests",
		"The server was up; activations of a long prompt, or of a batch above the largest captured one, found no room.",
		"Lower --mem-fraction-static or --chunked-prefill-size; `sglplan recommend` says to what.")
	CodeNoRoom = finding.Define("start-no-room-for-kv",
		"the weights leave no room for the KV pool",
		"SGLang gives the pool what is free after loading less (1 - mem_fraction_static) of what was free before; that was nothing.",
		"Raise --mem-fraction-static above the smallest usable one (newer releases print it in this message), or use more GPUs for a replica.")
	CodeHostGuard = finding.Define("start-host-guard",
		"SGLang's own check refuses the host pools",
		"HiCache pins its pools in host memory, --hicache-size for every rank. From 0.5.19 the free figure in the message is the share of one rank, not the host's.",
		"Lower --hicache-size; `sglplan check` prints the largest one that passes for certain.")
	CodeHostPin = finding.Define("start-host-pin-failed",
		"host memory could not be pinned or allocated",
		"The kernel or the driver refused to lock a host pool: too little memory or memlock, a NUMA node that is full, or too large a single buffer.",
		"Lower --hicache-size, raise the memlock limit (--ulimit memlock=-1), and look at the free memory of each NUMA node (`sglplan machine`).")
	CodeHostBelowDevice = finding.Define("start-host-pool-below-device",
		"the host pool is smaller than the device pool",
		"To 0.5.14 SGLang asserts that the host cache is larger than the KV pool of the GPU.",
		"Raise --hicache-size or --hicache-ratio above the size of the device pool, or lower --mem-fraction-static.")
	CodeKilled = finding.Define("start-killed",
		"a process of the server was killed (signal 9)",
		"Nobody but the kernel's OOM killer, a container runtime or a person sends signal 9. In the host pool phase it is the OOM killer, of the host or of a cgroup.",
		"Look at `dmesg -T | grep -i -e oom -e killed`, and at memory.events of the container. Then check the host memory before the next start: `sglplan check`.")
	CodeSHMFull = finding.Define("start-shm-full",
		"shared memory is full",
		"NCCL and the tokenizer exchange data in /dev/shm; a container has 64 MB of it by default.",
		"Give the container --ipc=host or --shm-size 32g.")
	CodeDiskFull = finding.Define("start-disk-full",
		"a disk is full",
		"The model cache, compiled kernels or the log found no room.",
		"Free space, or move HF_HOME and the kernel caches.")
	CodeUnbalanced = finding.Define("start-gpus-unbalanced",
		"the GPUs are not equally free",
		"To 0.5.6 SGLang stops when one rank has less than 90 % of another's free memory.",
		"Stop what holds the fullest card (`sglplan machine`).")
	CodeNCCL = finding.Define("start-nccl",
		"the ranks cannot communicate (NCCL)",
		"Process groups could not be made: shared memory, the network interface, or a rank that is already dead.",
		"Set NCCL_DEBUG=INFO and look at the first rank that failed; give the container --ipc=host.")
	CodePackage = finding.Define("start-missing-package",
		"a Python package is missing",
		"Some options import packages that are not installed with SGLang, and only when they are used: after loading and capture.",
		"Install the package that is named, or leave out the option that needs it.")
	CodePort = finding.Define("start-port-in-use",
		"the port is in use",
		"The web server binds its port last, after the whole start. Another server has it.",
		"Stop the other server or choose another --port; `ss -ltnp` shows who has it.")
	CodeModel = finding.Define("start-model-not-found",
		"the model's files are not there",
		"The path is no folder, the id is not known, or the hub cannot be reached from here.",
		"Check --model-path; download the files first where there is no network.")
	CodeArguments = finding.Define("start-arguments",
		"SGLang refuses an argument",
		"Its argument parser or its checks after parsing ended the start.",
		"`sglplan check` names the flag and the nearest known one.")
	CodeGPUKind = finding.Define("start-gpu-unsupported",
		"a kernel does not know this GPU",
		"The installed kernels were built for other compute capabilities, or the driver is too old for them.",
		"Choose another backend for it (--attention-backend, --moe-runner-backend), or an image for this GPU.")
	CodeWatchdog = finding.Define("start-watchdog",
		"SGLang's watchdog ended the server",
		"A forward step took longer than --watchdog-timeout (300 s by default).",
		"Look at the ranks' stacks with py-spy; raise --watchdog-timeout where kernels are compiled for minutes.")
	CodeWarmup = finding.Define("start-warmup-failed",
		"the server's own first request failed",
		"After binding its port the server sends itself a request. A proxy (http_proxy) or a failing kernel ends it there.",
		"Set no_proxy=127.0.0.1,localhost; look at the lines before for the real error.")
	CodeRankDied = finding.Define("start-rank-died",
		"a scheduler process died",
		"The main process found a scheduler gone; the exit code says how: -11 is a crash in native code, 1 an exception.",
		"Look at the lines before; for -11 run with PYTHONFAULTHANDLER=1.")
	CodeChildFailed = finding.Define("start-child-failed",
		"a process of the server failed",
		"A scheduler or the detokenizer told the main process that it ends; the log does not say why.",
		"Look at the lines before.")
	CodeInitFailed = finding.Define("start-initialization-failed",
		"the initialization failed",
		"The main process gave up.",
		"Look at the lines before.")
	CodeAssertion = finding.Define("start-assertion",
		"an assertion of SGLang failed",
		"Two settings, or a setting and the model, do not go together in a way that only this place checks.",
		"The expression and the file of the traceback say which; look for it in SGLang's issues.")
	CodeCapture = finding.Define("start-capture-failed",
		"graph capture failed",
		"A kernel does not work under capture; it is not memory.",
		"Try another backend, or --disable-cuda-graph to see whether the model runs at all.")
	CodeException = finding.Define("start-exception",
		"an exception ended the start",
		"It is none of the known kinds.",
		"The last line of the traceback names it.")
)

// codeGPUMemory stands for the GPU memory code of the phase.
const codeGPUMemory finding.Code = "gpu-memory"

// Weights of causes: a sure one names the reason itself, a vague one only that
// something failed.
const (
	weightVague = 1
	weightSure  = 2
)

// cause is one way to fail and the forms it takes in a log.
type cause struct {
	code   finding.Code
	weight int
	fatal  bool
	forms  [][]byte
}

func forms(ss ...string) [][]byte {
	var out [][]byte
	for _, s := range ss {
		out = append(out, []byte(s))
	}
	return out
}

// causes are tried in order; the first that matches wins.
var causes = []cause{
	{CodeHostGuard, weightSure, false, forms("Not enough host memory", "No host memory is left for HiCache", "HiCache auto-sizing does not support", "Cannot automatically size HiCache host memory")},
	{CodeHostBelowDevice, weightSure, false, forms("The host memory should be larger than the device memory")},
	{CodeHostPin, weightSure, false, forms("cudaHostRegister failed", "Host registration granularity exceeds", "hipHostMalloc of", "Cannot allocate memory", "returned a null pointer")},
	{CodeNoRoom, weightSure, false, forms("Not enough memory. Please try to increase --mem-fraction-static", "Loaded weights leave no GPU memory", "leaves no room for the full KV pool", "Not enough GPU memory for hybrid", "is larger than the profiled value -", "total_rest_memory=-")},
	{codeGPUMemory, weightSure, false, forms("out of memory. Tried to allocate", "CUDA out of memory", "HIP out of memory", "NPU out of memory", "XPU out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "CUDA error: out of memory", "cudaErrorMemoryAllocation", "HIPBLAS_STATUS_ALLOC_FAILED")},
	{CodeUnbalanced, weightSure, false, forms("The memory capacity is unbalanced")},
	{CodePort, weightSure, true, forms("address already in use", "Address already in use", "[Errno 98]", "Port is already in use", "error while attempting to bind on address")},
	{CodeSHMFull, weightSure, false, forms("/dev/shm")},
	{CodeDiskFull, weightSure, false, forms("No space left on device")},
	{CodeNCCL, weightSure, false, forms("NCCL error", "ncclSystemError", "ncclUnhandledCudaError", "ncclInternalError", "ncclInvalidUsage", "DistBackendError")},
	{CodePackage, weightSure, false, forms("ModuleNotFoundError", "ImportError")},
	{CodeModel, weightSure, false, forms("RepositoryNotFoundError", "LocalEntryNotFoundError", "is not a valid model identifier", "does not appear to have a file named", "Cannot find any model weights", "HFValidationError")},
	{CodeGPUKind, weightSure, false, forms("no kernel image is available", "unsupported architecture", "CUDA driver version is insufficient", "Found no NVIDIA driver")},
	{CodeArguments, weightSure, true, forms(": error: unrecognized arguments", ": error: argument ", ": error: the following arguments are required", ": error: ambiguous option")},
	{CodeCapture, weightVague, false, forms("Capture cuda graph failed", "Capture prefill CUDA graph failed")},
	{CodeAssertion, weightVague, false, forms("AssertionError")},
}
