package planner

import (
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/units"
)

// devicePools lists the pools of a rank with what a fraction puts into them.
func devicePools(s *pool.Sizer, r pool.Result) []Pool {
	var out []Pool
	for _, p := range s.Pools() {
		n := filled(p, r)
		q := Pool{Name: p.Name, Layers: p.Layers, BytesPerToken: float64(p.BytesPerToken), BytesPerSlot: units.Bytes(p.BytesPerSlot)}
		if p.Tokens == pool.CountSlots {
			q.Slots, q.Bytes = n, units.Bytes(n*p.BytesPerSlot)
		} else {
			q.Tokens, q.Bytes = n, units.Bytes(n*p.BytesPerToken)
		}
		out = append(out, q)
	}
	return out
}

// filled is the count of a result that fills a pool.
func filled(p pool.PoolInfo, r pool.Result) int64 {
	switch p.Tokens {
	case pool.CountSWA:
		return r.SWATokens
	case pool.CountSlots:
		return r.StateSlots
	}
	if r.FullTokens > 0 {
		return r.FullTokens
	}
	return r.MaxTotalTokens
}
