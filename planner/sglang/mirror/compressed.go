package mirror

import (
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/pool"
)

// compressed lists the pools of DeepSeek-V4, all mirrored in whole device
// pages: latents and index keys by the full token count, window rows and
// compression states by the window's.
func (b builder) compressed(infos []pool.PoolInfo) []hicache.DevicePool {
	unifiedKV := strings.Contains(strings.ToLower(b.Env["SGLANG_HACK_FLASHMLA_BACKEND"]), "unified_kv")
	var out []hicache.DevicePool
	for _, p := range infos {
		d := hicache.DevicePool{Name: p.Name, Kind: hicache.Paged, Layers: int64(p.Layers), Page: b.page, Tokens: b.tokens(p)}
		rows, ok := b.pageRows(p.Name)
		if !ok || p.Name == "swa" && unifiedKV {
			continue
		}
		d.RowBytes = b.pageBytes(p, rows)
		if p.Name == "swa" {
			d.Kind = hicache.PagedWindow
		}
		out = append(out, d)
		if p.Name == "c4" && !unifiedKV {
			out = append(out, b.states(d.Layers)...)
		}
	}
	if b.mode() == packed {
		return b.pack(out)
	}
	return out
}

// pageRows is the number of rows that a pool keeps in one page of tokens.
func (b builder) pageRows(name string) (int64, bool) {
	per, ok := map[string]int64{"swa": 1, "c1": 1, "c2": 2, "c4": 4, "c128": 128, "indexer": 4}[name]
	if !ok {
		return 0, false
	}
	return max(b.page/per, 1), true
}

// pageBytes is one page of one layer. Latent rows are padded to 576 bytes a
// page; from 0.5.21 their padding is in the row already.
func (b builder) pageBytes(p pool.PoolInfo, rows int64) int64 {
	bytes := int64(p.Latent) * rows
	if p.Name == "indexer" || b.Release.AtLeast("0.5.21") {
		return bytes
	}
	return (bytes + 575) / 576 * 576
}

// states are the rings of compression states, one ring for a page of the
// window pool: for the latents and for the index keys of the layers that
// compress four tokens into one.
func (b builder) states(layers int64) []hicache.DevicePool {
	m := b.Model
	ring := int64(8)
	if b.Args.Str("speculative_algorithm") != "" {
		ring = 16
	}
	element := int64(4)
	switch strings.ToLower(b.Env["SGLANG_DSV4_COMPRESS_STATE_DTYPE"]) {
	case "bfloat16", "bf16":
		if b.Release.AtLeast("0.5.14") {
			element = 2
		}
	}
	state := func(name string, width int) hicache.DevicePool {
		return hicache.DevicePool{Name: name, Kind: hicache.PagedWindow, Layers: layers, RowBytes: ring * 4 * int64(width) * element,
			Page: b.page, Tokens: b.result.SWATokens}
	}
	return []hicache.DevicePool{state("c4_state", m.QKNopeHeadDim+m.QKRopeHeadDim), state("c4_indexer_state", m.IndexHeadDim)}
}
