package hostledger

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// The findings about how the host is set up.
var (
	CodeShm = finding.Define("shm-too-small",
		"/dev/shm is small for this launch",
		"NCCL's shared-memory transport, message rings and multimodal tensors live in /dev/shm. Docker gives 64 MB when nothing is said. HiCache itself needs none.",
		"Start the container with --ipc=host or --shm-size 16g; in Kubernetes mount an emptyDir with medium Memory at /dev/shm.")
	CodeMemlock = finding.Define("memlock-too-small",
		"The limit on locked memory is below what RDMA registers",
		"CUDA pins host pools through its driver, which the limit does not bound; Mooncake, NIXL, hf3fs and Mori register them with the network card, which it does unless the process has CAP_IPC_LOCK.",
		"ulimit -l unlimited, --ulimit memlock=-1 for docker, LimitMEMLOCK=infinity for systemd.")
	CodeOvercommit = finding.Define("overcommit-strict",
		"The kernel's strict accounting refuses the host pools",
		"With vm.overcommit_memory = 2 every mapping counts against CommitLimit, used or not. The mapping of the host pool fails with ENOMEM.",
		"sysctl vm.overcommit_memory=0, or raise vm.overcommit_ratio, or lower --hicache-size.")
	CodeHugepages = finding.Define("hugepages-reserved",
		"Reserved huge pages are not available to the host pools",
		"Reserved huge pages are taken out of the available memory whether they are used or not. SGLang uses them only with SGLANG_HUGEPAGE_SIZE (0.5.13 on), and its own check still does not count them.",
		"Release them with sysctl vm.nr_hugepages=0, or set SGLANG_HUGEPAGE_SIZE=2MB and expect its check to refuse.")
	CodeARC = finding.Define("zfs-cache-large",
		"The ZFS cache holds memory that counts as used",
		"The ARC gives memory back when the kernel asks, but slowly under sudden pinning, and the kernel does not count it as available. It is not added to what is available here.",
		"Lower zfs_arc_max before the start, or give --host-available yourself.")
	CodeUnifiedMachine = finding.Define("unified-memory-machine",
		"CPU and GPU share one memory on this machine",
		"On DGX Spark, Jetson and APUs weights, KV cache, host pools and page cache come from the same memory. A host pool gains nothing there, and the host figures here do not include what the GPU takes.",
		"Leave out HiCache and keep --mem-fraction-static low.")
)

// hostFindings are about the set-up of the host rather than its size.
func hostFindings(q Request, l *Ledger) []finding.Finding {
	var found []finding.Finding
	for _, check := range []func(Request, *Ledger) (finding.Finding, bool){shm, memlock, overcommit, hugepages, arc, unifiedMachine} {
		if f, ok := check(q, l); ok {
			found = append(found, f)
		}
	}
	return found
}

func shm(q Request, _ *Ledger) (finding.Finding, bool) {
	if q.Host.SHMBytes == nil {
		return finding.Finding{}, false
	}
	need := units.Bytes(0)
	switch {
	case q.Multimodal:
		need = 8 * units.GiB
	case q.Layout.OnThisHost > 1:
		need = units.GiB
	}
	if *q.Host.SHMBytes >= need {
		return finding.Finding{}, false
	}
	f := finding.New(CodeShm, finding.Warning, "", fmt.Sprintf("/dev/shm has %s; %s is the usual need of this launch.", *q.Host.SHMBytes, need))
	f.Figures = map[string]int64{"shm_bytes": int64(*q.Host.SHMBytes), "need_bytes": int64(need)}
	return f.With(fmt.Sprintf("start the container with --shm-size %dg", int64(need/units.GiB))), true
}

// rdma names what registers memory with a network card in this launch.
func rdma(q Request) string {
	switch b := q.Args.Str("hicache_storage_backend"); b {
	case "mooncake", "nixl", "hf3fs", "mori":
		return b
	}
	if mode := q.Args.Str("disaggregation_mode"); mode == "prefill" || mode == "decode" {
		if b := q.Args.Str("disaggregation_transfer_backend"); b == "mooncake" || b == "nixl" || b == "mori" {
			return b
		}
	}
	return ""
}

func memlock(q Request, l *Ledger) (finding.Finding, bool) {
	backend := rdma(q)
	if backend == "" || q.Host.MemlockBytes == nil || *q.Host.MemlockBytes > max(l.PerRankBytes, 64*units.GiB) {
		return finding.Finding{}, false
	}
	f := finding.New(CodeMemlock, finding.Warning, "", fmt.Sprintf("The limit is %s and %s registers its buffers, %s a rank among them.", *q.Host.MemlockBytes, backend, gb(l.PerRankBytes)))
	return f.With("raise the limit on locked memory: ulimit -l unlimited"), true
}

func overcommit(q Request, l *Ledger) (finding.Finding, bool) {
	h := q.Host
	if h.Overcommit == nil || *h.Overcommit != 2 || h.CommitLeftBytes == nil || l.TotalBytes+l.rest.steady().Low <= *h.CommitLeftBytes {
		return finding.Finding{}, false
	}
	f := finding.New(CodeOvercommit, finding.Error, sizeFlag(l), fmt.Sprintf("%s more can be committed; the launch asks for %s.", gb(*h.CommitLeftBytes), gb(l.TotalBytes+l.rest.steady().Low)))
	f.Figures = map[string]int64{"commit_left_bytes": int64(*h.CommitLeftBytes), "need_bytes": int64(l.TotalBytes + l.rest.steady().Low)}
	return withFix(f, l), true
}

// hugepageRelief is what of the pools comes out of the reserved huge pages
// instead of the available memory.
func hugepageRelief(q Request, pools units.Bytes) units.Bytes {
	if hicache.HugepageSize(q.Release, q.Env) <= 0 || q.Host.HugepagesFreeBytes == nil || *q.Host.HugepagesFreeBytes < pools {
		return 0
	}
	return pools
}

func hugepages(q Request, l *Ledger) (finding.Finding, bool) {
	n := q.Host.HugepagesBytes
	if n == nil || *n < units.GiB || l.TotalBytes <= 0 || hugepageRelief(q, l.TotalBytes) > 0 {
		return finding.Finding{}, false
	}
	f := finding.New(CodeHugepages, finding.Info, "", fmt.Sprintf("%s is reserved as huge pages and missing from the %s available.", gb(*n), gb(l.AvailableBytes)))
	return f, true
}

func arc(q Request, l *Ledger) (finding.Finding, bool) {
	n := q.Host.ARCBytes
	if n == nil || *n < 4*units.GiB || *n < hostSize(q.Host)/20 {
		return finding.Finding{}, false
	}
	return finding.New(CodeARC, finding.Info, "", fmt.Sprintf("The cache could give back %s beside the %s available.", gb(*n), gb(l.AvailableBytes))), true
}

// unified are marks in the names of GPUs that have no memory of their own.
var unified = []string{"GB10", "Thor", "Orin", "Spark"}

func unifiedMachine(q Request, _ *Ledger) (finding.Finding, bool) {
	for _, g := range q.GPUs {
		for _, mark := range unified {
			if strings.Contains(g.Name, mark) {
				return finding.New(CodeUnifiedMachine, finding.Warning, "", g.Name+" takes its memory from the host's."), true
			}
		}
	}
	return finding.Finding{}, false
}
