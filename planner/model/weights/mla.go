package weights

// Multi-head latent attention: DeepSeek V2 and V3, Kimi K2, DSA models.

var (
	_ = register(deepseek, "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM", "Glm4MoeLiteForCausalLM")
	_ = register(deepseekNextN, "DeepseekV3ForCausalLMNextN", "GlmMoeDsaForCausalLMNextN", "Glm4MoeLiteForCausalLMNextN")
)

// mlaSpec is the shape of a latent attention.
type mlaSpec struct {
	heads, nope, rope, v int64
	qLora, kvLora        int64
}

func (b *Builder) mla() mlaSpec {
	return mlaSpec{heads: b.need("num_attention_heads"), nope: b.need("qk_nope_head_dim"), rope: b.size(0, "qk_rope_head_dim"), v: b.need("v_head_dim"),
		qLora: b.size(0, "q_lora_rank"), kvLora: b.need("kv_lora_rank")}
}

// latent adds the attention's modules: down projections in full on every rank,
// the rest split by heads.
func (b *Builder) latent(hidden int64, s mlaSpec, indexer func()) {
	b.latentParts(hidden, s, indexer, func(w ...int64) { b.norms(w...) })
}

// latentParts is latent with norms of another kind.
func (b *Builder) latentParts(hidden int64, s mlaSpec, indexer func(), norms func(...int64)) {
	ranks := b.Layout.AttnTP
	n := b.split("attention heads", s.heads, ranks)
	if s.qLora > 0 {
		b.whole("self_attn.fused_qkv_a_proj_with_mqa", Attention, hidden, s.qLora+s.kvLora+s.rope)
		norms(s.qLora)
		b.column("self_attn.q_b_proj", Attention, ranks, s.qLora, mul(s.heads, s.nope+s.rope))
	} else {
		b.column("self_attn.q_proj", Attention, ranks, hidden, mul(s.heads, s.nope+s.rope))
		b.whole("self_attn.kv_a_proj_with_mqa", Attention, hidden, s.kvLora+s.rope)
	}
	if indexer != nil {
		indexer()
	}
	b.column("self_attn.kv_b_proj", Attention, ranks, s.kvLora, mul(s.heads, s.nope+s.v))
	b.row("self_attn.o_proj", Attention, ranks, mul(s.heads, s.v), hidden)
	norms(s.kvLora)
	b.add(Module{Name: Name{Leaf: "self_attn.kv_b_proj"}, Group: Attention, Kind: Absorb, Experts: n, Out: s.nope, In: s.kvLora, Inter: s.v, Split: splitText(ranks)})
}

// mlaRope is the table of the rotary part; scaling goes under DeepSeek's name.
func (b *Builder) mlaRope(dim int64) ropeSpec {
	r := b.textRope(dim, 8192, 10000)
	r.dim = dim
	if r.scaling != nil && ropeType(r.scaling) == "yarn" {
		s := map[string]any{}
		for k, v := range r.scaling {
			s[k] = v
		}
		s["rope_type"] = "deepseek_yarn"
		delete(s, "type")
		r.scaling = s
	}
	return r
}

// indexer adds the lightning indexer of a DSA layer, in full on every rank.
func (b *Builder) indexer(hidden int64, s mlaSpec) {
	n, d := b.need("index_n_heads"), b.need("index_head_dim")
	b.whole("self_attn.indexer.wq_b", Indexer, s.qLora, mul(n, d))
	if b.flag("indexer_rope_interleave", false) && b.Rules.IndexerFused {
		b.whole("self_attn.indexer.wk_weights_proj", Indexer, hidden, d+n).raw()
	} else {
		b.whole("self_attn.indexer.wk", Indexer, hidden, d)
		b.whole("self_attn.indexer.weights_proj", Indexer, hidden, n).raw()
	}
	b.param("self_attn.indexer.k_norm", Indexer, FP32, d)
	b.param("self_attn.indexer.k_norm.bias", Indexer, FP32, d)
}

