package pool

// window splits memory between full and sliding-window pools
// (HybridSWAPoolConfigurator, 0.5.11 on).
type window struct {
	full, swa             int64 // bytes of a token in one layer
	fullLayers, swaLayers int64
	draftFull             int64 // draft layers by pool
	draftSWA              int64
	draftSWAAtFull        int64
	draftOther            int64 // bytes of a draft with a geometry of its own
	ratio                 float64
	page                  int64
	size                  int64 // the window, 0 unknown
	guard                 bool  // refuse a window pool that holds no request
	cap                   int64 // tokens of the window pool by need; 0: by ratio
	unified               bool
	unifiedPlain          bool // the unified pool prices itself even without a draft
	cell                  float64
}

// perToken returns the bytes of one token in one full and one window layer.
func (b *builder) perToken() (full, swa int64) {
	m := b.m
	if m.AttentionArch == "MLA" {
		full = b.latentDim() * b.kv.Bytes
		if m.IsDSA {
			full += b.indexRow()
		}
		return full, int64(m.SWAKVLoraRank+m.SWAQKRopeHeadDim) * b.kv.Bytes
	}
	heads := int64(m.KVHeads(b.par.AttentionTP))
	f, s := heads*int64(m.HeadDim+m.VHeadDim), b.swaHeads*int64(m.SWAHeadDim+m.SWAVHeadDim)
	full, swa = f*b.kv.Bytes, s*b.kv.Bytes
	if b.kv.MXFP8 && b.r.AtLeast("0.5.16") {
		full, swa = full+f/32, swa+s/32
	}
	return full, swa
}

// windowSize is the window that the pool is checked against: the model's, or
// the chunk of chunked attention (resolve_sliding_window_size).
func (b *builder) windowSize() int64 {
	if b.m.SlidingWindow > 0 {
		return int64(b.m.SlidingWindow)
	}
	return int64(b.m.AttentionChunkSize)
}

// windowLayers counts the layers that a stage is charged: before 0.5.21 all
// layers of the model on every stage.
func (b *builder) windowLayers(s span) (full, swa int64) {
	w := b.m.Window
	if b.r.Before("0.5.21") {
		s = span{0, b.m.NumHiddenLayers}
	}
	return s.count(w.FullLayers), s.count(w.SWALayers)
}

func (b *builder) newWindow(s span) solver {
	w := &window{page: b.page, ratio: b.a.Float("swa_full_tokens_ratio"), size: b.windowSize()}
	w.full, w.swa = b.perToken()
	w.fullLayers, w.swaLayers = b.windowLayers(s)
	w.draftFull, w.draftSWA, w.draftSWAAtFull = b.windowDraft()
	w.draftOther = b.blockDraftBytes()
	w.unified = b.a.Bool("enable_unified_memory")
	w.unifiedPlain = b.r.AtLeast("0.5.21")
	w.guard = b.r.AtLeast("0.5.16") && w.size > 0 && !(w.unified && b.r.AtLeast("0.5.21"))
	w.cell = w.cellOf()
	if b.sizesWindowByNeed(w.fullLayers) {
		w.cap = ceilAlign(b.windowNeed(), b.page)
		if b.r.Before("0.5.23") {
			w.draftOther = 0 // missing in this mode before
		}
	}
	return w
}

// cellOf is the cost of one token of max_total_num_tokens: a full token and
// its share of the window pool, or a window token where all layers are.
func (w *window) cellOf() float64 {
	draft := w.swa*w.draftSWAAtFull + w.draftOther
	if w.fullLayers == 0 {
		return float64(w.swa*(w.swaLayers+w.draftSWA) + w.full*w.draftFull + draft)
	}
	return float64(w.full*(w.fullLayers+w.draftFull)) + float64(w.swa*w.draftSWAAtFull) +
		w.ratio*float64(w.swa*(w.swaLayers+w.draftSWA)) + float64(w.draftOther)
}

func (w *window) cellBytes() float64 { return w.cell }

// fit solves the split for a budget.
func (w *window) fit(bytes int64) split {
	if w.cap > 0 {
		return w.fitCap(bytes)
	}
	if w.unified && w.fullLayers > 0 && (w.unifiedPlain || w.draftBytes() > 0) {
		return w.ratioSplit(w.unifiedTokens(bytes, -1))
	}
	if w.cell <= 0 {
		return split{why: NoLayers}
	}
	return w.ratioSplit(trunc(floatFloorDiv(float64(bytes), w.cell)))
}

