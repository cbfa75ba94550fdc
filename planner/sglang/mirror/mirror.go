// Package mirror gives the device pools of a launch, as package pool sizes
// them, the form in which package hicache makes host pools of them: which
// rows are mirrored how wide, which pools follow which, and how a draft's rows
// ride along in a release.
package mirror

import (
	"slices"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Source is what decides the mirrored pools.
type Source struct {
	Release release.Release
	Args    *args.Args // resolved
	Model   *modelcfg.Info
	Draft   *modelcfg.Info // nil without a draft model
	Sizer   *pool.Sizer
	Env     map[string]string
}

// Stages returns the device pools of a rank of each pipeline stage for one
// sizing result.
func Stages(src Source, r pool.Result) [][]hicache.DevicePool {
	b := builder{Source: src, result: r, page: max(src.Sizer.PageSize(), 1), par: src.Sizer.Parallel()}
	var out [][]hicache.DevicePool
	for _, infos := range src.Sizer.StagePools() {
		out = append(out, b.rank(infos))
	}
	if len(out) == 1 {
		b.measureStates(out[0])
	}
	return out
}

type builder struct {
	Source
	result pool.Result
	page   int64
	par    pool.Parallel
}

// rank lists the pools of one rank: Main first, then those that follow it.
func (b builder) rank(infos []pool.PoolInfo) []hicache.DevicePool {
	if slices.ContainsFunc(infos, func(p pool.PoolInfo) bool { return p.Name == "c4" || p.Name == "c1" || p.Name == "c2" }) {
		return b.compressed(infos)
	}
	var out []hicache.DevicePool
	for _, p := range infos {
		if d, ok := b.pool(p, infos); ok {
			out = append(out, d)
		}
	}
	out = b.withDraft(out)
	if b.unified() {
		return b.inUnifiedMemory(out)
	}
	return out
}

// pool gives one device pool its mirrored form.
func (b builder) pool(p pool.PoolInfo, infos []pool.PoolInfo) (hicache.DevicePool, bool) {
	d := hicache.DevicePool{Name: p.Name, Layers: int64(p.Layers), Page: b.page, Tokens: b.tokens(p), RowBytes: rowBytes(p)}
	switch p.Name {
	case "full":
		d.Name, d.Kind, d.MLA = "kv", hicache.Main, p.Latent > 0
	case "swa":
		d.Kind = hicache.Window
	case "mamba":
		d.Kind, d.Page, d.RowBytes = hicache.State, 1, p.BytesPerSlot/max(d.Layers, 1)
	case "indexer":
		return b.index(d, p, infos), true
	default:
		return d, false
	}
	if p.VHeadDim != p.HeadDim && p.VHeadDim > 0 {
		d.KeyRowBytes = int64(p.Heads * p.HeadDim * p.ElementBytes)
	}
	return d, true
}

// rowBytes is one token in one layer as stored: from the geometry, and for
// packed types with scales from what the budget charges.
func rowBytes(p pool.PoolInfo) int64 {
	switch {
	case p.Latent > 0 && p.ElementBytes > 0 && !scaled(p.DType):
		return int64(p.Latent * p.ElementBytes)
	case p.Heads > 0 && p.ElementBytes > 0 && !scaled(p.DType):
		return int64(p.Heads * (p.HeadDim + p.VHeadDim) * p.ElementBytes)
	}
	return p.BytesPerToken / int64(max(p.Layers, 1))
}

// scaled reports store types whose rows hold block scales or packed elements.
func scaled(dtype string) bool {
	switch dtype {
	case "fp8_e4m3", "fp8_e5m2", "bfloat16", "float16", "float32", "uint8", "auto", "":
		return false
	}
	return true
}

// tokens is the count that fills a pool.
func (b builder) tokens(p pool.PoolInfo) int64 {
	switch {
	case p.Tokens == pool.CountSWA:
		return b.result.SWATokens
	case p.Tokens == pool.CountSlots:
		return b.result.StateSlots
	case b.result.FullTokens > 0:
		return b.result.FullTokens
	}
	return b.result.MaxTotalTokens
}

// index gives an index pool the kind of its model.
func (b builder) index(d hicache.DevicePool, p pool.PoolInfo, infos []pool.PoolInfo) hicache.DevicePool {
	switch m := b.Model; {
	case m.QSA != nil:
		d.Name, d.Kind = "qsa_index", hicache.QSAIndex
	case m.Sparse != nil && m.Quantization == "minimax_m3_nvfp4":
		d.Kind = hicache.NVFP4Index
	case m.Sparse != nil:
		d.Name, d.Kind = "index_k", hicache.IndexKeys
	default:
		d.Kind = hicache.Indexer
		d.RowBytes = p.BytesPerToken / max(d.Layers, 1)
		if i := slices.IndexFunc(infos, func(q pool.PoolInfo) bool { return q.Name == "full" }); i >= 0 && infos[i].Layers > p.Layers {
			d.OwnedLayers, d.Layers = d.Layers, int64(infos[i].Layers)
		}
		return d
	}
	// These pools are charged over all layers though only some have rows.
	d.Layers, d.RowBytes = 1, p.BytesPerToken
	return d
}

// measureStates gives the state pool the bytes that its tensors have, verify
// states of speculative decoding included: they weigh in the split of the size.
func (b builder) measureStates(pools []hicache.DevicePool) {
	for i := range pools {
		if pools[i].Kind == hicache.State && pools[i].DeviceBytes == 0 {
			pools[i].DeviceBytes = int64(b.result.Bytes.States)
		}
	}
}

// unified reports one buffer for the pools of a hybrid.
func (b builder) unified() bool {
	return b.Args.Bool("enable_unified_memory") && b.Release.AtLeast("0.5.21")
}

// inUnifiedMemory turns the sides of a window hybrid into whole pages of one
// buffer; other hybrids keep pools that report capacity without padding.
func (b builder) inUnifiedMemory(pools []hicache.DevicePool) []hicache.DevicePool {
	var region int64
	window, packed := false, false
	for _, p := range pools {
		window = window || p.Kind == hicache.Window
		packed = packed || p.PackedLayers > 0
	}
	if !window || packed {
		for i, p := range pools {
			if p.Kind == hicache.Main || p.Kind == hicache.State || p.Kind == hicache.Window {
				pools[i].DeviceBytes = p.RowBytes * p.Layers * p.Tokens
			}
		}
		return pools
	}
	var sides []hicache.DevicePool
	for _, p := range pools {
		if p.Kind != hicache.Main && p.Kind != hicache.Window {
			continue
		}
		tokens := p.Tokens
		if p.Kind == hicache.Main {
			tokens += b.page
		}
		region += p.RowBytes * p.Layers * tokens
		p.Kind, p.RowBytes, p.Layers, p.KeyRowBytes = hicache.Envelope, p.RowBytes*p.Layers*b.page, 1, 0
		sides = append(sides, p)
	}
	for i := range sides {
		sides[i].DeviceBytes = region
	}
	return sides
}
