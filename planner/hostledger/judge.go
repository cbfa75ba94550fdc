package hostledger

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// The findings about the host as a whole.
var (
	CodePoolsExceed = finding.Define("host-pool-exceeds-memory",
		"The host pools of all ranks together do not fit the memory that is there",
		"--hicache-size is per rank: every scheduler process pins a pool of its own, and tensor-parallel ranks share none. The pages are pinned, so the kernel cannot swap them: the host thrashes, the OOM killer shoots schedulers in the middle of pinning, and their GPU contexts stay behind. To 0.5.18 SGLang's own check compares each rank alone with the whole host and lets it pass; to 0.5.20 no check sees a container's limit.",
		"Lower --hicache-size to what the finding names, or start fewer ranks on the host.")
	CodeReserveGone = finding.Define("host-reserve-used",
		"The launch leaves the host less than its reserve",
		"10 GiB, or 2 % of a large host, are kept for the system, for page cache and for what the estimate of the processes misses.",
		"Lower --hicache-size a little.")
	CodeMostlyPinned = finding.Define("host-mostly-pinned",
		"The host pools pin nearly all memory of the host",
		"Pinned pages cannot be moved, swapped or reclaimed, and what is left must also hold page tables, kernel buffers and each NUMA node's own share. Published launches of one kind were killed with 95 % of a 3.1 TB host pinned and ran with 86 %.",
		"Keep the host pools of all ranks below 90 % of the host's memory.")
	CodeProcessesExceed = finding.Define("host-processes-exceed-memory",
		"The processes of the launch do not fit the memory that is there",
		"Every rank is a process with its own CUDA context, libraries and buffers, besides the HTTP server and the detokenizer.",
		"Give the host or the container more memory, or start fewer ranks.")
	CodeNotWorth = finding.Define("hicache-not-worth-it",
		"HiCache does not pay on this host",
		"A host pool that is not larger than the device pool it backs caches little that the device has not got. To 0.5.14 SGLang refuses it.",
		"Leave out --enable-hierarchical-cache, lower --mem-fraction-static, or use a host with more memory.")
)

// judge compares the need with what is there.
func judge(q Request, l *Ledger) []finding.Finding {
	var found []finding.Finding
	steady := l.rest.steady()
	available := l.AvailableBytes + hugepageRelief(q, l.TotalBytes)
	switch {
	case steady.Low > l.AvailableBytes:
		found = append(found, processesFinding(l, finding.Error))
	case l.TotalBytes > 0 && l.TotalBytes+steady.Value > available:
		found = append(found, poolsFinding(q, l))
	case l.TotalBytes > 0 && l.HeadroomBytes < 0:
		found = append(found, reserveFinding(l))
	case mostlyPinned(q, l.TotalBytes):
		found = append(found, pinnedFinding(q, l))
	case steady.Value > l.AvailableBytes:
		found = append(found, processesFinding(l, finding.Warning))
	}
	for _, check := range []func(Request, *Ledger) (finding.Finding, bool){loadingFinding, cacheFinding, compileFinding} {
		if f, ok := check(q, l); ok {
			found = append(found, f)
		}
	}
	if a := l.Advice; a != nil && !a.Worth && l.Guard != nil && l.Guard.Verdict != hicache.Refuse {
		found = append(found, notWorth(l))
	}
	return found
}

func poolsFinding(q Request, l *Ledger) finding.Finding {
	flag := sizeFlag(l)
	f := finding.New(CodePoolsExceed, finding.Error, flag, fmt.Sprintf("%s. %s is available before the launch%s; less %s for its processes and %s reserve, %s is left for host pools.%s",
		asked(q, l), gb(l.AvailableBytes), limitWords(l.Limit), gb(l.rest.steady().Value), gb(l.ReserveBytes),
		gb(max(l.AvailableBytes-l.rest.steady().Value-l.ReserveBytes, 0)), guardWords(q, l)))
	f.Figures = map[string]int64{
		"per_rank_bytes": int64(l.PerRankBytes), "ranks": int64(l.Ranks), "total_bytes": int64(l.TotalBytes),
		"available_bytes": int64(l.AvailableBytes), "gap_bytes": int64(l.TotalBytes + l.rest.steady().Value - l.AvailableBytes),
	}
	return withFix(f, l)
}

