package weights

import "github.com/sglplan/sglplan/planner/model"

var _ = register(muse, "MuseSparkForConditionalGeneration")

// centred adds norms whose shifted weight is kept beside the weight once it is
// loaded.
func (b *Builder) centred(g Group, widths ...int64) {
	for _, w := range widths {
		b.param("norm", g, BF16, w)
		b.param("norm.effective", g, BF16, w).Late = true
	}
}

// residualGate adds a gate of a residual stream; its two coefficients are
// worked out after loading.
func (b *Builder) residualGate(g Group, hidden int64) {
	b.param("residual_gate", g, BF16, hidden)
	b.param("residual_gate.alpha", g, FP32, hidden).Late = true
	b.param("residual_gate.beta", g, FP32, hidden).Late = true
}

// muse has gated attention without norms of its own, gated residuals, and
// experts in a narrower space that run on whole experts only.
func muse(b *Builder) {
	hidden, h := b.gqaHeads(64)
	ranks := b.Layout.AttnTP
	vocab := b.size(202048, "vocab_size")
	b.at("model.language_model", -1)
	b.table("embed_tokens", Embedding, b.embedRanks(), vocab, hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.language_model.layers", int(l))
		gated := h
		gated.gate = true
		from := len(b.mods)
		b.gqa(ranks, hidden, gated)
		for i := from; i < len(b.mods); i++ {
			b.mods[i].raw()
		}
		if l == 0 {
			b.rope(b.textRope(h.dim, 1<<20, 500000))
		}
		b.centred(Norms, hidden, hidden)
		if b.kindOf("mlp_layer_types", l, "sparse") == "dense" {
			b.column("mlp.gate_up_proj", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"), b.need("intermediate_size")).raw()
			b.row("mlp.down_proj", DenseMLP, b.Layout.TP, b.need("intermediate_size"), hidden).raw()
		} else {
			b.museMoE(hidden)
		}
		b.residualGate(Attention, hidden)
		b.residualGate(Other, hidden)
		b.centred(Norms, hidden)
	}
	b.at("model.language_model", -1)
	b.centred(Norms, hidden)
	b.at("", -1)
	b.table("lm_head", LMHead, b.headRanks(), vocab, hidden).raw()
	b.museVision(hidden)
	b.museAudio()
}

func (b *Builder) museMoE(hidden int64) {
	n, wide := b.need("num_local_experts"), b.size(hidden, "moe_hidden_size")
	if b.Layout.MoETP > 1 {
		b.fail(&ShapeError{What: "experts", Size: n, Ranks: b.Layout.MoETP, Why: "the class keeps experts whole; give --ep-size equal to --tp-size"})
	}
	b.param("mlp.gate", Router, FP32, n, hidden)
	b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
	if wide != hidden {
		b.whole("mlp.pre_expert_proj", DenseMLP, hidden, wide).raw()
		b.whole("mlp.post_expert_proj", DenseMLP, wide, hidden).raw()
	}
	b.centred(Norms, wide)
	b.experts("mlp.experts", n, wide, b.need("moe_intermediate_size"))
	b.centred(Experts, wide)
}

// museVision is the tower with its adapter, split over the ranks.
func (b *Builder) museVision(text int64) {
	t := b.tower(b.C.Top.Sub("vision_config"))
	b.at("model.vision_tower", -1)
	hidden, inter, heads := t.size(1536, "hidden_size"), t.size(8960, "intermediate_size"), t.size(16, "num_attention_heads")
	patch := t.size(14, "patch_size")
	t.column("patch_embedding", Vision, t.ranks, mul(mul(3*patch, patch), t.size(2, "patch_temporal")), hidden).raw()
	t.param("position_embedding_table", Vision, BF16, t.size(32, "pos_emb_height"), t.size(32, "pos_emb_width"), hidden)
	t.layerNorms(hidden, hidden)
	for range min(t.size(50, "num_hidden_layers"), maxLayers) {
		t.layerNorms(hidden)
		t.attention(hidden, heads, hidden/max(heads, 1))
		t.layerNorms(hidden)
		t.pair("mlp.fc1", "mlp.fc2", t.ranks, hidden, inter, hidden)
	}
	top := b.C.Top
	out, wide := top.IntOr("out_hidden_size", 6144), top.IntOr("projector_hidden_size", 4096)
	out, wide = b.bounded("out_hidden_size", out), b.bounded("projector_hidden_size", wide)
	t.column("vision_adapter.fc1", Vision, t.ranks, out, wide).raw()
	t.row("vision_adapter.fc2", Vision, t.ranks, wide, wide).raw()
	t.row("vision_projection", Vision, t.ranks, wide, text).raw()
}

// museAudio is the audio encoder: stages of causal convolutions, in full on
// every rank.
func (b *Builder) museAudio() {
	a := b.C.Top.Sub("audio_config")
	list := func(key string, def ...int64) []int64 {
		if v := a.Ints(key); len(v) > 0 {
			return v
		}
		return def
	}
	depths, widths, patches := list("depths", 2, 2, 2, 2), list("hidden_sizes", 256, 512, 1024, 2048), list("patch_sizes", 16, 6, 5, 4)
	in, kernel := int64(1), b.bounded("conv_kernel_size", a.IntOr("conv_kernel_size", 7))
	ratio, _ := model.Section(a).Float("mlp_ratio")
	if ratio <= 0 || ratio > 64 {
		ratio = 4
	}
	b.at("model.audio_tower", -1)
	for s := range min(len(depths), len(widths), len(patches)) {
		w := b.bounded("hidden_sizes", widths[s])
		b.param("patchifier", Vision, BF16, w, in, b.bounded("patch_sizes", patches[s]))
		b.param("patchifier.bias", Vision, BF16, w)
		b.param("patchifier.norm", Vision, BF16, w)
		mid := int64(float64(w) * ratio)
		for range min(depths[s], maxLayers) {
			b.param("conv", Vision, BF16, w, kernel)
			b.param("conv.bias", Vision, BF16, w)
			b.param("norm", Vision, BF16, w)
			b.param("mlp.fc1", Vision, BF16, mid, w)
			b.param("mlp.fc1.bias", Vision, BF16, mid)
			b.param("mlp.fc2", Vision, BF16, w, mid)
			b.param("mlp.fc2.bias", Vision, BF16, w)
		}
		in = w
	}
	out := b.bounded("out_hidden_size", a.IntOr("out_hidden_size", 8192))
	b.param("norm", Vision, BF16, in)
	b.param("proj", Vision, BF16, out, in)
	b.param("proj.bias", Vision, BF16, out)
	b.param("post_proj_norm", Vision, BF16, out)
}
