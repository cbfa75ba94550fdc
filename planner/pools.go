package planner

import (
	"github.com/sglplan/sglplan/planner/sglang/hicache"
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

// mirrored gives the device pools the form that the host pools are made from.
func mirrored(s *pool.Sizer, r pool.Result) []hicache.DevicePool {
	var out []hicache.DevicePool
	for _, p := range s.Pools() {
		d := hicache.DevicePool{Name: p.Name, Layers: int64(p.Layers), Page: s.PageSize(), Tokens: filled(p, r)}
		row := p.BytesPerToken
		switch p.Name {
		case "full":
			d.Name, d.Kind, d.MLA = "kv", hicache.Main, p.Latent > 0
			if p.VHeadDim != 0 && p.VHeadDim != p.HeadDim {
				d.KeyRowBytes = int64(p.Heads * p.HeadDim * p.ElementBytes)
			}
		case "swa":
			d.Kind = hicache.Window
		case "mamba":
			d.Kind, d.Page, row = hicache.State, 1, p.BytesPerSlot
		case "indexer":
			d.Kind, d.OwnedLayers = hicache.Indexer, int64(p.Layers)
		default:
			continue
		}
		d.RowBytes = row / max(d.Layers, 1)
		out = append(out, d)
	}
	return out
}
