package weights

import "slices"

var (
	_ = register(beam, "BeamForCausalLM")
	_ = register(iquest, "IQuestQ1ForCausalLM")
)

// kindOf returns a layer's entry of a list in the config, or def.
func (b *Builder) kindOf(key string, l int64, def string) string {
	if v := b.T.Strs(key); l < int64(len(v)) {
		return v[l]
	}
	return def
}

// beam has gated attention, four norms a layer, and a router in fp32; its
// first layers are dense. Only sliding layers turn.
func beam(b *Builder) {
	hidden, h := b.gqaHeads(128)
	n, inter := b.need("num_experts"), b.need("moe_intermediate_size")
	ranks := b.Layout.AttnTP
	b.at("model", -1)
	b.embed(ranks, hidden)
	r := b.textRope(h.dim, 1<<20, 10000)
	r.scaling = nil
	b.rope(r)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.gqa(ranks, hidden, h)
		b.column("self_attn.gate_proj", Attention, ranks, hidden, mul(h.q, h.dim))
		b.param("self_attn.gate_bias", Router, BF16, h.q/max(ranks, 1))
		b.norms(h.dim, h.dim)
		def := "sparse"
		if l < 3 {
			def = "dense"
		}
		if b.kindOf("mlp_layer_types", l, def) == "dense" {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		} else {
			b.router("mlp.gate", n, hidden, FP32)
			b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
			b.experts("mlp.experts", n, hidden, inter)
		}
		b.norms(hidden, hidden, hidden, hidden)
	}
	b.finish(hidden, false)
}

// iquest has a learned key per KV head as a sink, norms after attention too,
// and one after the first layer's MLP.
func iquest(b *Builder) {
	hidden, h := b.gqaHeads(128)
	n, inter := b.need("num_experts"), b.need("intermediate_size")
	ranks, kv := b.Layout.AttnTP, b.kvSplit(h.kv, b.Layout.AttnTP)
	dense := b.T.Ints("mlp_only_layers")
	if !b.T.Has("mlp_only_layers") {
		dense = []int64{0}
	}
	b.at("model", -1)
	b.embed(b.Layout.TP, hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.layers", int(l))
		b.norms(hidden, hidden, hidden)
		b.gqa(ranks, hidden, h)
		b.norms(h.dim, h.dim)
		b.iquestRope(l, h.dim)
		if b.flag("enable_sink_attention", true) {
			b.param("self_attn.sink_k", Attention, BF16, kv, h.dim)
		}
		if slices.Contains(dense, l) {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("dense_intermediate_size"))
		} else {
			b.router("mlp.gate", n, hidden, FP32)
			b.experts("mlp.experts", n, hidden, inter)
		}
		if l == 0 {
			b.norms(hidden)
		}
	}
	b.at("model", -1)
	b.norms(hidden)
	b.at("", -1)
	if !b.tied() {
		b.table("lm_head", LMHead, b.Layout.TP, b.need("vocab_size"), hidden)
	}
}

// iquestRope adds the tables of full and of sliding layers, which turn at
// another base: full in the first layer, sliding in the third.
func (b *Builder) iquestRope(l, dim int64) {
	r := b.textRope(dim, 524288, 1000000)
	r.dim = b.size(32, "rotary_dim")
	switch l {
	case 0:
		b.rope(r)
	case 2:
		if b.flag("use_sliding_window", true) && b.flag("use_hybrid_layers", true) {
			r.base, _ = b.T.Float("swa_rope_theta")
			r.variant = "sliding"
			b.rope(r)
		}
	}
}
