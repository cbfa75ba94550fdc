package weights

import "github.com/sglplan/sglplan/planner/model"

var _ = register(deciLM, "DeciLMForCausalLM")

// deciLM is Llama with layers that differ: each block says how many KV heads
// and how wide an MLP it has, or that it has none.
func deciLM(b *Builder) {
	hidden, q := b.need("hidden_size"), b.need("num_attention_heads")
	bias := b.flag("attention_bias", b.flag("bias", false))
	dim := b.headDim(0, hidden, q)
	blocks := b.T.List("block_configs")
	ranks := b.Layout.TP
	b.at("model", -1)
	b.embed(ranks, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		if l >= int64(len(blocks)) {
			b.fail(&ConfigError{"block_configs", "shorter than num_hidden_layers"})
			return
		}
		block, _ := blocks[l].(map[string]any)
		b.at("model.layers", int(l))
		if a := model.Section(block).Sub("attention"); !isTrue(a, "no_op") {
			kv := q / max(a.IntOr("n_heads_in_group", 1), 1)
			b.gqa(ranks, hidden, heads{q: q, kv: max(kv, 1), dim: dim, vdim: dim, bias: bias, outBias: bias})
			b.rope(b.textRope(dim, 8192, 10000))
			b.norms(hidden)
		}
		if f := model.Section(block).Sub("ffn"); !isTrue(f, "no_op") {
			mult, ok := f.Float("ffn_mult")
			if !ok || mult <= 0 || mult > 1024 {
				b.fail(&ConfigError{"block_configs", "ffn_mult missing or out of range"})
				return
			}
			b.mlp("mlp", DenseMLP, ranks, hidden, roundUp(int64(2*mult*float64(hidden)/3), 256))
			b.norms(hidden)
		}
	}
	b.finish(hidden, true)
}
