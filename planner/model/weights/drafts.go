package weights

// Draft models with checkpoints of their own, and prediction layers of classes
// whose target is elsewhere.

var (
	_ = register(eagle3, "LlamaForCausalLMEagle3")
	_ = register(dflash, "DFlashDraftModel")
	_ = register(glm4NextN, "Glm4MoeForCausalLMNextN")
	_ = register(mimoMTP, "MiMoMTP")
	_ = register(deepseekV4NextN, "DeepseekV4ForCausalLMNextN")
)

// eagle3 is one Llama layer fed with the embedding beside the hidden state,
// behind a projection of three of the target's hidden states; its head may
// cover a vocabulary of its own.
func eagle3(b *Builder) {
	hidden, h := b.gqaHeads(0)
	bias := b.flag("attention_bias", b.flag("bias", false))
	h.bias, h.outBias = bias, bias
	target := b.size(hidden, "target_hidden_size")
	ranks := b.Layout.TP
	b.at("model", -1)
	b.table("embed_tokens", Embedding, ranks, b.need("vocab_size"), hidden)
	b.column("fc", Other, 1, mul(3, target), hidden).raw()
	b.at("model.layers", 0)
	b.gqaFrom(ranks, mul(2, hidden), hidden, h)
	b.rope(b.textRope(h.dim, 8192, 10000))
	b.mlp("mlp", DenseMLP, ranks, hidden, b.need("intermediate_size"))
	b.norms(hidden, hidden, hidden, hidden)
	b.at("", -1)
	if !b.tied() {
		b.table("lm_head", LMHead, b.headRanks(), b.size(b.need("vocab_size"), "draft_vocab_size"), hidden)
	}
}

// dflash is a stack of Qwen3 layers over chosen hidden states of the target;
// it has neither embedding nor head.
func dflash(b *Builder) {
	hidden, h := b.gqaHeads(128)
	bias := b.flag("attention_bias", false)
	h.bias, h.outBias = bias, bias
	ranks, inter := b.Layout.TP, b.need("intermediate_size")
	n := b.layers("num_hidden_layers")
	for l := range n {
		b.at("layers", int(l))
		b.norms(hidden)
		b.gqa(ranks, hidden, h)
		b.norms(h.dim, h.dim)
		if l == 0 {
			b.rope(b.textRope(h.dim, 32768, 1000000))
		}
		b.norms(hidden)
		b.mlp("mlp", DenseMLP, ranks, hidden, inter)
	}
	b.at("", -1)
	b.norms(hidden, hidden)
	taps := int64(len(b.T.Sub("dflash_config").Ints("target_layer_ids")))
	if taps == 0 {
		taps = n
	}
	b.column("fc", Other, 1, mul(taps, hidden), hidden).raw()
}

func glm4NextN(b *Builder) {
	hidden, h := b.gqaHeads(0)
	h.bias = b.flag("attention_bias", false)
	n, inter, shared := b.need("n_routed_experts"), b.need("moe_intermediate_size"), b.size(0, "n_shared_experts")
	b.at("model", -1)
	b.table("embed_tokens", Embedding, b.Layout.AttnTP, b.need("vocab_size"), hidden)
	b.norms(hidden, hidden)
	b.column("eh_proj", Other, 1, mul(2, hidden), hidden).raw()
	b.at("model.decoder", -1)
	b.gqa(b.Layout.AttnTP, hidden, h)
	b.rope(b.textRope(h.dim, 131072, 1000000))
	if b.flag("use_qk_norm", false) {
		b.norms(h.dim, h.dim)
	}
	b.sharedMoE("mlp", hidden, n, inter, shared, b.Rules.FuseShared && shared == 1, b.Rules.RouterType)
	b.norms(hidden, hidden, hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
}

// mimoMTP is MiMo's prediction layer: one of Qwen2's behind a projection.
func mimoMTP(b *Builder) {
	hidden, h := b.gqaHeads(0)
	h.bias = true
	ranks := b.Layout.TP
	b.at("model", -1)
	b.table("embed_tokens", Embedding, ranks, b.need("vocab_size"), hidden)
	b.norms(hidden, hidden)
	b.column("input_proj", Other, 1, mul(2, hidden), hidden).raw()
	b.at("model.mtp_block", -1)
	b.gqa(ranks, hidden, h)
	b.rope(b.textRope(h.dim, 32768, 1000000))
	b.mlp("mlp", DenseMLP, ranks, hidden, b.need("intermediate_size"))
	b.norms(hidden, hidden, hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, ranks, b.need("vocab_size"), hidden)
}

// deepseekV4NextN is a layer of DeepSeek-V4's without compressed keys and
// without routing by token id, behind a projection each for the embedding and
// the hidden state.
func deepseekV4NextN(b *Builder) {
	s := b.v4()
	ranks := b.Layout.TP
	if b.Layout.DPAttention {
		ranks = 1
	}
	b.at("model", -1)
	b.table("embed_tokens", Embedding, ranks, b.need("vocab_size"), s.hidden)
	b.norms(s.hidden, s.hidden)
	b.param("hc_head", Other, FP32, mul(s.hc, mul(s.hc, s.hidden))+s.hc+1)
	b.whole("e_proj", Other, s.hidden, s.hidden)
	b.whole("h_proj", Other, s.hidden, s.hidden)
	b.at("model.decoder", -1)
	b.v4Attention(s, 0)
	b.v4Ropes(s.rope)
	b.v4MoE(maxLayers, s.hidden)
	b.norms(s.hidden, s.hidden)
	b.v4Mixing(s)
	b.norms(s.hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), s.hidden)
}
