package hostledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/loading"
	"github.com/sglplan/sglplan/planner/units"
)

// The findings about the memory that passes while the launch starts.
var (
	CodeLoadingExceeds = finding.Define("host-loading-exceeds-memory",
		"Loading the weights does not fit the memory that is there",
		"With --weight-loader-disable-mmap, and with .bin or .pt files, every rank reads whole files into memory of its own: the threads plus two files at once from 0.5.9, before that the whole checkpoint with threads.",
		"Leave out --weight-loader-disable-mmap, or load with fewer threads: --model-loader-extra-config '{\"enable_multithread_load\": false}'.")
	CodeCacheTight = finding.Define("container-cache-tight",
		"The container has little room for the page cache of the checkpoint",
		"Mapped weight files are page cache charged to the container. The kernel drops them when it must, so they need no room for good, but loading then reads files again and again, and where the driver pins file pages (ROCm does) the container is killed while it loads.",
		"Raise the container's memory limit to the checkpoint and some 10 GB, or add --weight-loader-drop-cache-after-load (0.5.12 on).")
	CodeCompile = finding.Define("jit-compilation-memory",
		"Compiling kernels at the first start may take more memory than is there",
		"FlashInfer, DeepGEMM, CUTLASS, Triton and torch.compile start as many compilers as there are processors. Each takes 0.5 to 4 GB, those of 4-bit kernels most. It passes before the host pools are made.",
		"Set MAX_JOBS to a small number for the first start.")
)

func loadingFinding(_ Request, l *Ledger) (finding.Finding, bool) {
	before := l.rest.before()
	if l.rest.loading.Value <= 0 || before.Value <= l.AvailableBytes {
		return finding.Finding{}, false
	}
	sev := finding.Warning
	if before.Low > l.AvailableBytes {
		sev = finding.Error
	}
	f := finding.New(CodeLoadingExceeds, sev, "--weight-loader-disable-mmap", fmt.Sprintf("%d ranks read up to %s of weights into memory of their own; %s is available%s.",
		l.Ranks, gb(l.rest.loading.Value), gb(l.AvailableBytes), limitWords(l.Limit)))
	f.Figures = map[string]int64{"loading_bytes": int64(l.rest.loading.Value), "available_bytes": int64(l.AvailableBytes)}
	return f.With("map the weight files", finding.Edit{Flag: "--weight-loader-disable-mmap", Remove: true}), true
}

// cacheFinding warns where a limit leaves the mapped checkpoint no room beside
// the processes and a reserve.
func cacheFinding(q Request, l *Ledger) (finding.Finding, bool) {
	limited := l.Limit == machine.LimitCgroup || l.Limit == machine.LimitFile
	room := l.AvailableBytes - l.rest.before().Value - hicacheReserve
	if !limited || l.rest.pageCache <= 0 || room >= l.rest.pageCache {
		return finding.Finding{}, false
	}
	f := finding.New(CodeCacheTight, finding.Warning, "", fmt.Sprintf("The checkpoint has %s; beside the processes %s of %s is left for it%s.",
		gb(l.rest.pageCache), gb(max(room, 0)), gb(l.AvailableBytes), limitWords(l.Limit)))
	f.Figures = map[string]int64{"checkpoint_bytes": int64(l.rest.pageCache), "room_bytes": int64(room)}
	if loading.CanDropCache(q.Release) {
		f = f.With("drop each file from the cache once it is loaded", finding.Edit{Flag: "--weight-loader-drop-cache-after-load"})
	}
	return f, true
}

// Compilers of one start: their number where neither MAX_JOBS nor the
// processors are known, and what one takes.
const (
	assumedJobs     = 16
	compilerBytes   = 2 * units.GB
	compiler4BitMax = 4 * units.GB
)

// compileOf is what compilers may take at the first start, and whether they
// are those of 4-bit kernels, which have taken hosts down.
func compileOf(q Request) (jobs int64, bytes units.Bytes, heavy bool) {
	jobs = assumedJobs
	if n, err := strconv.ParseInt(strings.TrimSpace(q.Env["MAX_JOBS"]), 10, 32); err == nil && n > 0 {
		jobs = n
	} else if q.Host.CPUs > 0 {
		jobs = int64(q.Host.CPUs)
	}
	each := compilerBytes
	if heavy = q.FourBit || strings.Contains(q.Args.Str("quantization"), "fp4"); heavy {
		each = compiler4BitMax
	}
	return jobs, each * units.Bytes(min(jobs, 1024)), heavy
}

func compileFinding(q Request, l *Ledger) (finding.Finding, bool) {
	jobs, bytes, heavy := compileOf(q)
	room := l.AvailableBytes - l.rest.processes.Value
	// Large hosts start with as many processors and the rest of the memory:
	// only a host that is small as a whole is named.
	if bytes <= room || l.AvailableBytes > smallHost {
		return finding.Finding{}, false
	}
	sev := finding.Info
	if heavy {
		sev = finding.Warning
	}
	f := finding.New(CodeCompile, sev, "", fmt.Sprintf("%d compilers may take %s; %s is left beside the processes.", jobs, gb(bytes), gb(max(room, 0))))
	f.Figures = map[string]int64{"jobs": jobs, "compile_bytes": int64(bytes), "room_bytes": int64(room)}
	fits := max(int64(room/(bytes/units.Bytes(min(jobs, 1024)))), 1)
	return f.With(fmt.Sprintf("start it the first time with MAX_JOBS=%d in its environment", min(fits, jobs))), true
}

// smallHost is the size above which compilers are not worth a word.
const smallHost = 96 * units.GB
