package pool

import (
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
)

// cell is what one token costs on a rank of a stage, by part.
type cell struct {
	kv      int64 // keys and values, or the latent
	indexer int64 // index keys of sparse attention
	layers  int64 // layers that own K and V here
}

func (c cell) bytes() int64 { return c.kv + c.indexer }

// fullLayers counts the layers of a stage that own K and V: all of them, or a
// hybrid's attention layers.
func (b *builder) fullLayers(s span) int64 {
	m := b.m
	if m.Linear != nil {
		if b.r.Before("0.5.7") {
			return int64(len(m.Linear.FullLayers)) // every stage is charged all of them
		}
		return s.count(m.Linear.FullLayers)
	}
	n := int64(s.end - s.start)
	if m.NumAttentionLayers > m.NumHiddenLayers && m.NumHiddenLayers > 0 {
		n = n * int64(m.NumAttentionLayers) / int64(m.NumHiddenLayers)
	}
	return n
}

// defaultCell prices a token in every pool but window and DeepSeek-V4 ones
// (DefaultPoolConfigurator._compute_cell_size; the same sums stood in the
// model runner before 0.5.11).
func (b *builder) defaultCell(s span) cell {
	m, n := b.m, b.fullLayers(s)
	c := cell{layers: n}
	switch {
	case m.AttentionArch == modelcfg.SSM:
	case m.AttentionArch == modelcfg.MLA:
		c.kv = b.latentBytes(n)
		if m.IsDSA && b.r.AtLeast("0.5.3.post1") {
			c.indexer = b.indexerBytes(s, n)
		}
	case m.Sparse != nil:
		return b.sparseCell(s, n)
	default:
		c.kv = b.headBytes(n)
		if m.QSA != nil && n > 0 {
			c.indexer = b.qsaBytes(n)
		}
	}
	return c
}

// headBytes is keys and values by head over n layers. V may be narrower than
// K from 0.5.7; before, both count head_dim.
func (b *builder) headBytes(n int64) int64 {
	m, heads := b.m, b.kvHeads
	dims := int64(m.HeadDim + m.VHeadDim)
	if b.r.Before("0.5.7") {
		dims = 2 * int64(m.HeadDim)
	}
	bytes := heads * dims * n * b.kv.Bytes
	switch {
	case b.kv.FP4:
		return b.fp4Bytes(bytes, heads, int64(m.HeadDim), n)
	case b.kv.MXFP8 && b.r.AtLeast("0.5.16"):
		bytes += heads * dims * n / 32
	}
	return bytes
}

// fp4Bytes prices packed 4-bit keys and values with their block scales.
func (b *builder) fp4Bytes(plain, heads, dim, n int64) int64 {
	r := b.r
	switch {
	case r.Before("0.5.5.post3"):
		return plain // an element of the packed type counts one byte
	case r.Before("0.5.16"):
		return plain/2 + heads*dim*n*2*b.kv.Bytes/16
	case r.Before("0.5.21"):
		// One dequantised layer is shared by all.
		return plain/2 + heads*dim*n*2*b.kv.Bytes/16 + heads*dim*2*b.kv.Bytes
	}
	data := heads * (dim / 2) * n * 2
	if b.kv.Name != "nvfp4" {
		return data + heads*dim/16*n*2
	}
	scales := heads * (dim / 16) * n * 2
	dequant := b.prefillBackend == "flashinfer"
	native := b.prefillBackend == "trtllm_mha" || b.decodeBackend == "trtllm_mha"
	onSM100 := b.card.Major == 10
	if dequant || (native && !onSM100) {
		data += scales
	}
	if native && onSM100 {
		data += scales
	}
	if dequant {
		data += heads * dim * 2
	}
	return data
}

// latentDim is the width of MLA's latent as stored: sparse attention in FP8
// with a scaled layout keeps scales per 128 values and the rotary part in
// bfloat16 (calculate_mla_kv_cache_dim).
func (b *builder) latentDim() int64 {
	m := b.m
	plain := int64(m.KVLoraRank + m.QKRopeHeadDim)
	if !m.IsDSA || b.kv.Name != "fp8_e4m3" || b.rawDSALayout() {
		return plain
	}
	lora := int64(m.KVLoraRank)
	return lora + lora/128*4 + int64(m.QKRopeHeadDim)*2
}

// rawDSALayout reports whether the sparse-attention backends read rows without
// scales.
func (b *builder) rawDSALayout() bool {
	prefill, decode := b.dsaBackends()
	switch mode := b.a.Str("disaggregation_mode"); {
	case b.r.Before("0.5.9"):
		return false
	case mode == "decode" && b.r.AtLeast("0.5.20"):
		return decode == "trtllm"
	case mode == "prefill" && b.r.AtLeast("0.5.20"):
		return prefill == "trtllm"
	case prefill == "trtllm" || decode == "trtllm":
		return true
	}
	return b.r.AtLeast("0.5.22") && prefill == "tilelang" && decode == "tilelang"
}

// dsaBackends reads the backends under their name of the release.
func (b *builder) dsaBackends() (prefill, decode string) {
	if b.a.Has("dsa_prefill_backend") || b.a.Has("dsa_decode_backend") {
		return b.a.Str("dsa_prefill_backend"), b.a.Str("dsa_decode_backend")
	}
	return b.a.Str("nsa_prefill_backend"), b.a.Str("nsa_decode_backend")
}

