package weights

import "github.com/sglplan/sglplan/planner/model"

var _ = register(gemma4, "Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", "Gemma4UnifiedForConditionalGeneration")

// gemma4 has wide heads in full-attention layers and narrow ones in sliding
// layers; experts run beside the dense MLP; the E-series adds a table of
// inputs for every layer, in full on every rank.
func gemma4(b *Builder) {
	b.gemma4Vision()
	hidden := b.need("hidden_size")
	perLayer := b.size(0, "hidden_size_per_layer_input")
	n := b.layers("num_hidden_layers")
	b.at("model.language_model", -1)
	b.wholeEmbed(hidden)
	if perLayer > 0 && b.Layout.First() {
		b.param("embed_tokens_per_layer", LookupTables, BF16, b.size(b.need("vocab_size"), "vocab_size_per_layer_input"), mul(n, perLayer))
		b.whole("per_layer_model_projection", Other, hidden, mul(n, perLayer))
		b.norms(perLayer)
	}
	from, to := b.Layout.Layers(n)
	types := b.T.Strs("layer_types")
	roped := map[bool]bool{}
	for l := from; l < to; l++ {
		full := l < int64(len(types)) && types[l] == "full_attention"
		b.at("model.language_model.layers", int(l))
		dim := b.gemma4Attention(hidden, full)
		if !roped[full] {
			roped[full] = true
			b.ropeTables(b.size(131072, "max_position_embeddings"), dim, "default")
		}
		b.gemma4MLP(l, n, hidden, perLayer)
	}
	b.at("model.language_model", -1)
	if b.Layout.Last() {
		b.norms(hidden)
		if b.Layout.PP > 1 {
			b.table("lm_head", LMHead, b.Layout.TP, b.need("vocab_size"), hidden)
		}
	}
}

func (b *Builder) gemma4Attention(hidden int64, full bool) int64 {
	h := heads{q: b.need("num_attention_heads"), kv: b.need("num_key_value_heads"), dim: b.size(256, "head_dim"), bias: b.flag("attention_bias", false)}
	h.outBias = h.bias
	if full {
		h.dim = b.size(h.dim, "global_head_dim")
		h.kv = b.size(h.kv, "num_global_key_value_heads")
	}
	h.vdim = h.dim
	b.gqa(b.Layout.TP, hidden, h)
	b.norms(h.dim, h.dim, h.dim)
	return h.dim
}

func (b *Builder) gemma4MLP(l, n, hidden, perLayer int64) {
	inter := b.need("intermediate_size")
	shared := b.size(0, "num_kv_shared_layers")
	if first := n - shared; b.flag("use_double_wide_mlp", false) && first > 0 && l >= first {
		inter = mul(2, inter)
	}
	b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, inter)
	b.norms(hidden, hidden, hidden, hidden)
	if perLayer > 0 {
		b.whole("per_layer_input_gate", Other, hidden, perLayer)
		b.whole("per_layer_projection", Other, perLayer, hidden)
		b.norms(hidden)
	}
	if b.flag("enable_moe_block", false) {
		e := b.need("num_experts")
		b.param("router.norm", Router, BF16, hidden)
		b.param("router.scale", Router, BF16, hidden)
		b.router("router.proj", e, hidden, BF16)
		b.param("moe.per_expert_scale", Other, BF16, e)
		b.experts("moe.experts", e, hidden, b.need("moe_intermediate_size"))
		b.norms(hidden, hidden, hidden)
	}
	b.param("layer_scalar", Other, BF16, 1)
}

// gemma4Vision adds the towers of images and sound on the first stage.
func (b *Builder) gemma4Vision() {
	if !b.Layout.First() {
		return
	}
	text := b.need("hidden_size")
	if v := b.C.Top.Sub("vision_config"); v != nil {
		b.gemma4Tower(v, text)
	}
	if a := b.C.Top.Sub("audio_config"); a != nil {
		b.gemma4Audio(a, text)
	}
}