// ratioSplit gives the window pool its ratio of the full one.
func (w *window) ratioSplit(tokens int64) split {
	n := floorAlign(tokens, w.page)
	if w.fullLayers == 0 {
		return split{total: n, swa: n}
	}
	out := split{total: n, full: n, swa: floorAlign(trunc(float64(n)*w.ratio), w.page)}
	if w.guard && w.size+w.page >= out.swa {
		out.why = WindowTooSmall
	}
	return out
}

// fitCap takes the window pool by need and leaves the rest to the full one.
func (w *window) fitCap(bytes int64) split {
	fixed := w.cap * w.swa * (w.swaLayers + w.draftSWA)
	var full int64
	if w.unified && w.draftBytes() > 0 {
		full = w.unifiedTokens(bytes, w.cap)
	} else {
		cell := w.full*(w.fullLayers+w.draftFull) + w.swa*w.draftSWAAtFull + w.draftOther
		if cell <= 0 {
			return split{why: NoLayers}
		}
		full = floorAlign(floorDiv(bytes-fixed, cell), w.page)
	}
	out := split{total: full, full: full, swa: w.cap}
	if full <= 0 {
		out.why = WindowTooLarge
	}
	return out
}

func (w *window) constrain(tokens int64) split {
	if w.cap > 0 {
		n := floorAlign(tokens, w.page)
		return split{total: n, full: n, swa: min(w.cap, tokens)}
	}
	return w.ratioSplit(tokens)
}

// draftBytes is a draft's cost of one token in a pool beside the unified one.
func (w *window) draftBytes() int64 {
	return w.full*w.draftFull + w.swa*(w.draftSWA+w.draftSWAAtFull) + w.draftOther
}

// unifiedTokens is the largest number of full tokens, in whole pages, whose
// unified buffer and private draft pool fit. fixed is the window pool's size,
// -1 by ratio.
func (w *window) unifiedTokens(bytes, fixed int64) int64 {
	draft, target := w.draftBytes(), w.full*w.fullLayers
	if target <= 0 {
		return 0
	}
	need := func(pages int64) int64 {
		full := pages * w.page
		swa := fixed
		if fixed < 0 {
			swa = floorAlign(trunc(float64(full)*w.ratio), w.page)
		}
		b := full*target + swa*w.swa*w.swaLayers
		span := max(b/target-1, 0)
		return b + (ceilAlign(span, w.page)+w.page)*draft
	}
	low, high := int64(-1), max(bytes, 0)/target/w.page
	for low < high {
		mid := low + (high-low+1)/2
		if need(mid) <= bytes {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return max(low, 0) * w.page
}

// sizesWindowByNeed reports whether the window pool is sized from the largest
// number of requests: no radix cache, the number given, chunked prefill.
func (b *builder) sizesWindowByNeed(fullLayers int64) bool {
	a := b.a
	if b.r.Before("0.5.14") || fullLayers == 0 || !a.Has("max_running_requests") || !a.Bool("disable_radix_cache") || b.windowSize() == 0 {
		return false
	}
	if b.r.AtLeast("0.5.22") {
		return a.Str("disaggregation_mode") == "decode" || a.Int("chunked_prefill_size") > 0
	}
	return a.Has("chunked_prefill_size")
}

// windowNeed is the most window slots that requests hold at once
// (compute_swa_request_cap).
func (b *builder) windowNeed() int64 {
	a, w := b.a, b.windowSize()
	overlap := !a.Bool("disable_overlap_schedule")
	per := w + max(1, b.envInt("SGLANG_SWA_EVICTION_INTERVAL", 128))*max(1, b.spec.draft) + b.page
	switch {
	case !b.spec.on():
		per += b.page
	case !overlap:
		per += b.spec.allocWithoutOverlap(b.page)
	default:
		per += 2 * b.spec.allocPerDecode(b.page*int64(b.par.DCP))
	}
	need := per * b.perReplica(a.Int("max_running_requests"))
	if a.Str("disaggregation_mode") == "decode" {
		return need + (w+b.page)*b.decodeExtraSlots()
	}
	chunks := int64(1)
	if overlap {
		chunks = 2
	}
	return need + chunks*a.Int("chunked_prefill_size") + b.page
}