// latentBytes is the latent over n layers as the budget counts it: the scaled
// layout only from 0.5.17 on, though it was allocated before.
func (b *builder) latentBytes(n int64) int64 {
	m := b.m
	dim := int64(m.KVLoraRank + m.QKRopeHeadDim)
	charged := dim
	if b.r.AtLeast("0.5.17") {
		charged = b.latentDim()
	}
	bytes := charged * n * b.kv.Bytes
	if b.kv.FP4 && b.r.AtLeast("0.5.4.post3") {
		bytes = bytes/2 + dim/16*n*b.kv.Bytes
	}
	return bytes
}

// indexRow is one index key with its scales.
func (b *builder) indexRow() int64 {
	hi := int64(b.m.IndexHeadDim)
	row := hi + hi/128*4
	if b.r.AtLeast("0.5.22") {
		row = ceilDiv(row, int64(b.m.IndexKPool))
	}
	return row
}

// indexerBytes is the index keys over the n layers of a stage that keep them.
func (b *builder) indexerBytes(s span, n int64) int64 {
	if b.elidesIndexKeys() {
		n = b.ownIndexLayers(s, n)
	}
	bytes := b.indexRow() * n * b.hostRatio("0.5.17")
	if b.r.AtLeast("0.5.22") {
		bytes *= int64(b.par.DCP)
	}
	return bytes
}

// elidesIndexKeys reports whether layers that reuse an earlier layer's top-k
// keep no index keys of their own (_should_elide_dsa_index_k).
func (b *builder) elidesIndexKeys() bool {
	a, r := b.a, b.r
	switch {
	case r.Before("0.5.18") || b.m.SkipsTopK == nil || a.Bool("enable_hisparse"):
		return false
	case r.AtLeast("0.5.20") && a.Bool("enable_unified_cache_external_linker"):
		return false
	case r.Before("0.5.22"):
		return !a.Bool("enable_hierarchical_cache") && !b.disaggregated()
	}
	return true
}

// ownIndexLayers counts the layers with index keys of their own. A hybrid asks
// for its attention layers by their number in the model (0.5.20 on).
func (b *builder) ownIndexLayers(s span, n int64) int64 {
	skips := b.m.SkipsTopK
	own := int64(0)
	count := func(layer int) {
		if layer >= len(skips) || !skips[layer] {
			own++
		}
	}
	if l := b.m.Linear; l != nil && b.r.AtLeast("0.5.20") {
		for _, layer := range l.FullLayers {
			if s.holds(layer) {
				count(layer)
			}
		}
		return own
	}
	for i := range int(n) {
		count(s.start + i)
	}
	return own
}

// sparseCell is MiniMax-M3: K and V of all layers and, in sparse layers, index
// keys and mostly values.
func (b *builder) sparseCell(s span, n int64) cell {
	m, sp := b.m, b.m.Sparse
	sparse, keyOnly := s.count(sp.SparseLayers), s.count(sp.KeyOnlyLayers)
	dense := n - sparse
	heads, dim := int64(m.KVHeads(b.par.AttentionTP)), int64(m.HeadDim)
	if b.nativeNVFP4() {
		row := pageBytes(heads, dim, int64(sp.IndexDim))
		return cell{kv: sparse * row / msaPage, layers: n}
	}
	ratio := b.hostRatio("0.5.21")
	kv := (dense*ratio + sparse) * 2 * heads * dim * b.kv.Bytes
	index := ((sparse-keyOnly)*2 + keyOnly) * int64(sp.IndexDim) * b.sparseIndexBytes() * ratio
	return cell{kv: kv, indexer: index, layers: n}
}

// msaPage is the page of the native NVFP4 layout of MiniMax-M3.1.
const msaPage = 128

// pageBytes is one page of one sparse layer in that layout: values and their
// scales of K, V and the index, each rounded to 128 bytes.
func pageBytes(heads, dim, index int64) int64 {
	c := func(n int64) int64 { return ceilAlign(n, 128) }
	return 2*c(heads*msaPage*dim/2) + 2*c(heads*msaPage*dim/16) + c(msaPage*index/2) + c(msaPage*index/16)
}

// nativeNVFP4 reports MiniMax-M3.1's packed stack, which Blackwell runs.
func (b *builder) nativeNVFP4() bool {
	return b.r.AtLeast("0.5.23") && b.m.Quantization == "minimax_m3_nvfp4" && b.card.Major >= 10
}

// sparseIndexBytes is the element of an index key: the model's, or the KV
// cache's where the FP8 attention path reads it.
func (b *builder) sparseIndexBytes() int64 {
	model := int64(b.m.DTypeBytes)
	switch {
	case b.r.Before("0.5.21"):
		return model
	case b.fp8AttentionGEMM():
		return b.kv.Bytes
	case b.r.AtLeast("0.5.23") && b.card.SM() == 90 && b.kv.Name == "fp8_e4m3":
		return b.kv.Bytes
	}
	return model
}

// qsaBytes is Qwen4-Exp's compressed index over n attention layers.
func (b *builder) qsaBytes(n int64) int64 {
	q := b.m.QSA
	elem := int64(2)
	if b.r.AtLeast("0.5.22") && b.a.Str("qsa_indexer_dtype") == "fp8_e4m3" {
		elem = 1
	}
	return int64(q.KVHeads) * int64(q.HeadDim) * elem / int64(q.CompressRatio) * n
}
