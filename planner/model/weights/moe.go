package weights

// Mixture-of-experts decoders of grouped-query attention.

var (
	_ = register(qwen3MoE, "Qwen3MoeForCausalLM")
	_ = register(mixtral, "MixtralForCausalLM")
	_ = register(gptOss, "GptOssForCausalLM")
	_ = register(glm4MoE, "Glm4MoeForCausalLM")
	_ = register(minimaxM2, "MiniMaxM2ForCausalLM")
)

// router adds a gate of n rows, in full on every rank.
func (b *Builder) router(leaf string, n, hidden int64, d DType) {
	m := b.whole(leaf, Router, hidden, n).raw()
	m.DType = d
}

// gqaHeads reads the attention's shape, with a class default for head_dim.
func (b *Builder) gqaHeads(defDim int64) (hidden int64, h heads) {
	hidden = b.need("hidden_size")
	h.q = b.need("num_attention_heads")
	h.kv = b.size(h.q, "num_key_value_heads")
	h.dim = b.headDim(defDim, hidden, h.q)
	h.vdim = h.dim
	return hidden, h
}

// decoder runs body for the layers of the stage, between embedding and head.
func (b *Builder) decoder(hidden int64, headStages bool, body func(l int64, first bool)) {
	b.at("model", -1)
	b.embed(b.Layout.AttnTP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		body(l, l == from)
	}
	b.finish(hidden, headStages)
}

func qwen3MoE(b *Builder) {
	hidden, h := b.gqaHeads(128)
	h.bias = b.flag("attention_bias", false)
	h.outBias = h.bias
	n, inter := b.need("num_experts"), b.need("moe_intermediate_size")
	b.decoder(hidden, true, func(l int64, first bool) {
		b.gqa(b.Layout.AttnTP, hidden, h)
		if first {
			b.rope(b.textRope(h.dim, 8192, 1000000))
		}
		b.norms(h.dim, h.dim)
		b.qwenMoE(l, hidden, n, inter)
		b.norms(hidden, hidden)
	})
}

// qwenMoE adds the experts of a layer, or a dense MLP in the layers that
// mlp_only_layers and decoder_sparse_step leave dense.
func (b *Builder) qwenMoE(l, hidden, n, inter int64) {
	if !b.sparse(l) {
		b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		return
	}
	b.experts("mlp.experts", n, hidden, inter)
	b.router("mlp.gate", n, hidden, BF16)
}

func (b *Builder) sparse(l int64) bool {
	for _, d := range b.T.Ints("mlp_only_layers") {
		if d == l {
			return false
		}
	}
	return (l+1)%max(b.size(1, "decoder_sparse_step"), 1) == 0
}

func mixtral(b *Builder) {
	hidden, h := b.gqaHeads(0)
	n, inter := b.need("num_local_experts"), b.need("intermediate_size")
	b.at("model", -1)
	b.embed(b.Layout.TP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.gqa(b.Layout.TP, hidden, h)
		if l == from {
			b.rope(b.textRope(h.dim, 32768, 10000))
		}
		b.router("block_sparse_moe.gate", n, hidden, BF16)
		b.experts("block_sparse_moe.experts", n, hidden, inter)
		b.norms(hidden, hidden)
	}
	b.finish(hidden, true)
}

func gptOss(b *Builder) {
	hidden, h := b.gqaHeads(64)
	h.bias = b.flag("attention_bias", true)
	h.outBias = h.bias
	n, inter := b.need("num_local_experts"), b.need("intermediate_size")
	b.decoder(hidden, true, func(l int64, first bool) {
		b.param("self_attn.sinks", Attention, BF16, b.split("attention heads", h.q, b.Layout.AttnTP))
		b.gqa(b.Layout.AttnTP, hidden, h)
		if first {
			b.rope(b.textRope(h.dim, 131072, 150000))
		}
		b.experts("mlp.experts", n, hidden, inter).bias(true)
		b.whole("mlp.router", Router, hidden, n).bias(true).raw()
		b.norms(hidden, hidden)
	})
}

func glm4MoE(b *Builder) {
	hidden, h := b.gqaHeads(0)
	h.bias = b.flag("attention_bias", false)
	n, inter, shared := b.need("n_routed_experts"), b.need("moe_intermediate_size"), b.size(0, "n_shared_experts")
	dense := b.size(1, "first_k_dense_replace")
	fused := b.Rules.FuseShared && shared == 1
	b.decoder(hidden, true, func(l int64, first bool) {
		b.gqa(b.Layout.AttnTP, hidden, h)
		if first {
			b.rope(b.textRope(h.dim, 131072, 1000000))
		}
		if b.flag("use_qk_norm", false) {
			b.norms(h.dim, h.dim)
		}
		if l < dense {
			b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
		} else {
			b.sharedMoE("mlp", hidden, n, inter, shared, fused, b.Rules.RouterType)
		}
		b.norms(hidden, hidden)
	})
}

// sharedMoE adds DeepSeek's kind of experts: a router with a correction bias,
// the routed experts and the shared ones beside them or as one more of them.
func (b *Builder) sharedMoE(leaf string, hidden, n, inter, shared int64, fused bool, gate DType) {
	b.router(leaf+".gate", n, hidden, gate)
	b.param(leaf+".gate.e_score_correction_bias", Router, FP32, n)
	if fused {
		n += shared
	}
	b.experts(leaf+".experts", n, hidden, inter)
	if shared > 0 && !fused {
		b.mlp(leaf+".shared_experts", SharedExperts, b.sharedRanks(), hidden, mul(inter, shared))
	}
}

// sharedRanks returns over how many ranks a shared expert is split: every rank
// holds it whole where an all-to-all backend brings the tokens.
func (b *Builder) sharedRanks() int64 {
	if b.Layout.A2A {
		return 1
	}
	return b.Layout.TP
}

func minimaxM2(b *Builder) {
	hidden, h := b.gqaHeads(0)
	n, inter := b.need("num_local_experts"), b.need("intermediate_size")
	b.decoder(hidden, true, func(l int64, first bool) {
		b.gqa(b.Layout.AttnTP, hidden, h)
		if first {
			b.rope(b.minimaxRope(h.dim))
		}
		if b.flag("use_qk_norm", false) {
			q, kv := b.split("attention heads", h.q, b.Layout.AttnTP), b.kvSplit(h.kv, b.Layout.AttnTP)
			b.norms(mul(q, h.dim), mul(kv, h.dim))
		}
		b.experts("block_sparse_moe.experts", n, hidden, inter)
		b.router("block_sparse_moe.gate", n, hidden, FP32)
		b.param("block_sparse_moe.e_score_correction_bias", Router, FP32, n)
		b.norms(hidden, hidden)
	})
}

// minimaxRope: rotary_dim gives the width.
func (b *Builder) minimaxRope(dim int64) ropeSpec {
	r := b.textRope(dim, 196608, 10000)
	r.dim = b.size(r.dim, "rotary_dim")
	return r
}
