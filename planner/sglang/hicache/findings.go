package hicache

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// The findings about pools that SGLang builds, or tries to.
var (
	CodeGuardRefuses = finding.Define("hicache-guard-refuses",
		"SGLang's own check of the host will refuse this host pool",
		"Before it makes a host pool SGLang reads the available host memory, leaves 10 GiB, and from 0.5.19 divides the rest by the ranks of the host; a pool above that ends the rank with a ValueError. The ranks that were let through keep pinning pages until they are killed.",
		"Take a --hicache-size that fits, or leave size and ratio out from 0.5.21 on and let SGLang choose.")
	CodeGuardDepends = finding.Define("hicache-guard-depends",
		"SGLang's own check may refuse this host pool, depending on which rank arrives when",
		"From 0.5.19 a rank is offered (available - 10 GiB) / ranks at the moment it arrives. What its peers have pinned by then is taken off before the division, so late ranks are offered less than early ones although everything fits.",
		"Take the size that passes in every order of arrival, or leave size and ratio out (0.5.21 on): automatic sizes do not race.")
	CodeBelowDevice = finding.Define("hicache-host-below-device",
		"A host pool is not larger than the device pool it mirrors",
		"To 0.5.14 SGLang asserts that every host pool holds more tokens than its device pool and dies otherwise. From 0.5.15 it only warns: a host cache below the device cache adds little.",
		"Raise --hicache-size or --hicache-ratio, or lower --mem-fraction-static.")
	CodeNoneLeft = finding.Define("hicache-no-memory-left",
		"Automatic sizing finds no host memory for HiCache",
		"From 0.5.21, with neither size nor ratio given, SGLang takes a fraction of what is available after 10 GiB; where nothing is left it stops with a ValueError.",
		"Free host memory, raise the container's limit, or start without HiCache.")
	CodeShrunk = finding.Define("hicache-auto-shrunk",
		"Automatic sizing makes the host pools smaller than asked",
		"From 0.5.21, with neither size nor ratio given, SGLang lowers the default ratio until the pools fit 80 % of its share of the host. There is no lower bound, and the log says so in one line only.",
		"Free host memory, raise the container's limit, or give --hicache-size yourself.")
	CodeRegistration = finding.Define("hicache-registration-limit",
		"One host buffer is too large to be registered with CUDA in one call",
		"cudaHostRegister of 512 GiB or more fails on NVIDIA drivers of the R580 series and later with 4 KiB pages. From 0.5.19 the page_first layouts are registered in pieces; layer_first never is.",
		"Use --hicache-mem-layout page_first from 0.5.19 on, or a smaller size.")
	CodePowerOfTwo = finding.Define("hicache-power-of-two",
		"The host pool takes the next power of two of bytes",
		"To 0.5.4.post1 host pools are pinned by torch, whose allocator rounds every block up to a power of two: 48 GB take 64 GiB. SGLang's check does not see it.",
		"Choose a size just below a power of two, such as 34 for 32 GiB, or SGLang 0.5.4.post2 and later.")
	CodeUnasked = finding.Define("hicache-unasked-pool",
		"This decode server pins a host pool that nobody asked for",
		"From 0.5.18 a disaggregated decode server with a plain KV cache backs up retracted requests in a host pool: as large as the device pool in 0.5.18, from a fifth of it on later.",
		"Give --disaggregation-decode-retraction-backup cpu_tensor to do without, or --hicache-ratio for another size.")
	CodeTwice = finding.Define("hicache-size-taken-twice",
		"--hicache-size is taken once for every pool",
		"To 0.5.16 each of the full, window and state pools is given the whole size; from 0.5.17 they share it.",
		"Halve --hicache-size (a third with three pools), or use SGLang 0.5.17 and later.")
)

func findings(q Request, h HostPools) []finding.Finding {
	var found []finding.Finding
	found = append(found, guardFindings(q, h)...)
	found = append(found, autoFindings(h)...)
	found = append(found, poolFindings(q, h)...)
	if h.Settings.Reason == DecodeRetracted && !q.Args.Has("disaggregation_decode_retraction_backup") {
		f := finding.New(CodeUnasked, finding.Info, "--disaggregation-decode-retraction-backup",
			fmt.Sprintf("%s on every rank, %s on the host, at ratio %.3g of the device pool.", gb(h.PerRankBytes), gb(h.TotalBytes), h.RatioUsed))
		found = append(found, f.With("keep retracted requests in plain tensors",
			finding.Edit{Flag: "--disaggregation-decode-retraction-backup", Value: "cpu_tensor"}))
	}
	return found
}

