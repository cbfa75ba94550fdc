package pool

// windowLegacy is the split of 0.5.8 to 0.5.10 (and the Llama-4 one before):
// tokens of the cell of all layers first, their memory then divided.
type windowLegacy struct {
	full, swa             int64
	fullLayers, swaLayers int64
	cell                  int64
	ratio                 float64
	page                  int64
	alignsFirst           bool // 0.5.10: the window follows the aligned full count
	equal                 bool // 0.5.8: both kinds of layer count alike
}

func (b *builder) newWindowLegacy(s span) solver {
	w := &windowLegacy{page: b.page, ratio: b.a.Float("swa_full_tokens_ratio"), alignsFirst: b.r.AtLeast("0.5.10"), equal: b.r.Before("0.5.9")}
	all := span{0, b.m.NumHiddenLayers}
	w.fullLayers, w.swaLayers = all.count(b.m.Window.FullLayers), all.count(b.m.Window.SWALayers)
	w.full, w.swa = b.perToken()
	w.cell = w.full*w.fullLayers + w.swa*w.swaLayers
	if b.kv.FP4 {
		w.cell = w.cell/2 + b.kvHeads*int64(b.m.HeadDim)*b.fullLayers(s)*2*b.kv.Bytes/16
	}
	return w
}

func (w *windowLegacy) cellBytes() float64 { return float64(w.cell) }

func (w *windowLegacy) fit(bytes int64) split {
	if w.cell <= 0 {
		return split{why: NoLayers}
	}
	return split{total: floorDiv(bytes, w.cell)}
}

// constrain is called with the profiled count after the cap and the pipeline
// minimum, as set_num_tokens_hybrid_swa is.
func (w *windowLegacy) constrain(tokens int64) split {
	if w.fullLayers == 0 {
		n := floorAlign(tokens, w.page)
		return split{total: n, swa: n}
	}
	var full, swa int64
	if w.equal {
		layers := float64(w.fullLayers + w.swaLayers)
		full = trunc(float64(tokens) * layers / (w.ratio*float64(w.swaLayers) + float64(w.fullLayers)))
	} else {
		total := tokens * (w.full*w.fullLayers + w.swa*w.swaLayers)
		full = trunc(float64(total) / (float64(w.full*w.fullLayers) + w.ratio*float64(w.swa)*float64(w.swaLayers)))
	}
	if w.alignsFirst {
		full = floorAlign(full, w.page)
	}
	swa = floorAlign(trunc(float64(full)*w.ratio), w.page)
	full = floorAlign(full, w.page)
	return split{total: full, full: full, swa: swa}
}

// windowChunked is Llama 4 with --hybrid-kvcache-ratio (0.4.9 to 0.5.7): three
// of four layers keep only a chunk.
type windowChunked struct {
	cell int64
	t    float64
	page int64
}

func (b *builder) newWindowChunked(s span) solver {
	q := b.a.Float("hybrid_kvcache_ratio")
	t := (1 - q) + q*float64(b.m.AttentionChunkSize)/float64(max(1, b.m.ContextLen))
	return &windowChunked{cell: b.defaultCell(s).bytes(), t: t, page: b.page}
}

func (w *windowChunked) cellBytes() float64 { return float64(w.cell) }

func (w *windowChunked) fit(bytes int64) split {
	if w.cell <= 0 {
		return split{why: NoLayers}
	}
	return split{total: floorDiv(bytes, w.cell)}
}

func (w *windowChunked) constrain(tokens int64) split {
	n, page := float64(tokens), float64(w.page)
	swa := floatFloorDiv(4*n*w.t, 3*w.t+1)
	full := 4*n - floatFloorDiv(12*n*w.t, 3*w.t+1)
	f := trunc(floatFloorDiv(full, page) * page)
	return split{total: f, full: f, swa: trunc(floatFloorDiv(swa, page) * page)}
}
