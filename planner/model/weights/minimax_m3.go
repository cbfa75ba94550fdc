package weights

var _ = register(minimaxM3, "MiniMaxM3ForCausalLM", "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration")

// minimaxM3 has sparse attention with index heads in most layers.
func minimaxM3(b *Builder) {
	b.clipVision()
	hidden, h := b.gqaHeads(0)
	n, inter := b.need("num_local_experts"), b.need("intermediate_size")
	sparse, moe := b.T.Sub("sparse_attention_config").Ints("sparse_attention_freq"), b.T.Ints("moe_layer_freq")
	b.at("model", -1)
	b.embed(b.Layout.AttnTP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.gqa(b.Layout.AttnTP, hidden, h)
		if l == from {
			b.rope(b.minimaxRope(h.dim))
		}
		if at(sparse, l, 0) != 0 {
			b.indexHeads(l, hidden)
		}
		b.normPair(h.dim)
		if at(moe, l, 1) != 0 {
			b.sharedMoE("mlp", hidden, n, inter, b.size(0, "n_shared_experts"), b.Rules.FuseShared, BF16)
		} else {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.size(inter, "dense_intermediate_size"))
		}
		b.m3Norms(hidden, hidden)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.m3Norms(hidden)
	}
	b.at("", -1)
	b.head(hidden, false)
}

// at returns entry i of a list, def beyond its end.
func at(list []int64, i, def int64) int64 {
	if i >= 0 && i < int64(len(list)) {
		return list[i]
	}
	return def
}

func (b *Builder) m3Norms(widths ...int64) {
	if b.flag("use_gemma_norm", false) {
		b.gemmaNorms(widths...)
		return
	}
	b.norms(widths...)
}

// normPair adds the norms of q and k, per head or over all of them.
func (b *Builder) normPair(dim int64) {
	if b.T.Str("qk_norm_type") == "per_head" {
		b.m3Norms(dim, dim)
		return
	}
	q := b.need("num_attention_heads")
	b.norms(mul(q, dim), mul(b.size(q, "num_key_value_heads"), dim))
}

// indexHeads adds the heads that choose blocks: one key head, and values only
// where the layer uses them.
func (b *Builder) indexHeads(l, hidden int64) {
	s := b.T.Sub("sparse_attention_config")
	heads, dim := s.IntOr("sparse_num_index_heads", 1), s.IntOr("sparse_index_dim", 128)
	if heads < 1 || dim < 1 || heads > maxSize || dim > maxSize {
		b.fail(&ConfigError{"sparse_attention_config", "out of range"})
		return
	}
	ranks := min(b.Layout.AttnTP, heads)
	parts := b.split("index heads", heads, ranks) + 1
	off := at(s.Ints("sparse_disable_index_value"), l, 0) != 0
	if !off {
		parts++
	}
	b.add(Module{Name: Name{Leaf: "self_attn.index_qkv_proj"}, Group: Indexer, Kind: Linear, Out: mul(parts, dim), In: hidden, Parts: 3, Split: splitText(ranks)})
	if !off {
		b.row("self_attn.index_o_proj", Indexer, ranks, mul(heads, dim), hidden)
	}
	copies := int64(1)
	if b.flag("use_gemma_norm", false) && b.Rules.GemmaNorms {
		copies = 2
	}
	b.param("self_attn.index_norms", Indexer, BF16, 2*copies, dim)
}

// clipVision is MiniMax's tower: CLIP layers without a position table, a
// projector and a merger of patches, all split.
func (b *Builder) clipVision() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		return
	}
	t := b.tower(v)
	b.at("vision_tower", -1)
	hidden, heads, inter := t.need("hidden_size"), t.need("num_attention_heads"), t.need("intermediate_size")
	patch, comp := t.size(14, "patch_size"), v.Sub("img_token_compression_config")
	t.param("patch_embedding", Vision, BF16, hidden, 3, max(comp.IntOr("temporal_patch_size", 1), 1), mul(patch, patch))
	t.layerNorms(hidden)
	for range t.layers("num_hidden_layers") {
		t.layerNorms(hidden, hidden)
		t.attention(hidden, heads, hidden/max(heads, 1))
		t.pair("mlp.fc1", "mlp.fc2", t.ranks, hidden, inter, hidden)
	}
	t.layerNorms(hidden)
	text := b.need("hidden_size")
	mid := text
	if n, ok := b.C.Top.Int("projector_hidden_size"); ok {
		mid = b.bounded("projector_hidden_size", n)
	}
	unit := max(comp.IntOr("spatial_merge_size", 2), 1)
	t.pair("linear_1", "linear_2", t.ranks, hidden, mid, text)
	t.pair("linear_1", "linear_2", t.ranks, mul(text, mul(unit, unit)), mid, text)
}