// dsa reports DeepSeek sparse attention.
func (b *Builder) dsa() bool { return b.T.Has("index_topk") }

// indexed reports whether a layer owns an indexer: layers may reuse the top-k
// of an earlier one (dsa_layer_skips_topk).
func (b *Builder) indexed(l int64) bool {
	if !b.Rules.IndexerOwners {
		return true
	}
	if types := b.T.Strs("indexer_types"); types != nil {
		return l >= int64(len(types)) || types[l] != "shared"
	}
	if p := b.T.Str("index_topk_pattern"); p != "" {
		return l >= int64(len(p)) || p[l] != 'S'
	}
	freq := b.size(1, "index_topk_freq")
	if freq <= 1 {
		return true
	}
	off := int64(1)
	if n, ok := b.T.Int("index_skip_topk_offset"); ok {
		off = n
	}
	return max(l-off+1, 0)%freq == 0
}

// embedRanks follows get_embedding_tp_kwargs.
func (b *Builder) embedRanks() int64 {
	if b.Rules.EmbedReplicated {
		return 1
	}
	return b.Layout.AttnTP
}

func deepseek(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	b.at("model", -1)
	b.embed(b.embedRanks(), hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.deepseekLayer("model.layers", l, hidden, s, l == from)
	}
	b.finish(hidden, false)
}

func (b *Builder) deepseekLayer(prefix string, l, hidden int64, s mlaSpec, first bool) {
	b.at(prefix, int(l))
	var index func()
	if b.dsa() && b.indexed(l) {
		index = func() { b.indexer(hidden, s) }
	}
	b.latent(hidden, s, index)
	if first {
		b.mlaRopes(s.rope)
	}
	b.deepseekMLP(l, hidden)
	b.norms(hidden, hidden)
}

// mlaRopes adds the tables of attention and indexer; they are one where both
// turn the same way.
func (b *Builder) mlaRopes(dim int64) {
	r := b.mlaRope(dim)
	r.variant = turning(b.flag("rope_interleave", true))
	if b.dsa() {
		i := r
		i.variant = turning(b.flag("indexer_rope_interleave", false))
		b.rope(i)
	}
	b.rope(r)
}

func turning(interleaved bool) string {
	if interleaved {
		return "interleaved"
	}
	return "neox"
}

// deepseekMLP adds the experts of a layer or its dense MLP.
func (b *Builder) deepseekMLP(l, hidden int64) {
	n := b.size(0, "n_routed_experts")
	freq := max(b.size(1, "moe_layer_freq"), 1)
	if n == 0 || l < b.size(0, "first_k_dense_replace") || l%freq != 0 {
		b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
		return
	}
	b.deepseekMoE(hidden, n)
}

func (b *Builder) deepseekMoE(hidden, n int64) {
	inter, shared := b.need("moe_intermediate_size"), b.size(0, "n_shared_experts")
	b.router("mlp.gate", n, hidden, BF16)
	if b.T.Str("topk_method") == "noaux_tc" {
		b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
	}
	fused := b.Rules.FuseShared && shared > 0
	if fused {
		n += shared
	}
	b.experts("mlp.experts", n, hidden, inter)
	if shared > 0 && !fused {
		b.mlp("mlp.shared_experts", SharedExperts, b.sharedRanks(), hidden, mul(inter, shared))
	}
}

// deepseekNextN is the multi-token prediction layer inside a DeepSeek
// checkpoint, loaded as the draft.
func deepseekNextN(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	b.at("model", -1)
	b.table("embed_tokens", Embedding, b.embedRanks(), b.need("vocab_size"), hidden)
	b.norms(hidden, hidden)
	b.column("eh_proj", Other, 1, 2*hidden, hidden).raw()
	b.at("model.decoder", -1)
	var index func()
	if b.dsa() {
		index = func() { b.indexer(hidden, s) }
	}
	b.latent(hidden, s, index)
	b.mlaRopes(s.rope)
	b.deepseekMoE(hidden, b.need("n_routed_experts"))
	b.norms(hidden, hidden, hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
}
