package hicache

import (
	"fmt"
	"math"

	"github.com/sglplan/sglplan/planner/finding"
)

// The findings of launches whose host pools SGLang does not build at all.
var (
	CodePoolUnsupported = finding.Define("hicache-pool-unsupported",
		"HiCache does not know this kind of KV cache in this release",
		"Host pools exist for MHA/GQA and MLA from the start, for DSA from 0.5.9, recurrent states from 0.5.10, sliding-window layers and DeepSeek-V4 from 0.5.12, MiniMax sparse from 0.5.15, unified memory from 0.5.21. Before that SGLang stops with a ValueError.",
		"Start without --enable-hierarchical-cache, or with a newer SGLang.")
	CodeSizeUnsupported = finding.Define("hicache-size-unsupported",
		"--hicache-size is not supported for DeepSeek-V4",
		"The host pools of DeepSeek-V4 are sized in pages by --hicache-ratio alone; a size stops the start with a ValueError in every release.",
		"Give --hicache-ratio instead of --hicache-size.")
	CodeRatioNeeded = finding.Define("hicache-ratio-needed",
		"DeepSeek-V4 needs an explicit --hicache-ratio",
		"From 0.5.21 a launch that gives neither size nor ratio is sized automatically, and automatic sizing does not know DeepSeek-V4 pools: the start ends with a ValueError.",
		"Give --hicache-ratio.")
	CodeLayoutUnsupported = finding.Define("hicache-layout-unsupported",
		"These host pools cannot have this memory layout",
		"Keys and values of different widths need a page_first layout. The state pools of recurrent models take page_first_direct alone in 0.5.14 and 0.5.15, and no layer_first from 0.5.16 on.",
		"Set --hicache-mem-layout page_first_direct (with --hicache-io-backend direct).")
	CodeFraction = finding.Define("hicache-fraction-invalid",
		"--hicache-host-memory-fraction must be above 0 and at most 1",
		"It is the share of the host memory left after 10 GiB that automatic sizing may take (0.5.21 on). SGLang refuses other values at argument handling.",
		"Give a value such as 0.8.")
	CodeBadSize = finding.Define("hicache-size-invalid",
		"--hicache-size or --hicache-ratio is not usable",
		"--hicache-size is a whole number of 1e9 bytes per rank, --hicache-ratio host tokens to device tokens. Negative values mean nothing, and neither does infinity.",
		"Give a positive value.")
)

// knownFrom is the release that first builds a host pool of a kind.
var knownFrom = map[Kind]string{
	Window: "0.5.12", State: "0.5.10", Paged: "0.5.12", PagedWindow: "0.5.12",
	IndexKeys: "0.5.15", QSAIndex: "0.5.22", NVFP4Index: "0.5.23", Envelope: "0.5.21",
}

// unsupported finds what ends the start before any pool is made.
func unsupported(q Request, s Settings) []finding.Finding {
	var found []finding.Finding
	add := func(code finding.Code, flag, detail string, fixes ...finding.Fix) {
		f := finding.New(code, finding.Error, flag, detail)
		f.Fixes = fixes
		found = append(found, f)
	}
	pools := q.Stages[0]
	for _, p := range pools {
		if from, ok := knownFrom[p.Kind]; ok && q.Release.Before(from) {
			add(CodePoolUnsupported, "--enable-hierarchical-cache",
				fmt.Sprintf("The %s pool of this model is mirrored from SGLang %s on; this is %s.", p.Name, from, q.Release),
				finding.Fix{Title: "start without HiCache", Edits: []finding.Edit{{Flag: "--enable-hierarchical-cache", Remove: true}}})
			break
		}
	}
	if size, ratio := q.Args.Float("hicache_size"), q.Args.Float("hicache_ratio"); !(size >= 0) || !(ratio >= 0) || math.IsInf(ratio, 1) {
		flag := "--hicache-size"
		if size >= 0 {
			flag = "--hicache-ratio"
		}
		add(CodeBadSize, flag, fmt.Sprintf("%s is negative or no number: size %g, ratio %g.", flag, size, ratio),
			finding.Fix{Title: "leave it out", Edits: []finding.Edit{{Flag: flag, Remove: true}}})
	}
	if f := s.Fraction; f != nil && (*f <= 0 || *f > 1) {
		add(CodeFraction, "--hicache-host-memory-fraction", fmt.Sprintf("It is %g.", *f))
	}
	if s.Reason != HiSparse && !TakesSize(pools) {
		byRatio := finding.Fix{Title: "size the host pools by ratio", Edits: []finding.Edit{
			{Flag: "--hicache-size", Remove: true}, {Flag: "--hicache-ratio", Value: "2.0"}}}
		switch {
		case s.SizeGB > 0:
			add(CodeSizeUnsupported, "--hicache-size", fmt.Sprintf("--hicache-size %g with a DeepSeek-V4 cache.", s.SizeGB), byRatio)
		case automatic(q.Release, s):
			byRatio.Edits = byRatio.Edits[1:]
			add(CodeRatioNeeded, "--hicache-ratio", "Neither --hicache-size nor --hicache-ratio is given.", byRatio)
		}
	}
	if f, ok := badCombination(q, s, pools); ok {
		found = append(found, f)
	}
	if f, ok := badLayout(q, s, pools); ok {
		found = append(found, f)
	}
	return found
}
