package weights

var _ = register(nemotronH, "NemotronHForCausalLM")

// mamba2 is the shape of a Mamba-2 mixer.
type mamba2 struct {
	inner, heads, groups, state, kernel int64
	bias, convBias                      bool
	plain                               bool // no norm before the output
}

// mixer2 adds a Mamba-2 mixer under leaf, split by heads. Groups are repeated
// until every rank has one; it returns their number.
func (b *Builder) mixer2(leaf string, ranks, hidden int64, s mamba2) (groups int64) {
	groups = s.groups
	if groups%max(ranks, 1) != 0 {
		if groups != 1 {
			b.fail(&ShapeError{What: "mamba groups", Size: groups, Ranks: ranks, Why: "the ranks must divide the groups, unless there is one"})
		}
		groups = max(ranks, groups)
	}
	gs := mul(groups, s.state)
	n := b.split("mamba heads", s.heads, ranks)
	b.column(leaf+".conv1d", LinearAttention, ranks, s.kernel, s.inner, gs, gs).bias(s.convBias).raw()
	b.column(leaf+".in_proj", LinearAttention, ranks, hidden, s.inner, s.inner, gs, gs, s.heads).bias(s.bias)
	b.param(leaf+".A", LinearAttention, FP32, n)
	b.param(leaf+".D", LinearAttention, BF16, n)
	b.param(leaf+".dt_bias", LinearAttention, BF16, n)
	b.row(leaf+".out_proj", LinearAttention, ranks, s.inner, hidden).bias(s.bias)
	if !s.plain {
		b.norms(s.inner / max(ranks, 1))
	}
	return groups
}

// nemotronKinds returns a letter a layer: M mamba, * attention, E experts,
// - dense MLP.
func (b *Builder) nemotronKinds() string {
	if p := b.T.Str("hybrid_override_pattern"); p != "" {
		return p
	}
	letters := map[string]byte{"mamba": 'M', "attention": '*', "moe": 'E', "mlp": '-'}
	types := b.T.Strs("layers_block_type")
	out := make([]byte, 0, len(types))
	for _, t := range types {
		out = append(out, letters[t])
	}
	return string(out)
}

func nemotronH(b *Builder) {
	kinds := b.nemotronKinds()
	if n := len(kinds); n < 1 || n > maxLayers {
		b.fail(&ConfigError{"hybrid_override_pattern", "missing or out of range"})
		return
	}
	hidden := b.need("hidden_size")
	b.at("model", -1)
	b.embed(b.Layout.AttnTP, hidden)
	from, to := b.Layout.Layers(int64(len(kinds)))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.nemotronLayer(kinds[l], hidden)
		b.norms(hidden)
	}
	b.finish(hidden, false)
}

func (b *Builder) nemotronLayer(kind byte, hidden int64) {
	bias := b.flag("mlp_bias", false)
	switch kind {
	case 'M':
		heads := b.need("mamba_num_heads")
		b.mixer2("mixer", b.Layout.AttnTP, hidden, mamba2{inner: mul(heads, b.need("mamba_head_dim")), heads: heads, groups: b.need("n_groups"), state: b.need("ssm_state_size"),
			kernel: b.size(4, "conv_kernel"), bias: b.flag("use_bias", false), convBias: b.flag("use_conv_bias", true)})
	case '*':
		q := b.need("num_attention_heads")
		h := heads{q: q, kv: b.size(q, "num_key_value_heads"), dim: b.size(b.headDim(0, hidden, q), "attention_head_dim")}
		h.vdim = h.dim
		ranks := b.Layout.AttnTP
		n, kv := b.split("attention heads", h.q, ranks), b.kvSplit(h.kv, ranks)
		b.add(Module{Name: Name{Leaf: "mixer.qkv_proj"}, Group: Attention, Kind: Linear, Out: mul(n+2*kv, h.dim), In: hidden, Parts: 3, Split: splitText(ranks)})
		b.row("mixer.o_proj", Attention, ranks, mul(h.q, h.dim), hidden)
	case 'E':
		b.nemotronMoE(hidden, bias)
	default:
		b.plainMLP("mixer", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"), bias)
	}
}

// plainMLP is an MLP without a gate.
func (b *Builder) plainMLP(leaf string, g Group, ranks, hidden, inter int64, bias bool) {
	b.column(leaf+".up_proj", g, ranks, hidden, inter).bias(bias)
	b.row(leaf+".down_proj", g, ranks, inter, hidden).bias(bias)
}

// nemotronMoE adds ungated experts, which may work in a narrower space that
// every rank projects to and from.
func (b *Builder) nemotronMoE(hidden int64, bias bool) {
	n, shared := b.need("n_routed_experts"), b.size(0, "n_shared_experts")
	latent := b.size(0, "moe_latent_size")
	width := hidden
	if latent > 0 {
		width = latent
	}
	b.router("mixer.gate", n, hidden, BF16)
	b.param("mixer.gate.e_score_correction_bias", Router, FP32, n)
	b.experts("mixer.experts", n, width, b.need("moe_intermediate_size")).Plain = true
	if shared > 0 {
		b.plainMLP("mixer.shared_experts", SharedExperts, b.sharedRanks(), hidden, mul(shared, b.need("moe_shared_expert_intermediate_size")), bias)
	}
	if latent > 0 {
		b.whole("mixer.fc1_latent_proj", DenseMLP, hidden, latent).bias(bias)
		b.whole("mixer.fc2_latent_proj", DenseMLP, latent, hidden).bias(bias)
	}
}
