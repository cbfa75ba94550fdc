package weights

// Qwen3-Next and Qwen3.5: gated-delta linear attention in most layers, gated
// full attention in the rest.

var (
	_ = register(func(b *Builder) { b.qwenNext(true) }, "Qwen3NextForCausalLM")
	_ = register(func(b *Builder) {
		b.qwenVision()
		b.qwenNext(false)
	}, "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration")
	_ = register(func(b *Builder) { b.qwenMTP(true) }, "Qwen3NextForCausalLMMTP")
	_ = register(func(b *Builder) { b.qwenMTP(false) }, "Qwen3_5ForCausalLMMTP")
)

// gemmaNorms adds norms that keep weight + 1 beside the weight.
func (b *Builder) gemmaNorms(widths ...int64) {
	b.norms(widths...)
	if b.Rules.GemmaNorms {
		b.norms(widths...)
	}
}

// fullLayer reports a layer of full attention.
func (b *Builder) fullLayer(l int64) bool {
	types := b.T.Strs("layer_types")
	if types == nil {
		types = b.T.Strs("layers_block_type")
	}
	if l < int64(len(types)) {
		switch types[l] {
		case "full_attention", "attention", "qwen_sparse_attention", "indexed_attention":
			return true
		}
		return false
	}
	n := max(b.size(4, "full_attention_interval"), 1)
	return (l+1)%n == 0
}

// qwenNext builds the decoder; next marks Qwen3-Next itself, whose shared
// expert can be fused and whose head is on every stage.
func (b *Builder) qwenNext(next bool) {
	hidden := b.need("hidden_size")
	if next {
		b.oneStage()
	}
	b.at("model", -1)
	b.qwenEmbed(hidden, next)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	roped := false
	full := make([]bool, to)
	for l := from; l < to; l++ {
		full[l] = b.fullLayer(l)
	}
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		if full[l] {
			b.gatedAttention(hidden, !roped)
			roped = true
		} else {
			b.deltaNet(hidden)
		}
		b.qwenNextMLP(l, hidden, next)
		b.gemmaNorms(hidden, hidden)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.gemmaNorms(hidden)
	}
	b.at("", -1)
	b.head(hidden, next)
}

// qwenEmbed adds the embedding: Qwen3.5 holds it in full under DP attention,
// Qwen3-Next splits it over the attention TP ranks on every stage.
func (b *Builder) qwenEmbed(hidden int64, next bool) {
	ranks := b.Layout.AttnTP
	if !next {
		if ranks = b.Layout.TP; b.Layout.DPAttention {
			ranks = 1
		}
	}
	if next || b.Layout.First() {
		b.table("embed_tokens", Embedding, ranks, b.need("vocab_size"), hidden)
	}
}

// gatedAttention adds full attention with an output gate beside q.
func (b *Builder) gatedAttention(hidden int64, rope bool) {
	q := b.need("num_attention_heads")
	h := heads{q: q, kv: b.size(q, "num_key_value_heads"), gate: b.flag("attn_output_gate", true), bias: b.flag("attention_bias", false)}
	h.outBias = h.bias
	h.dim = b.headDim(256, hidden, q)
	h.vdim = h.dim
	b.gqa(b.Layout.AttnTP, hidden, h)
	if rope {
		b.rope(b.nextRope(h.dim))
	}
	b.gemmaNorms(h.dim, h.dim)
}

// nextRope turns a quarter of the head unless the config says otherwise.
func (b *Builder) nextRope(dim int64) ropeSpec {
	r := b.textRope(dim, 32768, 10000000)
	if r.dim == dim {
		r.dim = dim / 4
		if f, ok := ropeSection(b.T).Float("partial_rotary_factor"); ok && f == 1 {
			r.dim = dim
		} else if f, ok := b.T.Float("partial_rotary_factor"); ok && f == 1 {
			r.dim = dim
		}
	}
	return r
}

// deltaNet adds a gated-delta layer, split by heads.
func (b *Builder) deltaNet(hidden int64) {
	ranks := b.Layout.AttnTP
	kh, vh := b.need("linear_num_key_heads"), b.need("linear_num_value_heads")
	k, v := mul(kh, b.need("linear_key_head_dim")), mul(vh, b.need("linear_value_head_dim"))
	vloc := b.split("linear attention heads", vh, ranks)
	b.column("linear_attn.conv1d", LinearAttention, ranks, b.size(4, "linear_conv_kernel_dim"), 2*k+v).raw()
	b.column("linear_attn.in_proj_qkvz", LinearAttention, ranks, hidden, k, k, v, v)
	b.column("linear_attn.in_proj_ba", LinearAttention, ranks, hidden, vh, vh)
	b.param("linear_attn.dt_bias", LinearAttention, BF16, vloc)
	b.param("linear_attn.A_log", LinearAttention, FP32, vloc)
	b.norms(b.need("linear_value_head_dim"))
	b.row("linear_attn.out_proj", LinearAttention, ranks, v, hidden)
}

// qwenNextMLP adds a layer's experts with their gated shared expert, or a
// dense MLP.
func (b *Builder) qwenNextMLP(l, hidden int64, next bool) {
	n := b.size(0, "num_experts")
	if n == 0 || !b.sparse(l) {
		b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		return
	}
	inter, shared := b.need("moe_intermediate_size"), b.size(0, "shared_expert_intermediate_size")
	fused := next && b.Rules.FuseGated && shared > 0 && shared == inter
	b.router("mlp.gate", n, hidden, BF16)
	all := n
	if fused {
		all += b.size(1, "n_shared_experts")
	}
	b.moe("mlp.experts", all, b.fusedSlots(fused), hidden, inter)
	if shared > 0 && !fused {
		b.mlp("mlp.shared_expert", SharedExperts, b.sharedRanks(), hidden, shared)
	}
	b.param("mlp.shared_expert_gate", SharedExperts, BF16, hidden)
}

// fusedSlots returns how many of the experts are fused shared ones: every rank
// holds these, whatever EP does with the rest.
func (b *Builder) fusedSlots(fused bool) int64 {
	if fused {
		return 1
	}
	return 0
}

// qwenMTP is the prediction layer of a Qwen3-Next or Qwen3.5 checkpoint: one
// full-attention layer, never quantised in ModelOpt's checkpoints.
func (b *Builder) qwenMTP(next bool) {
	hidden := b.need("hidden_size")
	b.at("", -1)
	b.column("fc", Other, 1, mul(2, hidden), hidden).raw()
	b.gemmaNorms(hidden, hidden)
	b.at("mtp", -1)
	b.table("embed_tokens", Embedding, b.mtpEmbedRanks(next), b.need("vocab_size"), hidden)
	b.at("mtp.layers", 0)
	b.gatedAttention(hidden, true)
	b.qwenNextMLP(0, hidden, next)
	b.gemmaNorms(hidden, hidden)
	b.at("mtp", -1)
	b.gemmaNorms(hidden)
	b.at("", -1)
	if !b.tied() {
		b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
	}
}

func (b *Builder) mtpEmbedRanks(next bool) int64 {
	if next {
		return b.Layout.AttnTP
	}
	if b.Layout.DPAttention {
		return 1
	}
	return b.Layout.TP
}
