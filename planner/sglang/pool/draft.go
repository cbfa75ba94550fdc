package pool

import "github.com/sglplan/sglplan/planner/sglang/modelcfg"

// draftLayers is the number of draft layers that the budget charges: those of
// the draft's config; from 0.5.20 a built-in head without a path of its own
// counts by the target's num_nextn_predict_layers.
func (b *builder) draftLayers() int64 {
	if !b.spec.family() || b.r.Before("0.5.14") {
		return 0
	}
	if b.priced != nil {
		return int64(b.priced.DraftLayers())
	}
	if b.r.AtLeast("0.5.20") && b.m.HasNumNextN {
		return int64(b.m.NumNextN)
	}
	return 0
}

// withDraft adds the draft's share to the cell of a stage without window
// pools.
func (b *builder) withDraft(s span, c cell) int64 {
	total := c.bytes()
	if ld := b.draftLayers(); ld > 0 && c.layers > 0 {
		total = b.withEagle(s, c, ld)
	}
	if b.spec.blockDraft() && c.layers > 0 {
		total = b.withBlockDraft(total, c.layers)
	}
	return total
}

// withEagle charges ld layers of the target's own geometry.
func (b *builder) withEagle(s span, c cell, ld int64) int64 {
	total, n := c.bytes(), float64(c.layers)
	switch {
	case b.m.IsDSA && b.r.AtLeast("0.5.18"):
		return total + b.eagleLatent(s, c, ld)
	case b.r.AtLeast("0.5.22"):
		return total + trunc(float64(total*ld)/n)*b.hostRatio("0.5.22")
	}
	return trunc(float64(total) * (1 + float64(ld)/n))
}

// eagleLatent charges a sparse-attention draft: the latent in proportion and
// index keys in every draft layer.
func (b *builder) eagleLatent(s span, c cell, ld int64) int64 {
	kv := trunc(float64(c.kv*ld) / float64(c.layers))
	index := b.indexRow() * ld * b.hostRatio("0.5.17")
	if b.r.AtLeast("0.5.22") {
		kv *= b.hostRatio("0.5.22") * int64(b.par.DCP)
		index *= int64(b.par.DCP)
	}
	return kv + index
}

// withBlockDraft charges DFLASH or DSPARK (0.5.11 on): by the draft's own
// geometry from 0.5.18, before by its number of layers.
func (b *builder) withBlockDraft(total, layers int64) int64 {
	if b.priced == nil || b.r.Before("0.5.11") {
		return total
	}
	if own := b.blockDraftBytes(); own > 0 {
		return total + own
	}
	ld := int64(b.priced.NumHiddenLayers)
	return (total*(layers+ld) + layers - 1) / layers
}

// blockDraftBytes is a DFLASH-family draft's own cost of a token, 0 before it
// was counted so.
func (b *builder) blockDraftBytes() int64 {
	if b.draft == nil || !b.spec.blockDraft() || b.r.Before("0.5.18") {
		return 0
	}
	d := b.draft
	elem := kvType(b.r, lowered(first(b.a.Str("speculative_draft_kv_cache_dtype"), b.a.Str("kv_cache_dtype"))), withoutCheckpointRequest(d)).Bytes
	if b.a.Str("speculative_draft_attention_backend") == "fa4" {
		elem = int64(d.DTypeBytes) // this backend reads its compute dtype alone
	}
	return int64(d.KVHeads(b.blockDraftTP())) * int64(d.HeadDim+d.VHeadDim) * int64(d.NumHiddenLayers) * elem * int64(b.par.DCP)
}

// withoutCheckpointRequest drops the checkpoint's KV quantization: the draft's
// model is not built yet when its cache is priced.
func withoutCheckpointRequest(m *modelcfg.Info) *modelcfg.Info {
	c := *m
	c.KVCacheQuantAlgo = ""
	return &c
}

// blockDraftTP is the TP size that shards the draft's heads.
func (b *builder) blockDraftTP() int {
	switch {
	case b.r.Before("0.5.22"):
		return b.par.TP
	case b.r.AtLeast("0.5.23") && b.spec.algorithm == "DFLASH" && b.par.AttentionCP > 1 && b.par.AttentionDP == 1:
		return b.par.TP
	}
	return b.par.AttentionTP
}

// windowDraft splits draft layers over a window hybrid's pools: full layers,
// window layers in the window pool, window layers at the full capacity.
func (b *builder) windowDraft() (full, swa, swaAtFull int64) {
	n := b.draftLayers()
	if n <= 0 || b.r.Before("0.5.15") {
		return 0, 0, 0
	}
	local := b.m.MTPLocalLayers
	if local != nil && (b.r.AtLeast("0.5.19") || b.m.Arch == "InklingForConditionalGeneration") {
		for _, l := range local {
			if int64(l) < n {
				swaAtFull++
			}
		}
	} else if d := b.windowDraftModel(); b.r.AtLeast("0.5.19") && d != nil && d.Window != nil {
		swa = clamp(int64(len(d.Window.SWALayers)), 0, n)
	}
	return n - swa - swaAtFull, swa, swaAtFull
}

// windowDraftModel is the config whose window layers the draft has: its own,
// or the target's for a head without a path.
func (b *builder) windowDraftModel() *modelcfg.Info {
	if b.priced != nil {
		return b.priced
	}
	return b.m
}
