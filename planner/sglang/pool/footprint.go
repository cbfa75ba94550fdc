package pool

import (
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/units"
)

// footprints turns counts into bytes as allocated: every token pool holds one
// page more than it serves, state pools one slot more.
type footprints struct {
	full, swa  int64 // bytes of a row over all layers of the pool
	index      int64 // bytes of an index row over its layers
	page       int64
	slot       int64 // bytes of a state slot over all layers
	verify     int64 // bytes of one request's verify states
	rowExtra   int64 // rows of the request table beyond its size
	columns    int64 // context and headroom
	mapped     bool  // a full-to-window map exists
	draftRow   int64 // bytes of a token in the draft's own pool
	compressed *compressed
	windowSize int64
}

func (f *footprints) at(r *Result) Footprint {
	full, swa := r.FullTokens, r.SWATokens
	var out Footprint
	if f.compressed != nil {
		// The cell prices these pools with their padding; one page each more.
		out.KV = units.Bytes(f.compressed.bpft*float64(full+f.page) + f.compressed.capBytes)
	} else {
		rows := full + f.page
		out.KV = units.Bytes(f.full * rows)
		if f.swa > 0 {
			out.KV += units.Bytes(f.swa * (swa + f.page))
		}
		if f.index > 0 {
			pages := (rows + 1) / f.page
			out.KV += units.Bytes(f.index * pages * f.page)
		}
	}
	if f.slot > 0 {
		out.States = units.Bytes((r.StateSlots + 1) * f.slot)
		out.States += units.Bytes((r.RequestRows + 1) * f.verify)
	}
	out.Requests = units.Bytes((r.RequestRows + f.rowExtra) * f.columns * 4)
	out.Bookkeeping = units.Bytes(r.MaxTotalTokens / f.page * 8)
	if f.mapped {
		out.Bookkeeping += units.Bytes((full + f.page) * 8)
	}
	out.Draft = units.Bytes((r.MaxTotalTokens + f.page) * f.draftRow)
	return out
}

// footprints collects the row sizes for a stage.
func (b *builder) footprints(s span, st *states) footprints {
	m := b.m
	f := footprints{page: b.page, columns: int64(m.ContextLen) + b.rowHeadroom(), rowExtra: b.tableExtraRows(), mapped: m.IsHybridSWA, windowSize: b.windowSize()}
	switch {
	case m.IsDeepseekV4 && m.IsHybridSWA:
		f.compressed, _ = b.newCompressed(s).(*compressed)
	case m.Window != nil:
		full, swa := b.perToken()
		nf, ns := s.count(m.Window.FullLayers), s.count(m.Window.SWALayers)
		f.full, f.swa = full*nf, swa*ns
	default:
		c := b.defaultCell(s)
		f.full, f.index = c.kv, c.indexer
		if m.AttentionArch == modelcfg.MLA && !b.kv.FP4 {
			f.full = b.latentDim() * b.kv.Bytes * c.layers // also where the budget counted less
		}
	}
	if st != nil {
		f.slot = b.stageStates(s)
		if st.spec || (b.spec.on() && b.r.Before("0.5.22")) {
			f.verify = b.verifyBytes(s)
		}
	}
	f.draftRow = b.draftRow()
	return f
}

// stageStates is a slot over the layers of a stage.
func (b *builder) stageStates(s span) int64 {
	l := b.m.Linear
	tp := b.par.AttentionTP
	if l.ModelTP {
		tp = b.par.TP
	}
	return l.BytesPerRequest(tp, int(s.count(l.Layers)))
}

// verifyBytes is what verifying draft tokens keeps per request: the state after
// each token and the convolution's windows, which overlap from 0.5.14 on.
func (b *builder) verifyBytes(s span) int64 {
	l, d := b.m.Linear, b.spec.draft
	tp := b.par.AttentionTP
	st := l.StateAt(tp)
	layers := s.count(l.Layers)
	ssm := int64(st.SSMElems) * int64(l.StateBytes) * d
	conv := int64(st.ConvElems) * int64(l.ConvBytes) * d
	if b.r.AtLeast("0.5.14") && b.spec.topk <= 1 && !st.NoDedup {
		conv = int64(st.ConvDim) * (d + int64(st.ConvTaps) - 1) * int64(l.ConvBytes)
	}
	return (ssm + max(conv, 0)) * layers
}

// rowHeadroom is the columns of the request table beyond the context
// (get_req_to_token_extra_context_len).
func (b *builder) rowHeadroom() int64 {
	extra := int64(4)
	if b.r.AtLeast("0.5.1") {
		extra += b.spec.draft
	}
	if b.r.Before("0.5.13") || !b.spec.on() {
		return extra
	}
	page := b.page
	if b.r.AtLeast("0.5.19") {
		page *= int64(b.par.DCP)
	}
	if page > 1 || b.spec.algorithm == "UNO" && b.r.AtLeast("0.5.20") {
		extra = max(extra, 2*b.spec.allocPerDecode(page)+page-1)
	}
	return extra
}

// tableExtraRows is the rows beyond the size: the padding row (0.5.12 on; 0.4.6
// had one too) and those a decode node adds.
func (b *builder) tableExtraRows() int64 {
	n := int64(0)
	if b.r.AtLeast("0.5.12") || b.r.Before("0.4.7") {
		n = 1
	}
	if b.a.Str("disaggregation_mode") == "decode" {
		n += b.decodeExtraSlots()
	}
	return n
}

// draftRow is what one token takes in the draft's own pool on this rank.
func (b *builder) draftRow() int64 {
	d := b.draft
	if !b.spec.on() || b.spec.algorithm == "NGRAM" {
		return 0
	}
	if d == nil {
		return 0
	}
	layers := int64(d.DraftLayers())
	switch {
	case d.IsDeepseekV4:
		return 0 // inside the cell
	case d.AttentionArch == modelcfg.MLA:
		row := int64(d.KVLoraRank+d.QKRopeHeadDim) * b.kv.Bytes
		if d.IsDSA {
			row = b.latentDim()*b.kv.Bytes + b.indexRow()
		}
		return row * layers
	case b.spec.blockDraft():
		return b.blockDraftBytes()
	}
	return int64(d.KVHeads(b.par.AttentionTP)) * int64(d.HeadDim+d.VHeadDim) * b.kv.Bytes * layers
}
