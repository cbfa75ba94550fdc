package pool

import "github.com/sglplan/sglplan/planner/sglang/modelcfg"

// pools lists the pools of a rank of a stage with their geometry.
func (b *builder) pools(s span) []PoolInfo {
	m := b.m
	elem, name := int(b.kv.Bytes), b.kv.Name
	var out []PoolInfo
	add := func(p PoolInfo) {
		if p.Layers > 0 {
			p.DType = first(p.DType, name)
			if p.ElementBytes == 0 {
				p.ElementBytes = elem
			}
			out = append(out, p)
		}
	}
	switch {
	case m.IsDeepseekV4 && m.IsHybridSWA:
		b.compressedPools(s, add)
	case m.Window != nil:
		full, swa := b.perToken()
		nf, ns := s.count(m.Window.FullLayers), s.count(m.Window.SWALayers)
		add(PoolInfo{Name: "full", Layers: int(nf), BytesPerToken: full * nf, Heads: m.KVHeads(b.par.AttentionTP), HeadDim: m.HeadDim, VHeadDim: m.VHeadDim})
		add(PoolInfo{Name: "swa", Layers: int(ns), BytesPerToken: swa * ns, Tokens: CountSWA, Heads: int(b.swaHeads), HeadDim: m.SWAHeadDim, VHeadDim: m.SWAVHeadDim})
	default:
		c := b.defaultCell(s)
		p := PoolInfo{Name: "full", Layers: int(c.layers), BytesPerToken: c.kv, Heads: int(b.kvHeads), HeadDim: m.HeadDim, VHeadDim: m.VHeadDim}
		if m.AttentionArch == modelcfg.MLA {
			p.Latent, p.Heads, p.HeadDim, p.VHeadDim = int(b.latentDim()), 1, 0, 0
		}
		add(p)
		if c.indexer > 0 {
			layers := c.layers
			if m.IsDSA && b.elidesIndexKeys() {
				layers = b.ownIndexLayers(s, layers)
			}
			add(PoolInfo{Name: "indexer", Layers: int(layers), BytesPerToken: c.indexer, Latent: m.IndexHeadDim, ElementBytes: 1, DType: "uint8"})
		}
	}
	if l := m.Linear; l != nil {
		add(PoolInfo{Name: "mamba", Layers: int(s.count(l.Layers)), BytesPerSlot: b.stageStates(s), Tokens: CountSlots, ElementBytes: l.StateBytes})
	}
	return out
}

// compressedPools lists DeepSeek-V4's pools; bytes per full token are those of
// the compressed rows that it adds.
func (b *builder) compressedPools(s span, add func(PoolInfo)) {
	c, _ := b.newCompressed(s).(*compressed)
	n, lay := b.stageRatios(s), rowLayout{plain: float64(b.m.QKNopeHeadDim + 2*b.m.QKRopeHeadDim + 8), unpadded: true}
	if b.r.AtLeast("0.5.21") {
		lay = b.rowLayout()
	}
	row := func(ratio int64) int64 { return int64(lay.bytes(c.page, ratio)) }
	add(PoolInfo{Name: "swa", Layers: int(n.all), BytesPerToken: row(0) * n.all, Tokens: CountSWA, Latent: int(row(0)), ElementBytes: 1, DType: "uint8"})
	index := v4Index(int64(b.m.IndexHeadDim))
	for _, k := range []struct {
		name          string
		ratio, layers int64
	}{{"c1", 1, n.n1}, {"c2", 2, n.n2}, {"c4", 4, n.n4}, {"c128", 128, n.n128}} {
		add(PoolInfo{Name: k.name, Layers: int(k.layers), BytesPerToken: row(k.ratio) * k.layers / k.ratio, Latent: int(row(k.ratio)), ElementBytes: 1, DType: "uint8"})
	}
	add(PoolInfo{Name: "indexer", Layers: int(n.n4), BytesPerToken: index * n.n4 / 4, Latent: int(index), ElementBytes: 1, DType: "uint8"})
}
