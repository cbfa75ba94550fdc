package weights

// State-space models: Mamba, Falcon-Mamba, Mamba-2 and Falcon-H1, which runs a
// Mamba-2 mixer beside attention in every layer.

var (
	_ = register(mamba1, "MambaForCausalLM", "FalconMambaForCausalLM")
	_ = register(mamba2LM, "Mamba2ForCausalLM")
	_ = register(falconH1, "FalconH1ForCausalLM")
)

// tiedByDefault is tied for classes whose config ties unless told otherwise.
func (b *Builder) tiedByDefault() bool {
	return b.tied() || !b.T.Has("tie_word_embeddings")
}

// mixerLayers runs body for every layer, each behind one norm.
func (b *Builder) mixerLayers(hidden int64, body func()) {
	b.at("model", -1)
	b.embed(b.Layout.TP, hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.layers", int(l))
		b.norms(hidden)
		body()
	}
	b.at("model", -1)
	b.norms(hidden)
	b.at("", -1)
}

func mamba1(b *Builder) {
	hidden, inter := b.need("hidden_size"), b.need("intermediate_size")
	state, kernel := b.size(16, "state_size"), b.size(4, "conv_kernel")
	rank := b.size(up(hidden, 16), "time_step_rank")
	ranks := b.Layout.TP
	bias, conv := b.flag("use_bias", false), b.flag("use_conv_bias", true)
	b.mixerLayers(hidden, func() {
		local := b.split("mamba width", inter, ranks)
		b.column("mixer.in_proj", LinearAttention, ranks, hidden, inter, inter).bias(bias)
		b.column("mixer.conv1d", LinearAttention, ranks, kernel, inter).bias(conv).raw()
		b.row("mixer.x_proj", LinearAttention, ranks, inter, rank+2*state)
		b.column("mixer.dt_proj", LinearAttention, ranks, rank, inter).bias(true)
		b.param("mixer.A_log", LinearAttention, FP32, local, state)
		b.param("mixer.D", LinearAttention, BF16, local)
		b.param("mixer.dt_bias_zero", LinearAttention, BF16, local)
		b.row("mixer.out_proj", LinearAttention, ranks, inter, hidden).bias(bias)
	})
	// A tied head is made before it is given the embedding.
	b.table("lm_head", LMHead, ranks, b.need("vocab_size"), hidden).Dropped = b.tiedByDefault()
}

func mamba2LM(b *Builder) {
	hidden, heads := b.need("hidden_size"), b.need("num_heads")
	s := mamba2{heads: heads, groups: b.size(8, "n_groups"), state: b.size(128, "state_size"), kernel: b.size(4, "conv_kernel"),
		bias: b.flag("use_bias", false), convBias: b.flag("use_conv_bias", true), plain: !b.flag("rms_norm", true)}
	s.inner = b.size(mul(heads, b.size(64, "head_dim")), "intermediate_size")
	b.mixerLayers(hidden, func() { b.mixer2("mixer", b.Layout.TP, hidden, s) })
	if !b.tied() {
		b.table("lm_head", LMHead, b.Layout.TP, b.need("vocab_size"), hidden)
	}
}

func falconH1(b *Builder) {
	hidden, h := b.gqaHeads(0)
	heads, inter := b.need("mamba_n_heads"), b.need("intermediate_size")
	s := mamba2{heads: heads, groups: b.size(1, "mamba_n_groups"), state: b.size(256, "mamba_d_state"), kernel: b.size(4, "mamba_d_conv"),
		bias: b.flag("mamba_proj_bias", false), convBias: b.flag("mamba_conv_bias", true), plain: !b.flag("mamba_rms_norm", false)}
	s.inner = b.size(mul(b.size(2, "mamba_expand"), hidden), "mamba_d_ssm")
	ranks, tp := b.Layout.AttnTP, b.Layout.TP
	b.at("model", -1)
	b.embed(ranks, hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.layers", int(l))
		if l == 0 {
			b.rope(b.textRope(h.dim, 8192, 10000))
		}
		b.gqa(ranks, hidden, h)
		groups := b.mixer2("mamba", ranks, hidden, s)
		b.mlp("feed_forward", DenseMLP, tp, hidden, inter)
		b.norms(hidden, hidden, h.dim, h.dim)
		b.param("mup_vector", Other, BF16, (mul(2, s.inner)+mul(2, mul(groups, s.state))+heads)/tp)
	}
	b.at("model", -1)
	b.norms(hidden)
	b.at("", -1)
	if !b.tied() {
		// Computes its logits in fp32.
		b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden).raw().DType = FP32
	}
}
