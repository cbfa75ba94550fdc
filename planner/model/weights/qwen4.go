package weights

var (
	_ = register(func(b *Builder) {
		b.qwenVision()
		b.qwen4()
	}, "Qwen4ExpForConditionalGeneration")
	_ = register(qwen4MTP, "Qwen4ExpForCausalLMMTP")
)

// streams is the shape of the hyper-connections: count streams of the hidden
// width, mixed through a low rank.
type streams struct{ hidden, count, rank int64 }

func (b *Builder) streams() streams {
	return streams{b.need("hidden_size"), b.size(4, "hc_count", "hc_mult"), b.size(320, "hc_lowrank")}
}

// gated adds a gated residual around a block; combine says that the block's
// output is injected into the streams too.
func (b *Builder) gated(g Group, s streams, combine bool) {
	wide := mul(s.hidden, s.count)
	b.norms(wide)
	b.param("hc.input_mix_weight", g, BF16, 2, s.rank, wide)
	if combine {
		b.param("hc.block_inject_weight", g, BF16, s.count, wide)
	}
}

func (b *Builder) qwen4() {
	s := b.streams()
	b.at("model", -1)
	b.embed(b.Layout.AttnTP, s.hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	roped := false
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		if b.fullLayer(l) {
			b.gatedAttention(s.hidden, !roped)
			b.qsaIndexer(s.hidden)
			roped = true
		} else {
			b.deltaNet(s.hidden)
		}
		b.qwenNextMLP(l, s.hidden, false)
		b.lookup(l, s)
		b.gated(Attention, s, true)
		b.gated(DenseMLP, s, true)
	}
	b.at("model", -1)
	if b.Layout.Last() {
		b.gated(LinearAttention, s, false)
	}
	b.at("", -1)
	b.head(s.hidden, false)
}

// qsaIndexer adds the indexer of a full-attention layer, in full on every rank.
func (b *Builder) qsaIndexer(hidden int64) {
	dim := b.size(0, "indexer_head_dim")
	if dim == 0 {
		return
	}
	b.whole("self_attn.indexer.index_qk_proj", Indexer, hidden, mul(b.need("indexer_n_heads")+b.size(1, "indexer_kv_heads"), dim))
	b.param("self_attn.indexer.norms", Indexer, BF16, 4, dim)
}

// lookup adds a layer's n-gram table, split by rows, and its projections.
func (b *Builder) lookup(l int64, s streams) {
	owner := false
	for _, id := range b.T.Ints("ple_layer_ids") { // counted from 1
		owner = owner || id == l+1
	}
	if !owner {
		return
	}
	wide, embed := mul(s.hidden, s.count), b.size(s.hidden, "ple_embed_dim")
	heads := mul(max(b.size(3, "ngram_size")-1, 1), b.size(8, "heads_per_ngram"))
	if !b.Rules.LookupOffGPU {
		b.table("ple.ple_embedding.ngram_embedding", LookupTables, b.Layout.TP, b.ngramRows(heads), embed/max(heads, 1))
	}
	b.whole("ple.key_proj", Other, embed, wide)
	b.whole("ple.value_proj", Other, embed, s.hidden)
	b.norms(wide, wide, wide)
	b.param("ple.conv1d", LinearAttention, BF16, wide, b.size(4, "ple_conv_kernel_size"))
}

// ngramRows is the size of the n-gram table: every head takes the next prime
// above the base, the sum padded.
func (b *Builder) ngramRows(heads int64) int64 {
	base := b.size(20000000, "ngram_vocab_size_base")
	total := mul(base, heads)
	if base > 3 && base < 1<<28 && heads <= 256 {
		total = 0
		for n, p := int64(0), base-1; n < heads; n++ {
			p = nextPrime(p)
			total += p
		}
	}
	return roundUp(total, max(b.size(128, "make_ngram_vocab_size_divisible_by"), 1))
}

func nextPrime(n int64) int64 {
	for n++; !prime(n); n++ {
	}
	return n
}

func prime(n int64) bool {
	if n < 4 {
		return n > 1
	}
	if n%2 == 0 {
		return false
	}
	for d := int64(3); d*d <= n; d += 2 {
		if n%d == 0 {
			return false
		}
	}
	return true
}

// qwen4MTP is the prediction layer of a Qwen4-Exp checkpoint.
func qwen4MTP(b *Builder) {
	s := b.streams()
	wide := mul(s.hidden, s.count)
	b.at("", -1)
	b.column("fc_embedding", Other, 1, s.hidden, s.hidden).raw()
	b.column("fc_hidden", Other, 1, s.hidden, s.hidden).raw()
	b.gemmaNorms(s.hidden)
	b.norms(wide, wide)
	b.at("mtp", -1)
	b.table("embed_tokens", Embedding, b.Layout.AttnTP, b.need("vocab_size"), s.hidden)
	b.at("mtp.layers", 0)
	b.gatedAttention(s.hidden, true)
	b.qsaIndexer(s.hidden)
	b.qwenNextMLP(0, s.hidden, false)
	b.gated(Attention, s, true)
	b.gated(DenseMLP, s, true)
	b.gated(LinearAttention, s, false)
	b.at("", -1)
	if !b.tied() {
		b.table("lm_head", LMHead, b.headRanks(), b.need("vocab_size"), s.hidden)
	}
}
