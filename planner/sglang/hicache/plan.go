package hicache

import (
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Request is everything that sizes the host pools of a launch.
type Request struct {
	Release release.Release
	Args    *args.Args // resolved, or at least with the release's defaults
	Layout  ranks.Layout
	// Stages are the device pools of a rank of each pipeline stage, first
	// stage first. One set stands for all stages where fewer are given.
	Stages     [][]DevicePool
	Host       HostView
	Env        map[string]string
	MaxContext int64 // the model's context length, 0 unknown
}

// HostPools are the host pools of a launch on one host.
type HostPools struct {
	Settings Settings `json:"settings"`
	// Pools are those of a rank of the stage that takes most.
	Pools []HostPool `json:"pools"`
	// PerRankBytes is what such a rank pins, TotalBytes what all ranks of the
	// host pin together.
	PerRankBytes units.Bytes `json:"per_rank_bytes"`
	TotalBytes   units.Bytes `json:"total_bytes"`
	RatioUsed    float64     `json:"ratio_used"`
	Auto         *Auto       `json:"auto,omitempty"`
	Guard        Guard       `json:"guard"`
	// StagingBytes is GPU memory that a rank takes for transfers after graph
	// capture.
	StagingBytes units.Bytes `json:"staging_bytes,omitempty"`

	sets []stageSet
}

// RankBytes is what the rank at an index of the layout's local ranks pins.
func (h HostPools) RankBytes(k ranks.Rank) units.Bytes {
	for _, s := range h.sets {
		if s.stage == k.PP {
			return s.perRank()
		}
	}
	return h.PerRankBytes
}

// stageSet are the pools of a rank of one pipeline stage, and how many such
// ranks this host holds.
type stageSet struct {
	stage, ranks int
	device       []DevicePool
	pools        []HostPool
	refusal      *Refusal // with unchanged memory and no peers, as SGLang's code alone says
}

func (s stageSet) perRank() units.Bytes {
	var n units.Bytes
	for _, p := range s.pools {
		n = add(n, p.BytesPerRank)
	}
	return n
}

// Plan sizes the host pools of a launch and gives SGLang's own verdict on
// them. A launch without host pools gives an empty plan and no finding.
func Plan(q Request) (HostPools, []finding.Finding) {
	if len(q.Stages) == 0 {
		return HostPools{}, nil
	}
	q.Stages = saneStages(q.Stages)
	s := Resolve(q.Release, q.Args, q.Stages[0], q.MaxContext)
	if s.Reason == None {
		return HostPools{}, nil
	}
	if found := unsupported(q, s); len(found) > 0 {
		return HostPools{Settings: s}, found
	}
	h := planWith(q, s)
	h.Guard.SureHicacheSize = sureSize(q, s)
	return h, findings(q, h)
}

// planWith sizes the pools under given settings.
func planWith(q Request, s Settings) HostPools {
	h := HostPools{Settings: s, RatioUsed: s.Ratio}
	if automatic(q.Release, s) {
		a := smallestAuto(q, s)
		h.Auto, h.RatioUsed = &a, a.Ratio
		s.Ratio = max(a.Ratio, 0)
	}
	h.sets = stageSets(q, s)
	for _, set := range h.sets {
		h.TotalBytes = add(h.TotalBytes, mul(set.perRank(), int64(set.ranks)))
		if n := set.perRank(); n >= h.PerRankBytes {
			h.PerRankBytes, h.Pools = n, set.pools
		}
	}
	h.StagingBytes = StagingBytes(q.Release, s, h.Pools)
	h.Guard = guardOf(q, &h)
	return h
}

// guardOf gives SGLang's verdict. Automatic sizes are chosen by all ranks
// together before any of them pins, so the order of arrival does not matter.
func guardOf(q Request, h *HostPools) Guard {
	g := Guard{ShareBytes: share(q.Release, q.Host, q.Layout.PerReplica(), 0)}
	if h.Auto == nil {
		g.Verdict, g.Refusal = judge(q.Release, q.Host, q.Layout.PerReplica(), h.sets)
		return g
	}
	g.Verdict = Pass
	for i := range h.sets {
		a := *h.Auto
		refusal := a.book(h.sets[i].pools)
		h.Auto.LeftBytes = a.LeftBytes
		if refusal != nil {
			g.Verdict, g.Refusal = Refuse, refusal
			break
		}
	}
	if h.Auto.Ratio <= 0 {
		g.Verdict = Refuse
	}
	return g
}

func smallestAuto(q Request, s Settings) Auto {
	n := share(q.Release, q.Host, q.Layout.PerReplica(), 0)
	least := autoSize(q.Stages[0], s, n)
	for _, pools := range q.Stages[1:] {
		if a := autoSize(pools, s, n); a.Ratio < least.Ratio {
			least = a
		}
	}
	return least
}

// stageSets builds the pools of every stage that has ranks on this host. The
// tokens of a fixed size are the smallest among all stages from 0.5.15 on.
func stageSets(q Request, s Settings) []stageSet {
	least := leastTokens(q, s)
	local := q.Layout.Stages()
	var sets []stageSet
	for stage := range max(q.Layout.PP, 1) {
		if local[stage] == 0 {
			continue
		}
		device := q.Stages[min(stage, len(q.Stages)-1)]
		set := stageSet{stage: stage, ranks: local[stage], device: device, pools: build(q.Release, device, s, least)}
		settle(q.Release, set.pools, HugepageSize(q.Release, q.Env))
		free := share(q.Release, q.Host, q.Layout.PerReplica(), 0)
		set.refusal = refused(set.pools, free, nvfp4SlotBytes(device))
		sets = append(sets, set)
	}
	return sets
}

func leastTokens(q Request, s Settings) map[string]int64 {
	if s.SizeGB <= 0 || q.Layout.PP <= 1 || q.Release.Before("0.5.15") {
		return nil
	}
	least := map[string]int64{}
	for _, pools := range q.Stages {
		shares := split(q.Release, pools, s.SizeGB)
		for _, p := range pools {
			if !p.sized() {
				continue
			}
			n := unroundedTokens(p, shares[p.Name], s)
			if m, ok := least[p.Name]; !ok || n < m {
				least[p.Name] = n
			}
		}
	}
	return least
}

// WithSize plans the same launch with another --hicache-size in GB, for
// searching the largest that fits.
func WithSize(q Request, sizeGB int64) HostPools {
	if len(q.Stages) == 0 {
		return HostPools{}
	}
	q.Stages = saneStages(q.Stages)
	s := Resolve(q.Release, q.Args, q.Stages[0], q.MaxContext)
	s.SizeGB, s.Fraction = float64(sizeGB), nil
	return planWith(q, s)
}

// LargestSize returns the largest --hicache-size in whole GB for which fits
// says yes; 0 when not even 1 does. fits must be monotone.
func LargestSize(q Request, fits func(HostPools) bool) int64 {
	low, high := int64(0), int64(1)
	for high < 1<<24 && fits(WithSize(q, high)) {
		low, high = high, high*2
	}
	for high-low > 1 {
		mid := (low + high) / 2
		if fits(WithSize(q, mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// TakesSize reports whether --hicache-size has a meaning for these pools.
func TakesSize(pools []DevicePool) bool { return !has(pools, Paged) && !has(pools, PagedWindow) }

// sureSize is the largest size that passes SGLang's guard whatever the order
// in which ranks arrive.
func sureSize(q Request, s Settings) *int64 {
	if !DividesHost(q.Release) || s.Reason == HiSparse || !TakesSize(q.Stages[0]) {
		return nil
	}
	n := LargestSize(q, func(h HostPools) bool { return h.Guard.Verdict == Pass })
	return &n
}