// clipBounds is how many bf16 scalars a tower layer keeps as clipping bounds.
const clipBounds = 22

func (b *Builder) gemma4Tower(v model.Section, text int64) {
	t := b.tower(v)
	b.at("vision_tower", -1)
	hidden, heads, inter := t.need("hidden_size"), t.need("num_attention_heads"), t.need("intermediate_size")
	dim := t.size(hidden/max(heads, 1), "head_dim")
	patch := t.size(16, "patch_size")
	t.param("input_proj", Vision, BF16, 3, patch, patch, hidden)
	t.param("position_embedding_table", Vision, BF16, 2, t.size(10240, "position_embedding_size"), hidden)
	n := t.split("vision heads", heads, t.ranks)
	for range t.layers("num_hidden_layers") {
		t.add(Module{Name: Name{Leaf: "qkv_proj"}, Group: Vision, Kind: Linear, Out: mul(3*n, dim), In: hidden, Parts: 3, Split: splitText(t.ranks)}).raw()
		t.row("o_proj", Vision, t.ranks, mul(heads, dim), hidden).raw()
		t.param("norms", Vision, BF16, 3*dim)
		t.column("gate_up_proj", Vision, t.ranks, hidden, inter, inter).raw()
		t.row("down_proj", Vision, t.ranks, inter, hidden).raw()
		t.param("norms", Vision, BF16, 4, hidden)
		t.param("bounds", Vision, BF16, clipBounds+1)
	}
	if s, _ := v.Bool("standardize"); s {
		t.param("std", Vision, BF16, 2, hidden)
	}
	t.param("embed_vision.embedding_projection", Vision, BF16, hidden, text)
	t.param("embed_vision.norm", Vision, BF16, hidden)
}

// gemma4Audio is a conformer behind two convolutions.
func (b *Builder) gemma4Audio(a model.Section, text int64) {
	t := b.tower(a)
	b.at("audio_tower", -1)
	hidden := t.need("hidden_size")
	c := a.Ints("subsampling_conv_channels")
	if len(c) != 2 {
		c = []int64{128, 32}
	}
	// 3 x 3 kernels of stride 2 over 128 mel bins leave 32 of them.
	t.param("conv_0", Vision, BF16, c[0], 9)
	t.param("conv_1", Vision, BF16, c[1], c[0], 9)
	t.param("conv_norms", Vision, BF16, c[0]+c[1])
	t.row("input_proj_linear", Vision, b.Layout.TP, mul(c[1], 32), hidden).raw()
	for range t.layers("num_hidden_layers") {
		for range 2 { // the half-step feed-forward modules around
			t.param("norms", Vision, BF16, 2, hidden)
			t.column("ffw_layer_1", Vision, t.ranks, hidden, mul(4, hidden)).raw()
			t.row("ffw_layer_2", Vision, t.ranks, mul(4, hidden), hidden).raw()
		}
		t.param("norms", Vision, BF16, 2, hidden)
		t.column("pos_proj", Vision, t.ranks, hidden, hidden).raw()
		t.param("inv_timescales", Vision, FP32, hidden/2)
		t.column("qkv", Vision, t.ranks, hidden, hidden, hidden, hidden).raw()
		t.row("post", Vision, t.ranks, hidden, hidden).raw()
		t.column("linear_start", Vision, t.ranks, hidden, hidden, hidden).raw()
		t.row("linear_end", Vision, t.ranks, hidden, hidden).raw()
		t.param("depthwise_conv1d", Vision, BF16, hidden/max(t.ranks, 1), t.size(5, "conv_kernel_size"))
		t.param("norms", Vision, BF16, 3, hidden)
	}
	out := t.size(hidden, "output_proj_dims")
	t.row("output_proj", Vision, b.Layout.TP, hidden, out).bias(true).raw()
	t.param("embed_audio.embedding_projection", Vision, BF16, out, text)
	t.param("embed_audio.norm", Vision, BF16, out)
}