func guardFindings(q Request, h HostPools) []finding.Finding {
	g := h.Guard
	switch {
	case h.Auto != nil && h.Auto.Ratio <= 0:
		return nil // said by autoFindings
	case g.Verdict == Refuse && g.Refusal != nil:
		f := finding.New(CodeGuardRefuses, finding.Error, sizeFlag(h.Settings),
			fmt.Sprintf("SGLang %s: the %s pool requests %s and its check offers %s.", q.Release, g.Refusal.Pool, gb(g.Refusal.Requested), gb(g.Refusal.Free)))
		f.Figures = map[string]int64{"requested_bytes": int64(g.Refusal.Requested), "offered_bytes": int64(g.Refusal.Free)}
		return []finding.Finding{sureFix(f, g)}
	case g.Verdict == Depends:
		f := finding.New(CodeGuardDepends, finding.Warning, sizeFlag(h.Settings),
			fmt.Sprintf("%s a rank; SGLang %s offers %s to the rank that arrives first and less to each after it.", gb(h.PerRankBytes), q.Release, gb(g.ShareBytes)))
		f.Figures = map[string]int64{"per_rank_bytes": int64(h.PerRankBytes), "share_bytes": int64(g.ShareBytes)}
		return []finding.Finding{sureFix(f, g)}
	}
	return nil
}

func sureFix(f finding.Finding, g Guard) finding.Finding {
	if n := g.SureHicacheSize; n != nil && *n > 0 {
		f.Figures["sure_hicache_size"] = *n
		return f.With("take the size that passes in every order", finding.Edit{Flag: "--hicache-size", Value: fmt.Sprint(*n)})
	}
	return f
}

func autoFindings(h HostPools) []finding.Finding {
	a := h.Auto
	switch {
	case a == nil:
		return nil
	case a.Ratio <= 0:
		return []finding.Finding{finding.New(CodeNoneLeft, finding.Error, "--enable-hierarchical-cache",
			fmt.Sprintf("The share of a rank is %s after the 10 GiB reserve.", gb(a.ShareBytes))).
			With("start without HiCache", finding.Edit{Flag: "--enable-hierarchical-cache", Remove: true})}
	case a.Ratio < a.Bound:
		f := finding.New(CodeShrunk, finding.Warning, "--hicache-ratio",
			fmt.Sprintf("The ratio falls from %.3g to %.3f: %s a rank, of a budget of %s.", a.Bound, a.Ratio, gb(h.PerRankBytes), gb(a.BudgetBytes)))
		f.Figures = map[string]int64{"budget_bytes": int64(a.BudgetBytes), "device_bytes": int64(a.DeviceBytes), "per_rank_bytes": int64(h.PerRankBytes)}
		return []finding.Finding{f}
	}
	return nil
}

func poolFindings(q Request, h HostPools) []finding.Finding {
	var found []finding.Finding
	sized := 0
	for _, p := range h.Pools {
		if p.Kind == Main || p.Kind == Window || p.Kind == State {
			sized++
			if f, ok := belowDevice(q, h, p); ok {
				found = append(found, f)
			}
		}
		if p.BytesPerRank-p.RequestedBytes >= p.RequestedBytes/4 && q.Release.Before("0.5.4.post2") {
			found = append(found, finding.New(CodePowerOfTwo, finding.Warning, sizeFlag(h.Settings),
				fmt.Sprintf("The %s pool of %s takes %s on every rank.", p.Name, gb(p.RequestedBytes), gb(p.BytesPerRank))))
		}
		for _, b := range p.buffers {
			if b >= registrationLimit && registeredWhole(q.Release, h.Settings.Layout) {
				found = append(found, finding.New(CodeRegistration, finding.Warning, "--hicache-mem-layout",
					fmt.Sprintf("The %s pool has a buffer of %s; the limit is %s.", p.Name, gb(b), gb(registrationLimit))))
			}
		}
	}
	if sized > 1 && h.Settings.SizeGB > 0 && q.Release.Before("0.5.17") {
		found = append(found, finding.New(CodeTwice, finding.Warning, "--hicache-size",
			fmt.Sprintf("%d pools of %g GB each: %s a rank.", sized, h.Settings.SizeGB, gb(h.PerRankBytes))))
	}
	return found
}

func belowDevice(q Request, h HostPools, p HostPool) (finding.Finding, bool) {
	// The backup of retracted requests had to hold the whole device pool in
	// its first release, and is meant to be small after it.
	backup := h.Settings.Reason == DecodeRetracted
	if p.Tokens > p.DeviceTokens || backup && (q.Release.AtLeast("0.5.19") || p.Tokens == p.DeviceTokens) {
		return finding.Finding{}, false
	}
	sev := finding.Info
	if MustExceedDevice(q.Release) || backup {
		sev = finding.Error
	}
	f := finding.New(CodeBelowDevice, sev, sizeFlag(h.Settings),
		fmt.Sprintf("The %s host pool holds %d tokens, the device pool %d.", p.Name, p.Tokens, p.DeviceTokens))
	f.Figures = map[string]int64{"host_tokens": p.Tokens, "device_tokens": p.DeviceTokens}
	if p.Kind == Main && h.Settings.SizeGB > 0 {
		need := int64(float64(p.DeviceTokens+2*p.page)*float64(p.BytesPerToken)/1e9) + 1
		f = f.With("mirror the whole device pool", finding.Edit{Flag: "--hicache-size", Value: fmt.Sprint(need)})
	}
	return f, true
}

// sizeFlag is the flag that sizes the pools of a launch.
func sizeFlag(s Settings) string {
	if s.SizeGB > 0 {
		return "--hicache-size"
	}
	return "--hicache-ratio"
}

// gb prints a size as SGLang's own host lines do.
func gb(b units.Bytes) string { return fmt.Sprintf("%.2f GB", b.GB()) }