// asked says what the ranks ask for, in the words of the flag where one
// was given.
func asked(q Request, l *Ledger) string {
	if size := q.Args.Int("hicache_size"); size > 0 && l.plan.Settings.Reason != hicache.HiSparse {
		nominal := units.Bytes(min(size, 1e9)) * units.GB
		out := fmt.Sprintf("--hicache-size is per rank: %s x %d ranks = %s", decimalGB(float64(size)), l.Ranks, decimalGB(float64(size)*float64(l.Ranks)))
		if l.PerRankBytes > nominal+nominal/50 {
			out += fmt.Sprintf("; the pools really take %s a rank, %s in all", gb(l.PerRankBytes), gb(l.TotalBytes))
		}
		return out
	}
	return fmt.Sprintf("Host pools of %s a rank (%.3g x the device pools) x %d ranks = %s", gb(l.PerRankBytes), l.RatioUsed, l.Ranks, gb(l.TotalBytes))
}

// guardWords say what SGLang's own check makes of it, where it lets it pass.
func guardWords(q Request, l *Ledger) string {
	if l.Guard == nil || l.Guard.Verdict == hicache.Refuse {
		return ""
	}
	switch {
	case !hicache.DividesHost(q.Release):
		return fmt.Sprintf(" SGLang %s lets it pass: its check compares each rank alone with the %s of the whole host.", q.Release, gb(l.Guard.ShareBytes))
	case q.Layout.Replicas > 1:
		return fmt.Sprintf(" SGLang %s lets it pass: its check divides by the ranks of one replica.", q.Release)
	}
	return fmt.Sprintf(" SGLang %s may let it pass: its check offers %s to a rank that arrives first.", q.Release, gb(l.Guard.ShareBytes))
}

func limitWords(limit machine.Limit) string {
	switch limit {
	case machine.LimitCgroup:
		return " (the limit of this container or cgroup)"
	case machine.LimitFile:
		return " (the memory limit given to the container)"
	}
	return ""
}

// withFix adds the size to type, or the way without HiCache.
func withFix(f finding.Finding, l *Ledger) finding.Finding {
	switch a := l.Advice; {
	case a != nil && a.Size != nil:
		title := "take the largest size that fits"
		if a.Sure != nil && *a.Sure == *a.Size && a.Fits > *a.Size {
			title = "take the size that fits and passes SGLang's check in every order of arrival"
		}
		return f.With(title, sizeEdits(l, *a.Size)...)
	case l.plan.Settings.Reason == hicache.DecodeRetracted:
		return f.With("keep retracted requests in plain tensors", finding.Edit{Flag: "--disaggregation-decode-retraction-backup", Value: "cpu_tensor"})
	case a == nil && l.Guard != nil: // pools that take no size
		if ratio := l.fittingRatio(); ratio > 0 {
			return f.With("take the largest ratio that fits", finding.Edit{Flag: "--hicache-ratio", Value: strconv.FormatFloat(ratio, 'f', -1, 64)})
		}
	case a == nil && l.Guard == nil && l.TotalBytes > 0: // pools not known: the size at its word
		room := l.AvailableBytes - l.rest.steady().Value - l.ReserveBytes
		if n := int64(room / units.GB / units.Bytes(max(l.Ranks, 1))); n > 0 {
			return f.With("take what is left for each rank", sizeEdits(l, n)...)
		}
	}
	return f.With("start without HiCache", finding.Edit{Flag: "--enable-hierarchical-cache", Remove: true})
}

// fittingRatio is the largest tenth at which the pools fit beside processes and
// reserve, 0 where there is none. Pools grow evenly with the ratio but for
// their rounding to pages, for which one part in a hundred is left.
func (l *Ledger) fittingRatio() float64 {
	room := l.AvailableBytes - l.rest.steady().Value - l.ReserveBytes
	if room <= 0 || l.TotalBytes <= 0 {
		return 0
	}
	return math.Floor(9.9*l.RatioUsed*float64(room)/float64(l.TotalBytes)) / 10
}

