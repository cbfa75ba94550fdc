package hostledger

import (
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// Advice is which --hicache-size to take.
type Advice struct {
	// Size is the size to type: the largest that fits with the reserve and
	// passes SGLang's own check in every order of arrival. Nil where none
	// does, or where the pools take no size.
	Size *int64 `json:"hicache_size"`
	// Fits is the largest that fits the host with the reserve, whatever
	// SGLang's check says about the order of arrival.
	Fits int64 `json:"fits_hicache_size"`
	// Most is the largest that is not known to exceed the memory: the reserve
	// is gone then.
	Most int64 `json:"most_hicache_size"`
	// Sure passes SGLang's check in every order; nil before 0.5.19.
	Sure *int64 `json:"sure_hicache_size,omitempty"`
	// AutomaticBytes is what SGLang would choose by itself per rank (0.5.21 on).
	AutomaticBytes units.Bytes `json:"automatic_bytes,omitempty"`

	TokensPerRank int64   `json:"tokens_per_rank"` // host tokens that Size buys on a rank
	TokensInAll   int64   `json:"tokens_in_all"`   // different tokens on this host; tensor-parallel ranks hold the same ones
	Ratio         float64 `json:"ratio"`           // of host to device tokens
	// Worth is false where the host cache would not be larger than the device
	// cache that it backs.
	Worth bool `json:"worth"`
}

// advise searches the sizes. Sizes are whole GB, so the search runs over the
// real pools with their rounding and the pools on top of the size.
func advise(q Request, l *Ledger) *Advice {
	a := &Advice{Worth: true}
	if len(q.Stages) == 0 || !hicache.TakesSize(q.Stages[0]) {
		return nil
	}
	r := poolRequest(q, l.rest)
	fits := func(h hicache.HostPools, reserve units.Bytes) bool {
		return h.Guard.Verdict != hicache.Refuse && nodesHold(q, h) &&
			h.TotalBytes+l.rest.steady().Value+reserve <= l.AvailableBytes+hugepageRelief(q, h.TotalBytes)
	}
	a.Fits = hicache.LargestSize(r, func(h hicache.HostPools) bool {
		return fits(h, l.ReserveBytes) && !mostlyPinned(q, h.TotalBytes)
	})
	a.Most = hicache.LargestSize(r, func(h hicache.HostPools) bool { return fits(h, 0) })
	a.Sure = l.Guard.SureHicacheSize
	best := a.Fits
	if a.Sure != nil {
		best = min(best, *a.Sure)
	}
	if l.Auto != nil {
		a.AutomaticBytes = l.PerRankBytes
	}
	if best <= 0 {
		a.Worth = false
		return a
	}
	h := hicache.WithSize(r, best)
	a.buys(q, h)
	if !a.Worth && hicache.MustExceedDevice(q.Release) {
		return a
	}
	a.Size = &best
	return a
}

// buys fills in the host tokens of a plan.
func (a *Advice) buys(q Request, h hicache.HostPools) {
	for _, p := range h.Pools {
		if p.Kind != hicache.Main && p.Kind != hicache.Envelope {
			continue
		}
		a.TokensPerRank = p.Tokens
		a.TokensInAll = p.Tokens * int64(q.Layout.Replicas) * int64(groupsHere(q))
		if p.DeviceTokens > 0 {
			a.Ratio = float64(p.Tokens) / float64(p.DeviceTokens)
		}
		a.Worth = p.Tokens > p.DeviceTokens
	}
}

// groupsHere counts the attention groups of a replica that this host holds.
func groupsHere(q Request) int {
	seen := map[int]bool{}
	for _, k := range q.Layout.Ranks {
		if q.Layout.AttentionDP > 1 {
			seen[k.DP] = true
		}
	}
	return max(len(seen), 1)
}
