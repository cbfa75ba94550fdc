package hicache

import (
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// buildPaged makes the DeepSeek-V4 pools: pages of fixed bytes, only by ratio.
// From 0.5.12 to 0.5.14 there is at least one page more than on the device.
func buildPaged(r release.Release, pools []DevicePool, s Settings) []HostPool {
	out := make([]HostPool, 0, len(pools))
	for _, p := range pools {
		if p.Kind != Paged && p.Kind != PagedWindow {
			continue
		}
		device := (p.Tokens + p.Page - 1) / max(p.Page, 1)
		pages := max(trunc(float64(device)*s.Ratio), 0)
		if r.Before("0.5.15") {
			pages = max(pages, device+1)
		}
		out = append(out, pagedPool(p, pages))
	}
	return out
}

func pagedPool(p DevicePool, pages int64) HostPool {
	bytes := units.Bytes(mul(mul(pages, p.Layers+p.PackedLayers), p.RowBytes))
	return HostPool{
		Name: p.Name, Kind: p.Kind, Pages: pages, Tokens: mul(pages, p.Page), BytesPerToken: p.RowBytes,
		RequestedBytes: bytes, DeviceTokens: p.Tokens, page: p.Page, buffers: []units.Bytes{bytes},
	}
}

// buildEnvelope makes the one buffer that full and window pages of a unified
// pool share, growing from both ends. With a size, each side alone is given
// the whole of it, so that the size is a true total; with a ratio the buffer
// is the device region times the ratio and a page.
func buildEnvelope(pools []DevicePool, s Settings) []HostPool {
	var view, page, region int64
	var sides []DevicePool
	for _, p := range pools {
		if p.Kind != Envelope {
			continue
		}
		sides = append(sides, p)
		tokens := max(trunc(float64(p.Tokens)*s.Ratio), 0)
		if s.SizeGB > 0 {
			tokens = max(trunc(floorDiv(s.SizeGB*1e9*float64(p.Page), float64(p.RowBytes))), 0)
		}
		view = max(view, mul(tokens/max(p.Page, 1)+1, p.RowBytes))
		page = max(page, p.RowBytes)
		region = max(region, p.DeviceBytes)
	}
	total := view
	if s.SizeGB <= 0 {
		total = max(total, trunc(float64(region)*s.Ratio)+page)
	}
	main := sides[0]
	pages := total / max(main.RowBytes, 1)
	return []HostPool{{
		Name: main.Name, Kind: Envelope, Pages: pages, Tokens: pages * main.Page,
		BytesPerToken: main.RowBytes / max(main.Page, 1), DeviceTokens: main.Tokens, page: main.Page,
		RequestedBytes: units.Bytes(total), buffers: []units.Bytes{units.Bytes(total)},
	}}
}

// buildHiSparse makes the host pool of HiSparse, which keeps the whole cache
// on the host: the main rows by its own ratio, or for DeepSeek-V4 the pages of
// every compressed token.
func buildHiSparse(r release.Release, pools []DevicePool, s Settings) []HostPool {
	if main, ok := find(pools, Main); ok {
		return []HostPool{sizedPool(r, main, trunc(float64(main.Tokens)*s.Ratio))}
	}
	for _, p := range pools {
		if p.Kind == Paged && p.Name == "c4" {
			return []HostPool{pagedPool(p, (p.Tokens+p.Page-1)/max(p.Page, 1))}
		}
	}
	return nil
}
