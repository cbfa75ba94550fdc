package weights

var (
	_ = register(hunyuanV4, "HYV4ForCausalLM")
	_ = register(hunyuanV4NextN, "HYV4ForCausalLMNextN")
)

// hyAttention is DeepSeek's sparse latent attention with an output gate and a
// learned sink per head.
func (b *Builder) hyAttention(hidden int64, s mlaSpec, indexed, first bool) {
	var index func()
	if indexed {
		index = func() { b.hyIndexer(hidden, s) }
	}
	b.latent(hidden, s, index)
	if first {
		r := b.mlaRope(s.rope)
		b.rope(r)
	}
	ranks := b.Layout.AttnTP
	b.column("self_attn.linear_gate", Attention, ranks, hidden, mul(s.heads, s.v))
	b.param("self_attn.learnable_sink_param", Attention, FP32, s.heads/max(ranks, 1))
}

// hyIndexer is an interleaved indexer, its key and weight projections one.
func (b *Builder) hyIndexer(hidden int64, s mlaSpec) {
	n, d := b.size(16, "index_n_heads"), b.size(128, "index_head_dim")
	b.whole("self_attn.indexer.wq_b", Indexer, s.qLora, mul(n, d))
	b.whole("self_attn.indexer.wk_weights_proj", Indexer, hidden, d+n).raw()
	b.param("self_attn.indexer.k_norm", Indexer, FP32, d)
	b.param("self_attn.indexer.k_norm.bias", Indexer, FP32, d)
}

func (b *Builder) hyMoE(hidden int64) {
	b.sharedMoE("mlp", hidden, b.size(256, "n_routed_experts"), b.need("moe_intermediate_size"), b.size(1, "n_shared_experts"), false, FP32)
}

func hunyuanV4(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	streams := b.size(4, "hc_mult")
	b.oneStage()
	b.at("model", -1)
	b.embed(b.embedRanks(), hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.layers", int(l))
		def := "shared"
		if l == 0 || (l-1)%4 == 0 {
			def = "full"
		}
		b.hyAttention(hidden, s, b.kindOf("indexer_types", l, def) == "full", l == 0)
		b.norms(hidden, hidden)
		kind := "sparse"
		if l == 0 {
			kind = "dense"
		}
		if b.kindOf("mlp_layer_types", l, kind) == "dense" {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		} else {
			b.hyMoE(hidden)
		}
		for _, g := range []Group{Attention, DenseMLP} {
			b.param("hc_pre.hc_fn", g, FP32, 2*streams, mul(streams, hidden))
			b.param("hc_pre.hc_scale", g, FP32, 2)
			b.param("hc_pre.hc_base", g, FP32, 2*streams)
		}
	}
	b.at("model", -1)
	b.param("hc_head.hc_head_fn", Other, FP32, streams, mul(streams, hidden))
	b.param("hc_head.hc_head_scale", Other, FP32, 1)
	b.param("hc_head.hc_head_base", Other, FP32, streams)
	b.norms(hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
}

func hunyuanV4NextN(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	b.at("model", -1)
	b.table("embed_tokens", Embedding, b.embedRanks(), b.need("vocab_size"), hidden)
	b.norms(hidden, hidden)
	b.column("eh_proj", Other, 1, mul(2, hidden), hidden).raw()
	b.at("model.decoder", -1)
	b.hyAttention(hidden, s, true, true)
	b.norms(hidden, hidden)
	b.hyMoE(hidden)
	b.norms(hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
}
