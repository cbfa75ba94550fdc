package weights

var _ = register(llama4, "Llama4ForConditionalGeneration", "Llama4ForCausalLM")

// llama4 interleaves layers of experts, each with a shared one, with wider
// dense layers. The vision tower is left out unless --enable-multimodal.
func llama4(b *Builder) {
	hidden, h := b.gqaHeads(128)
	n, inter := b.need("num_local_experts"), b.need("intermediate_size")
	step := b.size(1, "interleave_moe_layer_step")
	qkNorm := b.flag("use_qk_norm", true)
	b.decoder(hidden, true, func(l int64, first bool) {
		roped := (l+1)%4 != 0
		b.gqa(b.Layout.AttnTP, hidden, h)
		if first {
			b.rope(b.textRope(h.dim, 8192, 500000))
		}
		if qkNorm && roped {
			b.norms(h.dim)
		}
		if step == 0 || (l+1)%step == 0 {
			b.router("feed_forward.router", n, hidden, BF16)
			b.experts("feed_forward.experts", n, hidden, inter)
			b.mlp("feed_forward.shared_expert", SharedExperts, b.Layout.TP, hidden, inter)
		} else {
			b.mlp("feed_forward", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size_mlp"))
		}
		b.norms(hidden, hidden)
	})
}
