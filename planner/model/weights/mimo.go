package weights

var (
	_ = register(mimoV2, "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM")
	_ = register(mimoV2MTP, "MiMoV2MTP")
)

// mimoHeads returns the attention of a full or a sliding layer.
func (b *Builder) mimoHeads(sliding bool) heads {
	key := func(k string) string {
		if sliding {
			return "swa_" + k
		}
		return k
	}
	h := heads{q: b.need(key("num_attention_heads")), kv: b.need(key("num_key_value_heads")), dim: b.need(key("head_dim")), bias: b.flag("attention_bias", false)}
	h.vdim = b.size(h.dim, key("v_head_dim"))
	return h
}

// mimoAttention adds attention, with sinks where the config asks for them.
func (b *Builder) mimoAttention(hidden int64, sliding bool) {
	h := b.mimoHeads(sliding)
	ranks := b.Layout.AttnTP
	b.gqa(ranks, hidden, h)
	r := b.textRope(h.dim, 32768, 10000)
	sink := "add_full_attention_sink_bias"
	if sliding {
		sink = "add_swa_attention_sink_bias"
		if v, ok := b.T.Float("swa_rope_theta"); ok {
			r.base = v
		}
	}
	b.rope(r)
	if b.flag(sink, false) {
		b.param("self_attn.attention_sink_bias", Attention, BF16, h.q/max(ranks, 1))
	}
}

func mimoV2(b *Builder) {
	hidden, n := b.need("hidden_size"), b.size(0, "n_routed_experts")
	if b.C.Top.Has("vision_config") && b.C.Top.Has("audio_config") {
		b.fail(&UnknownError{"vision and audio tower", "MiMo-V2"})
	}
	windows, sparse := b.T.Ints("hybrid_layer_pattern"), b.T.Ints("moe_layer_freq")
	b.at("model", -1)
	b.embed(b.Layout.AttnTP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.mimoAttention(hidden, l < int64(len(windows)) && windows[l] == 1)
		if l < int64(len(sparse)) && sparse[l] != 0 {
			b.router("mlp.gate", n, hidden, FP32)
			if b.T.Str("topk_method") == "noaux_tc" {
				b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
			}
			b.experts("mlp.experts", n, hidden, b.need("moe_intermediate_size"))
		} else {
			b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
		}
		b.norms(hidden, hidden)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.norms(hidden)
		b.at("", -1)
		b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
	}
}

// mimoV2MTP is a prediction layer: sliding attention and a dense MLP.
func mimoV2MTP(b *Builder) {
	hidden := b.need("hidden_size")
	b.at("model", -1)
	b.table("embed_tokens", Embedding, b.Layout.AttnTP, b.need("vocab_size"), hidden)
	b.norms(hidden, hidden)
	b.column("eh_proj", Other, 1, mul(2, hidden), hidden).raw()
	b.at("model.mtp_block", -1)
	b.mimoAttention(hidden, true)
	b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
	b.norms(hidden, hidden, hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
}
