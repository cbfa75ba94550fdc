package pool

import (
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/units"
)

// footprints turns counts into bytes as allocated: every token pool holds one
// page more than it serves, state pools one slot more, and each tensor is
// rounded to the allocator's segments.
type footprints struct {
	kv         [maxTensors]tensor
	draft      [maxTensors]tensor
	states     [maxTensors]tensor
	page       int64
	rowExtra   int64 // rows of the request table beyond its size
	columns    int64 // context and headroom
	mapped     bool  // a full-to-window map exists
	compressed *compressed
	windowSize int64
}

const maxTensors = 6

// tensor is count equal allocations of row bytes for each of a number of rows.
type tensor struct {
	row, count int64
	rows       rowKind
}

// rowKind says how many rows a tensor has.
type rowKind int

const (
	fullRows   rowKind = iota // full tokens and a page
	windowRows                // window tokens and a page
	pagedRows                 // whole pages of full tokens (index keys)
	totalRows                 // max_total_num_tokens and a page
	slotRows                  // state slots and the padding one
	verifyRows                // requests and the padding one
)

func (k rowKind) of(r *Result, page int64) int64 {
	switch k {
	case windowRows:
		return r.SWATokens + page
	case pagedRows:
		return (r.FullTokens + page + 1) / page * page
	case totalRows:
		return r.MaxTotalTokens + page
	case slotRows:
		return r.StateSlots + 1
	case verifyRows:
		return r.RequestRows + 1
	}
	return r.FullTokens + page
}

// segment rounds an allocation as PyTorch's caching allocator does from 10 MiB
// on; smaller ones share segments.
func segment(n int64) int64 {
	if n < 10<<20 {
		return n
	}
	return ceilAlign(n, 2<<20)
}

func sum(ts *[maxTensors]tensor, r *Result, page int64) units.Bytes {
	var b int64
	for i := range ts {
		if t := &ts[i]; t.count > 0 {
			b += t.count * segment(t.row*t.rows.of(r, page))
		}
	}
	return units.Bytes(b)
}

func (f *footprints) at(r *Result) Footprint {
	var out Footprint
	if f.compressed != nil {
		// The cell prices these pools with their padding; one page each more.
		out.KV = units.Bytes(f.compressed.bpft*float64(r.FullTokens+f.page) + f.compressed.capBytes)
	} else {
		out.KV = sum(&f.kv, r, f.page)
	}
	out.Draft = sum(&f.draft, r, f.page)
	out.States = sum(&f.states, r, f.page)
	out.Requests = units.Bytes(segment((r.RequestRows + f.rowExtra) * f.columns * 4))
	out.Bookkeeping = units.Bytes(r.MaxTotalTokens / f.page * 8)
	if f.mapped {
		out.Bookkeeping += units.Bytes((r.FullTokens + f.page) * 8)
	}
	return out
}

// footprints collects the tensors of a stage.
func (b *builder) footprints(s span, st *states) footprints {
	m := b.m
	f := footprints{page: b.page, columns: int64(m.ContextLen) + b.rowHeadroom(), rowExtra: b.tableExtraRows(), mapped: m.IsHybridSWA, windowSize: b.windowSize()}
	if m.IsDeepseekV4 && m.IsHybridSWA {
		f.compressed, _ = b.newCompressed(s).(*compressed)
	} else {
		f.kv = b.kvTensors(s)
	}
	f.draft = b.draftTensors()
	if st != nil {
		f.states = b.stateTensors(s, st)
	}
	return f
}

