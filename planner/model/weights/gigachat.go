package weights

var (
	_ = register(gigachat, "GigaChat35ForCausalLM")
	_ = register(gigachatNextN, "GigaChat35ForCausalLMNextN")
)

// gatedNormRank is the rank of the gate beside a norm.
const gatedNormRank = 16

// gigaNorms adds norms as norm_type has them: gated ones carry two thin
// matrices.
func (b *Builder) gigaNorms(widths ...int64) {
	kind := b.T.Str("norm_type")
	for _, w := range widths {
		switch kind {
		case "LlamaRMSNorm":
			b.norms(w)
		case "ZeroCenteredRMSNorm":
			b.gemmaNorms(w)
		default:
			b.norms(w)
			b.param("norm.gate_up_lowrank", Norms, BF16, gatedNormRank, w)
			b.param("norm.gate_down_lowrank", Norms, BF16, w, gatedNormRank)
		}
	}
}

// gigaLatent adds latent attention with an output gate.
func (b *Builder) gigaLatent(hidden int64, s mlaSpec) {
	b.latentParts(hidden, s, nil, func(w ...int64) { b.gigaNorms(w...) })
	if b.flag("gated_attention", true) {
		b.column("self_attn.attn_gate", Attention, b.Layout.AttnTP, hidden, mul(s.heads, s.v))
	}
}

// staleLayers is how many replaced attentions are about: they refer to
// themselves, so Python frees them only when it collects cycles.
const staleLayers = 7

// collect gives up the oldest replaced modules but for keep.
func (b *Builder) collect(keep int) {
	for len(b.stale) > keep {
		b.drop(b.stale[0][0], b.stale[0][1])
		b.stale = b.stale[1:]
	}
}

// gigaLayer is built on a layer of DeepSeek's, whose attention and norms are
// made first and then replaced.
func (b *Builder) gigaLayer(l, hidden int64, s mlaSpec, linear, sparse bool) {
	from := len(b.mods)
	b.latent(hidden, s, nil)
	attn := len(b.mods)
	if l == 0 {
		// get_rope is asked once more, in other words, and keeps both tables.
		b.rope(b.mlaRope(s.rope))
		b.mods[len(b.mods)-1].Group = Unlisted
	}
	if sparse {
		b.sharedMoE("mlp", hidden, b.need("n_routed_experts"), b.need("moe_intermediate_size"), b.size(2, "n_shared_experts"), false, BF16)
	} else {
		b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
	}
	if linear {
		b.gigaDelta(hidden)
	} else {
		b.gigaLatent(hidden, s)
		b.mlaRopes(s.rope)
	}
	b.gigaNorms(hidden, hidden)
	if t := b.T.Str("layernorm_type"); t != "pre" {
		b.gigaNorms(hidden, hidden)
	}
	b.stale = append(b.stale, [2]int{from, attn})
	b.collect(staleLayers)
}

// gigaDelta is a gated-delta layer; its projections count as attention.
func (b *Builder) gigaDelta(hidden int64) {
	from := len(b.mods)
	b.deltaNet(hidden)
	for i := from; i < len(b.mods); i++ {
		switch m := &b.mods[i]; m.Name.Leaf {
		case "linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba", "linear_attn.out_proj":
			m.Group = Attention
		}
	}
}

func gigachat(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	b.at("model", -1)
	b.embed(b.Layout.TP, hidden)
	n, freq := b.size(64, "n_routed_experts"), max(b.size(1, "moe_layer_freq"), 1)
	full := map[int64]bool{}
	for _, l := range b.T.Ints("full_attention_layers") {
		full[l] = true
	}
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		kind := b.kindOf("layer_types", l, "")
		linear := kind == "linear_attention" || kind == "" && !full[l]
		b.gigaLayer(l-from, hidden, s, linear, n > 0 && l >= b.size(1, "first_k_dense_replace") && l%freq == 0)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.gigaNorms(hidden)
	}
	b.at("", -1)
	b.head(hidden, false)
	b.collect(0)
}

func gigachatNextN(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	b.at("model", -1)
	b.table("embed_tokens", Embedding, b.Layout.TP, b.need("vocab_size"), hidden)
	b.gigaNorms(hidden, hidden)
	b.column("eh_proj", Other, 1, mul(2, hidden), hidden).raw()
	b.at("model.decoder", -1)
	b.gigaLayer(0, hidden, s, false, b.flag("nextn_is_sparse", false))
	b.gigaNorms(hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
	b.collect(0)
}
