package weights

var _ = register(deepseekV4, "DeepseekV4ForCausalLM")

// v4Spec is the shape of DeepSeek-V4's multi-query attention with a low-rank
// output and compressed keys.
type v4Spec struct {
	hidden, heads, dim, rope int64
	qLora, oLora, groups     int64
	ratios                   []int64
	hc                       int64
}

func (b *Builder) v4() v4Spec {
	s := v4Spec{hidden: b.need("hidden_size"), heads: b.need("num_attention_heads"), dim: b.need("head_dim"), rope: b.size(64, "qk_rope_head_dim"),
		qLora: b.need("q_lora_rank"), oLora: b.need("o_lora_rank"), groups: b.need("o_groups"), hc: b.size(4, "hc_mult")}
	s.ratios = b.T.Ints("compress_ratios")
	return s
}

func (s v4Spec) ratio(l int64) int64 {
	if l < int64(len(s.ratios)) {
		return s.ratios[l]
	}
	return 0
}

func deepseekV4(b *Builder) {
	s := b.v4()
	b.at("model", -1)
	ranks := b.Layout.TP
	if b.Layout.DPAttention {
		ranks = 1
	}
	b.embed(ranks, s.hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	roped := map[bool]bool{}
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		b.v4Attention(s, s.ratio(l))
		if squeezed := s.ratio(l) != 0; !roped[squeezed] {
			roped[squeezed] = true
			b.v4Ropes(s.rope)
		}
		b.v4MoE(l, s.hidden)
		b.norms(s.hidden, s.hidden)
		b.v4Mixing(s)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.norms(s.hidden)
		b.param("hc_head", Other, FP32, mul(s.hc, mul(s.hc, s.hidden))+s.hc+1)
	}
	b.at("", -1)
	b.head(s.hidden, false)
}

// v4Projections adds the matrices around attention; plain says that the first
// of the output's two stays in bf16.
func (b *Builder) v4Projections(s v4Spec, plain bool) {
	ranks := b.Layout.AttnTP
	b.param("self_attn.attn_sink", Attention, FP32, s.heads)
	b.whole("self_attn.wqkv_a", Attention, s.hidden, s.qLora+s.dim)
	b.norms(s.qLora)
	b.column("self_attn.wq_b", Attention, ranks, s.qLora, mul(s.heads, s.dim))
	b.norms(s.dim)
	a := b.column("self_attn.wo_a", Attention, ranks, mul(s.heads, s.dim)/max(s.groups, 1), mul(s.groups, s.oLora))
	if plain {
		a.raw()
	}
	b.row("self_attn.wo_b", Attention, ranks, mul(s.groups, s.oLora), s.hidden)
}

// v4Attention adds an attention layer; its keys are compressed by ratio, and
// those of ratio 4 have an indexer.
func (b *Builder) v4Attention(s v4Spec, ratio int64) {
	b.v4Projections(s, false)
	if ratio <= 1 {
		return
	}
	b.compressor("self_attn.compressor", Attention, s.hidden, s.dim, ratio)
	if ratio == 4 {
		n, d := b.need("index_n_heads"), b.need("index_head_dim")
		b.whole("self_attn.indexer.wq_b", Indexer, s.qLora, mul(n, d))
		b.whole("self_attn.indexer.weights_proj", Indexer, s.hidden, n).raw()
		b.compressor("self_attn.indexer.compressor", Indexer, s.hidden, d, ratio)
	}
}

// compressor pools keys: overlapping windows, and so twice the width, at
// ratio 4.
func (b *Builder) compressor(leaf string, g Group, hidden, dim, ratio int64) {
	wide := dim
	if ratio == 4 {
		wide = mul(2, dim)
	}
	b.param(leaf+".ape", g, FP32, ratio, wide)
	b.whole(leaf+".wkv_gate", g, hidden, mul(2, wide)).raw()
	b.param(leaf+".norm", Norms, FP32, dim)
}

// v4Ropes adds the two tables of a kind of layer: complex frequencies and
// cosines with sines.
func (b *Builder) v4Ropes(dim int64) {
	r := b.mlaRope(dim)
	b.param("self_attn.freqs_cis", Rope, C64, b.context(b.size(0, "max_position_embeddings")), dim/2)
	b.ropeTables(r.rows(), dim, "default")
}

// v4MoE adds the experts: the first layers route by token id, through a table.
func (b *Builder) v4MoE(l, hidden int64) {
	n, inter, shared := b.need("n_routed_experts"), b.need("moe_intermediate_size"), b.size(0, "n_shared_experts")
	hashed := l < b.size(0, "num_hash_layers")
	b.router("mlp.gate", n, hidden, BF16)
	if !hashed {
		b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
	}
	b.experts("mlp.experts", n, hidden, inter)
	if hashed {
		b.param("mlp.topk.tid2eid", Router, I32, b.need("vocab_size"), b.need("num_experts_per_tok"))
	}
	if shared > 0 {
		b.mlp("mlp.shared_experts", SharedExperts, b.sharedRanks(), hidden, mul(inter, shared))
	}
}

// v4Mixing adds the hyper-connections around attention and experts.
func (b *Builder) v4Mixing(s v4Spec) {
	mix := mul(2+s.hc, s.hc)
	for _, g := range []Group{Attention, DenseMLP} {
		b.param("hc_fn", g, FP32, mix, mul(s.hc, s.hidden))
		b.param("hc_base", g, FP32, mix)
		b.param("hc_scale", g, FP32, 3)
	}
}