// kvTensors lists the tensors that hold tokens.
func (b *builder) kvTensors(s span) (ts [maxTensors]tensor) {
	m := b.m
	if w := m.Window; w != nil {
		nf, ns := s.count(w.FullLayers), s.count(w.SWALayers)
		if m.AttentionArch == modelcfg.MLA {
			full, swa := b.perToken()
			ts[0], ts[1] = tensor{full, nf, fullRows}, tensor{swa, ns, windowRows}
			return ts
		}
		heads := int64(m.KVHeads(b.par.AttentionTP))
		ts[0], ts[1] = b.keysAndValues(heads, m.HeadDim, m.VHeadDim, nf, fullRows)
		ts[2], ts[3] = b.keysAndValues(b.swaHeads, m.SWAHeadDim, m.SWAVHeadDim, ns, windowRows)
		return ts
	}
	c := b.defaultCell(s)
	switch {
	case c.layers == 0:
	case b.kv.FP4 || b.kv.MXFP8 || b.nativeNVFP4():
		ts[0] = tensor{c.kv / c.layers, c.layers, fullRows} // data and scales together
	case m.AttentionArch == modelcfg.MLA:
		ts[0] = tensor{b.latentDim() * b.kv.Bytes, c.layers, fullRows} // also where the budget counted less
	default:
		ts[0], ts[1] = b.keysAndValues(b.kvHeads, m.HeadDim, m.VHeadDim, c.layers, fullRows)
	}
	if c.indexer > 0 {
		n := c.layers
		if m.IsDSA && b.elidesIndexKeys() {
			n = max(1, b.ownIndexLayers(s, n))
		}
		ts[2] = tensor{c.indexer / n, n, pagedRows}
	}
	return ts
}

// keysAndValues lists K and V of n layers; from 0.5.23 the two of a layer share
// one allocation where they are equal.
func (b *builder) keysAndValues(heads int64, dim, vdim int, n int64, rows rowKind) (k, v tensor) {
	kb, vb := heads*int64(dim)*b.kv.Bytes, heads*int64(vdim)*b.kv.Bytes
	if kb == vb && b.r.AtLeast("0.5.23") {
		return tensor{kb + vb, n, rows}, tensor{}
	}
	return tensor{kb, n, rows}, tensor{vb, n, rows}
}

// stateTensors lists the recurrent states: one tensor over all layers for the
// convolution and one for the recurrence, and the same for verify states.
func (b *builder) stateTensors(s span, st *states) (ts [maxTensors]tensor) {
	l, tp := b.m.Linear, b.stateTP()
	x, layers := l.StateAt(tp), s.count(l.Layers)
	conv, ssm := int64(x.ConvElems)*int64(l.ConvBytes), int64(x.SSMElems)*int64(l.StateBytes)
	ts[0], ts[1] = tensor{conv * layers, 1, slotRows}, tensor{ssm * layers, 1, slotRows}
	if st.spec {
		d := b.spec.draft
		window := conv * d
		if b.r.AtLeast("0.5.14") && b.spec.topk <= 1 && !x.NoDedup {
			window = int64(x.ConvDim) * max(0, d+int64(x.ConvTaps)-1) * int64(l.ConvBytes)
		}
		ts[2], ts[3] = tensor{ssm * d * layers, 1, verifyRows}, tensor{window * layers, 1, verifyRows}
	}
	if st.perSlot > 0 {
		ts[4] = tensor{st.perSlot, 1, slotRows}
	}
	return ts
}

// stateTP is the TP size that shards recurrent states.
func (b *builder) stateTP() int {
	if b.m.Linear.ModelTP {
		return b.par.TP
	}
	return b.par.AttentionTP
}

// stageStates is a slot over the layers of a stage.
func (b *builder) stageStates(s span) int64 {
	return b.m.Linear.BytesPerRequest(b.stateTP(), int(s.count(b.m.Linear.Layers)))
}

// draftTensors lists the draft's own pool: as many tokens as the target's.
func (b *builder) draftTensors() (ts [maxTensors]tensor) {
	d := b.draft
	if d == nil || !b.spec.on() || b.spec.algorithm == "NGRAM" || d.IsDeepseekV4 {
		return ts // DeepSeek-V4's draft is inside the cell
	}
	n := int64(max(1, d.DraftLayers()))
	switch {
	case b.spec.blockDraft():
		n = int64(max(1, d.NumHiddenLayers))
		ts[0], ts[1] = b.keysAndValues(int64(d.KVHeads(b.blockDraftTP())), d.HeadDim, d.VHeadDim, n, totalRows)
	case d.AttentionArch == modelcfg.MLA:
		row := int64(d.KVLoraRank + d.QKRopeHeadDim)
		if d.IsDSA && b.m.IsDSA {
			row = b.latentDim()
			ts[1] = tensor{b.indexRow(), n, pagedRows}
		}
		ts[0] = tensor{row * b.kv.Bytes, n, totalRows}
	default:
		ts[0], ts[1] = b.keysAndValues(int64(d.KVHeads(b.par.AttentionTP)), d.HeadDim, d.VHeadDim, n, totalRows)
	}
	return ts
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