func sizeEdits(l *Ledger, n int64) []finding.Edit {
	out := []finding.Edit{{Flag: "--hicache-size", Value: strconv.FormatInt(n, 10)}}
	if l.plan.Settings.SizeGB <= 0 && l.plan.Settings.Reason != hicache.None {
		out = append(out, finding.Edit{Flag: "--hicache-ratio", Remove: true})
	}
	return out
}

func reserveFinding(l *Ledger) finding.Finding {
	f := finding.New(CodeReserveGone, finding.Warning, sizeFlag(l), fmt.Sprintf("Host pools %s and processes about %s leave %s of %s; %s is the reserve.",
		gb(l.TotalBytes), gb(l.rest.steady().Value), gb(l.HeadroomBytes+l.ReserveBytes), gb(l.AvailableBytes), gb(l.ReserveBytes)))
	f.Figures = map[string]int64{"headroom_bytes": int64(l.HeadroomBytes), "reserve_bytes": int64(l.ReserveBytes)}
	return withFix(f, l)
}

// mostlyPinned reports host pools above nine tenths of the memory.
func mostlyPinned(q Request, pools units.Bytes) bool {
	return pools > hostSize(q.Host)/10*9 && hugepageRelief(q, pools) == 0
}

func pinnedFinding(q Request, l *Ledger) finding.Finding {
	f := finding.New(CodeMostlyPinned, finding.Warning, sizeFlag(l), fmt.Sprintf("%s; that is %.0f %% of %s.",
		asked(q, l), 100*float64(l.TotalBytes)/float64(hostSize(q.Host)), gb(hostSize(q.Host))))
	f.Figures = map[string]int64{"total_bytes": int64(l.TotalBytes), "host_bytes": int64(hostSize(q.Host))}
	return withFix(f, l)
}

func processesFinding(l *Ledger, sev finding.Severity) finding.Finding {
	s := l.rest.steady()
	f := finding.New(CodeProcessesExceed, sev, "", fmt.Sprintf("%d ranks and their helpers take %s to %s; %s is available%s.",
		l.Ranks, gb(s.Low), gb(s.High), gb(l.AvailableBytes), limitWords(l.Limit)))
	f.Figures = map[string]int64{"processes_bytes": int64(s.Value), "available_bytes": int64(l.AvailableBytes)}
	return f.With("give the launch more host memory")
}

func notWorth(l *Ledger) finding.Finding {
	sev, detail := finding.Warning, "Not one GB per rank fits beside the processes and the reserve."
	if l.Advice.TokensPerRank > 0 {
		sev = finding.Info
		detail = fmt.Sprintf("The largest safe size holds %d tokens a rank, %.2f of the device pool.", l.Advice.TokensPerRank, l.Advice.Ratio)
	}
	return finding.New(CodeNotWorth, sev, "--enable-hierarchical-cache", detail).
		With("start without HiCache", finding.Edit{Flag: "--enable-hierarchical-cache", Remove: true})
}

// sizeFlag is the flag that sizes the host pools of this launch.
func sizeFlag(l *Ledger) string {
	switch {
	case l.plan.Settings.SizeGB > 0 || l.plan.Settings.Reason == hicache.None:
		return "--hicache-size"
	default:
		return "--hicache-ratio"
	}
}

// gb prints decimal gigabytes with thousands set off, the unit of
// --hicache-size.
func gb(b units.Bytes) string { return decimalGB(b.GB()) }

func decimalGB(v float64) string {
	digits := 2
	if v == float64(int64(v)) || v >= 1000 || v <= -1000 {
		digits = 0
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	whole, fraction := s, ""
	if i := len(s) - 3; digits > 0 && i > 0 {
		whole, fraction = s[:i], s[i:]
	}
	sign := ""
	if whole[0] == '-' {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + fraction + " GB"
}
