package weights

// denseSpec is what the plain decoders differ in.
type denseSpec struct {
	qkBias     bool  // q, k, v have a bias
	outBias    bool  // o_proj has one
	qkNorm     bool  // a norm per head on q and k
	attnDP     bool  // the attention is split over the attention TP ranks
	embedDP    bool  // so is the embedding
	headStages bool  // the head is built on every pipeline stage
	headDim    int64 // class default, 0 for hidden / heads
	rope       float64
	maxPos     int64
}

var (
	_ = register(func(b *Builder) {
		bias := b.flag("attention_bias", b.flag("bias", false))
		b.dense(denseSpec{qkBias: bias, outBias: bias, headStages: true, rope: 10000, maxPos: 8192})
	}, "LlamaForCausalLM", "MistralForCausalLM", "Phi3ForCausalLM", "InternLM3ForCausalLM")
	_ = register(func(b *Builder) {
		if kv := b.size(1, "num_key_value_heads"); kv < b.Layout.TP {
			b.fail(&ShapeError{What: "KV heads", Size: kv, Ranks: b.Layout.TP, Why: "the class wants at least one of its own on every rank"})
		}
		b.oneStage()
		b.dense(denseSpec{embedDP: true, rope: 70000000, maxPos: 65536})
	}, "NanbeigeForCausalLM")
	_ = register(func(b *Builder) {
		b.dense(denseSpec{qkBias: true, embedDP: true, rope: 1000000, maxPos: 32768})
	}, "Qwen2ForCausalLM", "MiMoForCausalLM")
	_ = register(func(b *Builder) {
		bias := b.flag("attention_bias", false)
		b.dense(denseSpec{qkBias: bias, outBias: bias, qkNorm: true, attnDP: true, embedDP: true, headDim: 128, rope: 1000000, maxPos: 32768})
	}, "Qwen3ForCausalLM")
)

// attnRanks returns over how many ranks attention or embedding is split: the
// attention TP ranks for classes that follow DP attention.
func (b *Builder) attnRanks(follows bool) int64 {
	if follows {
		return b.Layout.AttnTP
	}
	return b.Layout.TP
}

// headDim returns head_dim, else the class default, else hidden / heads.
func (b *Builder) headDim(def, hidden, q int64) int64 {
	if d, ok := b.T.Int("head_dim"); ok && d > 0 {
		return b.bounded("head_dim", d)
	}
	if def > 0 {
		return def
	}
	return hidden / max(q, 1)
}

// dense builds a decoder of grouped-query attention and a gated MLP.
func (b *Builder) dense(s denseSpec) {
	hidden, q := b.need("hidden_size"), b.need("num_attention_heads")
	h := heads{q: q, kv: b.size(q, "num_key_value_heads"), bias: s.qkBias, outBias: s.outBias}
	h.dim = b.headDim(s.headDim, hidden, q)
	h.vdim = h.dim
	ranks, inter := b.attnRanks(s.attnDP), b.need("intermediate_size")
	b.at("model", -1)
	b.embed(b.attnRanks(s.embedDP), hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		if s.qkNorm {
			b.norms(h.dim, h.dim)
		}
		b.gqa(ranks, hidden, h)
		if l == from {
			b.rope(b.textRope(h.dim, s.maxPos, s.rope))
		}
		b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, inter)
		b.norms(hidden, hidden)
	}
	b.finish(hidden, s.headStages)
}

// embed adds the token embedding on the first stage.
func (b *Builder) embed(ranks, hidden int64) {
	if b.Layout.First() {
		b.table("embed_tokens", Embedding, ranks, b.need("vocab_size"), hidden)
	}
}

// finish adds the last norm and the head: none of its own where it is tied to
// an embedding on the same stage. Some classes build it on every stage.
func (b *Builder) finish(hidden int64, everyStage bool) {
	b.at("model", -1)
	if b.Layout.Last() {
		b.norms(hidden)
	}
	b.at("", -1)
	b.head(hidden, everyStage)
}

func (b *Builder) head(hidden int64, everyStage bool) {
	tied := b.tied()
	if tied && (b.Layout.PP == 1 || everyStage) {
		return
	}
	if everyStage || b.Layout.Last() {
		b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), hidden)
	}
}

// tied reports tie_word_embeddings, of the text section or of the whole.
func (b *Builder) tied() bool {
	if v, ok := b.T.Bool("tie_word_embeddings"); ok {
		return v
	}
	v, _ := b.C.Top.Bool("tie_word_embeddings")
	return v
}
