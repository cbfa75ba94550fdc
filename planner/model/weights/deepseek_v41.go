package weights

import "slices"

var _ = register(deepseekV41, "DeepseekV41ForCausalLM")

// deepseekV41 is DeepSeek-V4 with keys that a few layers compress for the
// rest, tables of n-grams in some layers, and a vision tower.
func deepseekV41(b *Builder) {
	s := b.v4()
	seen := b.v41Vision(s.hidden)
	b.at("model", -1)
	ranks := b.Layout.TP
	if b.Layout.DPAttention {
		ranks = 1
	}
	b.embed(ranks, s.hidden)
	keys, index, grams := b.T.Ints("kv_source_layer_ids"), b.T.Ints("index_source_layer_ids"), b.T.Ints("engram_layer_ids")
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	roped := map[bool]bool{}
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		ratio := s.ratio(l)
		b.v4Projections(s, b.Rules.PlainOutputA)
		if squeezed := ratio != 0; !roped[squeezed] {
			roped[squeezed] = true
			b.v4Ropes(s.rope)
		}
		if ratio == 1 || ratio == 2 {
			if slices.Contains(keys, l) {
				b.whole("self_attn.compressor.wkv_gate", Attention, s.hidden, mul(ratio, s.dim)).raw()
				b.norms(s.dim)
			}
			if slices.Contains(index, l) {
				b.v41Indexer(s, slices.Contains(keys, l))
			}
		}
		b.v4MoE(l, s.hidden)
		if seen {
			b.param("mlp.gate.vl_correction_bias", Router, FP32, b.need("n_routed_experts"))
		}
		b.norms(s.hidden, s.hidden)
		b.v4Mixing(s)
		b.v41MixingCopies(s)
		if i := slices.Index(grams, l); i >= 0 {
			b.engram(s, int64(i))
		}
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.norms(s.hidden)
	}
	if len(grams) > 0 {
		b.param("engram_hasher.token_map", Other, I64, b.need("vocab_size"))
	}
	b.at("", -1)
	b.head(s.hidden, false)
}

// v41Indexer scores compressed positions; layers that own keys make theirs.
func (b *Builder) v41Indexer(s v4Spec, owns bool) {
	n, d := b.need("index_n_heads"), b.need("index_head_dim")
	b.whole("self_attn.indexer.wq_b", Indexer, s.qLora, mul(n, d))
	b.whole("self_attn.indexer.weights_proj", Indexer, s.hidden, n).raw()
	if owns {
		b.whole("self_attn.indexer.wk", Indexer, s.dim, d).raw()
		b.param("self_attn.indexer.k_norm", Indexer, BF16, d)
	}
}

// v41MixingCopies adds the copies of the hyper-connections' matrices, split
// into parts that tensor cores take, for the one shape that has such kernels.
func (b *Builder) v41MixingCopies(s v4Spec) {
	rows, cols := mul(2+s.hc, s.hc), mul(s.hc, s.hidden)
	if rows != 24 || cols != 20480 {
		return
	}
	for _, g := range []Group{Attention, DenseMLP} {
		for range b.Rules.MixingFP32 {
			b.param("hc_fn.tf32_part", g, FP32, rows, cols).Late = true
		}
		for range b.Rules.MixingBF16 {
			b.param("hc_fn.bf16_part", g, BF16, rows, cols).Late = true
		}
	}
}

// engram adds a layer's table of n-grams, its rows spread over the ranks, and
// what mixes a looked-up row in.
func (b *Builder) engram(s v4Spec, i int64) {
	sizes := b.T.Ints("engram_num_embeddings")
	if i >= int64(len(sizes)) {
		b.fail(&ConfigError{"engram_num_embeddings", "shorter than engram_layer_ids"})
		return
	}
	dim := b.need("engram_head_dim")
	rows := up(b.bounded("engram_num_embeddings", sizes[i]), b.Layout.TP)
	if !b.Rules.LookupOffGPU {
		b.param("engram.embed.weight", LookupTables, FP8, rows, dim).Split = splitText(b.Layout.TP)
		b.param("engram.embed.scale", LookupTables, U8, rows, dim/32).Split = splitText(b.Layout.TP)
	}
	cols := mul(max(b.need("engram_max_ngram_size")-1, 0), b.need("engram_n_heads"))
	b.whole("engram.wkv", LookupTables, mul(cols, dim), mul(s.hidden, s.hc+1))
	b.param("engram.q_weight", LookupTables, BF16, s.hc, s.hidden)
	b.param("engram.k_weight", LookupTables, BF16, s.hc, s.hidden)
}

// v41Vision is the tower, in full on every rank, and what brings its output to
// the width of the text. It reports whether there is one.
func (b *Builder) v41Vision(text int64) bool {
	v := b.C.Top.Sub("vision_config")
	if v == nil || b.flag("language_model_only", false) {
		return false
	}
	t := b.tower(v)
	n := t.size(0, "num_hidden_layers")
	if n == 0 {
		return false
	}
	t.ranks = 1
	hidden, inter, patch := t.need("hidden_size"), t.need("intermediate_size"), t.size(14, "patch_size")
	t.whole("patch_embed.proj", Vision, mul(3*patch, patch), hidden).bias(true).raw()
	for range min(n, maxLayers) {
		t.param("norm1", Vision, FP32, hidden)
		t.attention(hidden, 1, hidden)
		t.param("norm2", Vision, FP32, hidden)
		t.whole("mlp.w1", Vision, hidden, 2*inter).raw()
		t.whole("mlp.w2", Vision, inter, hidden).raw()
	}
	t.param("norm", Vision, FP32, hidden)
	ratio := t.size(3, "downsample_ratio")
	b.at("aligner", -1)
	b.whole("w1", Other, mul(hidden, mul(ratio, ratio)), text).bias(true).raw()
	b.whole("w2", Other, text, text).bias(true).raw()
	b.param("image_marks", Other, BF16, 3, text)
	return true
}
