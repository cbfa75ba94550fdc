package mirror

import (
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
)

// draftMode is how a release mirrors a draft's rows.
type draftMode int

const (
	notMirrored draftMode = iota
	packed                // in the rows of the target's own host pools
	sidecar               // in a pool of their own on top
)

// mode follows SGLang's own draft plan: none to 0.5.10, a pool on top to
// 0.5.17, then packed where the draft is the checkpoint's own next-token
// layers. Plain caches of 0.5.18 are on a tree that is not given packed rows.
func (b builder) mode() draftMode {
	d, algorithm := b.Draft, strings.ToUpper(b.Args.Str("speculative_algorithm"))
	if d == nil || algorithm == "" || algorithm == "NGRAM" || b.Release.Before("0.5.11") {
		return notMirrored
	}
	if b.Release.Before("0.5.18") {
		return sidecar
	}
	nextN := (algorithm == "EAGLE" || algorithm == "NEXTN") && d.NumNextN > 0
	if !nextN && !(algorithm == "DSPARK" && d.IsDeepseekV4) {
		if b.unified() && algorithm == "DFLASH" && b.Release.AtLeast("0.5.23") {
			return notMirrored // its rows lie in the target's pages
		}
		return sidecar
	}
	if b.Release.Before("0.5.19") && b.plain() {
		return notMirrored
	}
	return packed
}

// plain reports a cache of one pool without index keys.
func (b builder) plain() bool {
	m := b.Model
	return m.Window == nil && m.Linear == nil && !m.IsDSA && !m.IsDeepseekV4
}

// runners is the number of draft workers on a rank, each with a pool.
func (b builder) runners() int64 {
	if b.Args.Bool("enable_multi_layer_eagle") {
		return max(b.Args.Int("speculative_num_steps"), 1)
	}
	return 1
}

// withDraft adds a draft's rows to the pools of a rank.
func (b builder) withDraft(pools []hicache.DevicePool) []hicache.DevicePool {
	switch b.mode() {
	case packed:
		return b.pack(pools)
	case sidecar:
		return append(pools, b.sidecars()...)
	}
	return pools
}

// pack lets the draft ride in the rows of the pool of its own kind, and a DSA
// draft in the index pool too.
func (b builder) pack(pools []hicache.DevicePool) []hicache.DevicePool {
	home := hicache.Main
	if b.Draft.Window != nil && len(b.Draft.Window.SWALayers) > 0 && len(b.Draft.Window.FullLayers) == 0 {
		home = hicache.Window
	}
	for i, p := range pools {
		if p.Kind == home || p.Kind == hicache.Indexer && b.Draft.IsDSA || p.Kind == hicache.PagedWindow && p.Name == "swa" {
			pools[i].PackedLayers = b.runners()
		}
	}
	return pools
}

// sidecars are the draft's pools beside the target's.
func (b builder) sidecars() []hicache.DevicePool {
	d := b.Draft
	layers := int64(max(d.NumHiddenLayers, 1))
	if d.NumNextN > 0 {
		layers = int64(d.NumNextN)
	}
	if b.Args.Bool("enable_multi_layer_eagle") {
		layers = 1 // only the first draft worker's pool is mirrored
	}
	p := hicache.DevicePool{Name: "draft", Kind: hicache.Draft, Layers: layers, Page: b.page, Tokens: b.result.MaxTotalTokens}
	b.draftRow(&p)
	out := []hicache.DevicePool{p}
	if d.IsDSA && b.Release.AtLeast("0.5.18") {
		out = append(out, hicache.DevicePool{Name: "draft_indexer", Kind: hicache.DraftIndex, Layers: layers,
			RowBytes: int64(d.IndexHeadDim + d.IndexHeadDim/128*4), Page: b.page, Tokens: p.Tokens})
	}
	if w := d.Window; w != nil && len(w.SWALayers) > 0 && b.Release.AtLeast("0.5.18") {
		swa := p
		swa.Name, swa.Kind, swa.Layers, swa.Tokens = "draft_swa", hicache.DraftWindow, int64(len(w.SWALayers)), b.result.SWATokens
		out = []hicache.DevicePool{swa} // of a window draft only the window rows get a pool
	}
	return out
}

// draftRow is one token in one layer of the draft, in the target's store type.
func (b builder) draftRow(p *hicache.DevicePool) {
	d, elem := b.Draft, max(b.Sizer.KVType().Bytes, 1)
	if d.AttentionArch != modelcfg.MLA {
		p.RowBytes = int64(d.KVHeads(b.par.AttentionTP)) * int64(d.HeadDim+d.VHeadDim) * elem
		if d.HeadDim != d.VHeadDim {
			p.KeyRowBytes = int64(d.KVHeads(b.par.AttentionTP)) * int64(d.HeadDim) * elem
		}
		return
	}
	p.MLA = true
	plain := int64(d.KVLoraRank+d.QKRopeHeadDim) * elem
	p.RowBytes, p.PlainRowBytes = plain, plain
	if d.IsDSA { // as wide as the target's rows, which may carry scales
		for _, q := range b.Sizer.Pools() {
			if q.Name == "full" && q.Latent > 0 {
				p.RowBytes = rowBytes(q)
			}
		}
	}
}
