package weights

var (
	_ = register(gemma2, "Gemma2ForCausalLM")
	_ = register(gemma3, "Gemma3ForConditionalGeneration", "Gemma3ForCausalLM")
)

// wholeEmbed adds an embedding that every rank holds in full, unpadded.
func (b *Builder) wholeEmbed(hidden int64) {
	if b.Layout.First() {
		b.param("embed_tokens", Embedding, BF16, b.need("vocab_size"), hidden)
	}
}

func gemma2(b *Builder) {
	hidden, h := b.gqaHeads(256)
	h.bias = b.flag("attention_bias", false)
	h.outBias = h.bias
	ranks, inter := b.Layout.TP, b.need("intermediate_size")
	b.at("model", -1)
	b.embed(ranks, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.gqa(ranks, hidden, h)
		if l == from {
			b.rope(b.textRope(h.dim, 8192, 10000))
		}
		b.mlp("mlp", DenseMLP, ranks, hidden, inter)
		b.gemmaNorms(hidden, hidden, hidden, hidden)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.gemmaNorms(hidden)
	}
}

func gemma3(b *Builder) {
	b.siglip()
	hidden, h := b.gqaHeads(256)
	h.bias = b.flag("attention_bias", false)
	h.outBias = h.bias
	ranks, inter := b.Layout.TP, b.need("intermediate_size")
	b.at("language_model.model", -1)
	b.wholeEmbed(hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("language_model.model.layers", int(l))
		b.gqa(ranks, hidden, h)
		if l == from { // one table for sliding, one for full attention
			b.ropeTables(b.size(131072, "max_position_embeddings"), h.dim, "default")
			b.ropeTables(b.size(131072, "max_position_embeddings"), h.dim, "default")
		}
		b.norms(h.dim, h.dim)
		b.mlp("mlp", DenseMLP, ranks, hidden, inter)
		b.norms(hidden, hidden, hidden, hidden)
	}
	b.at("language_model.model", -1)
	if b.Layout.Last() {
		b.norms(hidden)
	}
}

// siglip is Gemma-3's tower and its projector.
func (b *Builder) siglip() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		return
	}
	t := b.tower(v)
	ranks := b.Layout.TP
	hidden, heads, inter := t.size(1152, "hidden_size"), t.size(16, "num_attention_heads"), t.size(4304, "intermediate_size")
	patch := max(t.size(14, "patch_size"), 1)
	side := t.size(896, "image_size") / patch
	positions := mul(side, side)
	t.param("patch_embedding", Vision, BF16, hidden, 3, patch, patch)
	t.param("patch_embedding.bias", Vision, BF16, hidden)
	t.table("position_embedding", Vision, ranks, positions, hidden)
	t.param("position_ids", Vision, I64, positions)
	n := t.size(27, "num_hidden_layers")
	for range min(n, maxLayers) {
		t.layerNorms(hidden, hidden)
		t.attention(hidden, heads, hidden/max(heads, 1))
		t.pair("mlp.fc1", "mlp.fc2", ranks, hidden, inter, hidden)
	}
	t.layerNorms(hidden)
	t.param("multi_modal_projector", Vision, BF16, hidden, b.need("hidden_size"))
	t.param("mm_soft_emb_norm", Vision, BF16, hidden)
}
