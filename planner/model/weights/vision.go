package weights

import "github.com/sglplan/sglplan/planner/model"

// Vision towers. Their attention and MLP are split over the attention TP ranks
// unless --mm-enable-dp-encoder gives every rank a full copy.

// tower reads sizes of the vision section and adds its modules.
type tower struct {
	*Builder
	v     model.Section
	ranks int64
}

func (b *Builder) tower(v model.Section) tower {
	ranks := b.Layout.AttnTP
	if b.Layout.Vision == 1 {
		ranks = 1
	}
	b.at("visual", -1)
	return tower{b, v, ranks}
}

func (t tower) size(def int64, keys ...string) int64 {
	n, ok := t.v.FirstInt(keys...)
	if !ok {
		return def
	}
	return t.bounded("vision_config."+keys[0], n)
}

func (t tower) need(keys ...string) int64 {
	n, ok := t.v.FirstInt(keys...)
	if !ok {
		t.fail(&ConfigError{"vision_config." + keys[0], "missing or not a whole number"})
		return 1
	}
	return t.bounded("vision_config."+keys[0], n)
}

func (t tower) layers(keys ...string) int64 {
	n := t.need(keys...)
	if n > maxLayers {
		t.fail(&ConfigError{"vision_config." + keys[0], "out of range"})
		return 0
	}
	return n
}

// attention adds fused q, k, v and the projection, with biases.
func (t tower) attention(hidden, heads, dim int64) {
	n := t.split("vision heads", heads, t.ranks)
	w := mul(n, dim)
	t.add(Module{Name: Name{Leaf: "attn.qkv_proj"}, Group: Vision, Kind: Linear, Out: 3 * w, In: hidden, Parts: 3, Bias: true, Split: splitText(t.ranks)}).raw()
	t.add(Module{Name: Name{Leaf: "attn.proj"}, Group: Vision, Kind: Linear, Out: hidden, In: w, Parts: 1, Bias: true, Split: splitText(t.ranks)}).raw()
}

// layerNorms adds LayerNorms, weight and bias.
func (t tower) layerNorms(widths ...int64) {
	for _, w := range widths {
		t.param("norm.weight", Vision, BF16, w)
		t.param("norm.bias", Vision, BF16, w)
	}
}

func (t tower) pair(a, b string, ranks, in, mid, out int64) {
	t.column(a, Vision, ranks, in, mid).bias(true).raw()
	t.row(b, Vision, ranks, mid, out).bias(true).raw()
}

// qwenVision is Qwen3-VL's tower: patches over time, a learned position table
// split like a vocabulary, a merger, and one more merger per deepstack layer.
func (b *Builder) qwenVision() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		return
	}
	t := b.tower(v)
	// What config.json leaves out has the class's own default.
	hidden, heads, inter, out := t.size(1152, "hidden_size"), t.size(16, "num_heads"), t.size(4304, "intermediate_size"), t.size(3584, "out_hidden_size")
	dim := hidden / max(heads, 1)
	patch := t.size(16, "patch_size")
	t.param("patch_embed.proj", Vision, BF16, hidden, t.size(3, "in_channels"), t.size(2, "temporal_patch_size"), patch, patch)
	t.param("patch_embed.proj.bias", Vision, BF16, hidden)
	if b.Layout.First() {
		t.table("pos_embed", Vision, t.ranks, t.size(2304, "num_position_embeddings"), hidden)
	}
	b.ropeTables(8192, dim/2, "default")
	for range min(t.size(27, "depth"), maxLayers) {
		t.layerNorms(hidden, hidden)
		t.attention(hidden, heads, dim)
		t.pair("mlp.linear_fc1", "mlp.linear_fc2", t.ranks, hidden, inter, hidden)
	}
	unit := t.size(2, "spatial_merge_size")
	wide := mul(mul(hidden, unit), unit)
	t.layerNorms(hidden)
	t.pair("merger.linear_fc1", "merger.linear_fc2", t.ranks, wide, wide, out)
	deep := len(v.List("deepstack_visual_indexes"))
	if !v.Has("deepstack_visual_indexes") {
		deep = 3
	}
	for range min(deep, maxLayers) {
		t.layerNorms(wide)
		t.pair("deepstack.linear_fc1", "deepstack.linear_fc2", t.ranks, wide, wide, out)
	}
}

// moonViT is the tower of Kimi-K2.5: split attention, whole MLPs, a table of
// positions, and a projector in full on every rank.
func (b *Builder) moonViT() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		return
	}
	t := b.tower(v)
	b.at("vision_tower", -1)
	hidden, heads := t.need("vt_hidden_size", "hidden_size"), t.need("vt_num_attention_heads", "num_attention_heads")
	inter := t.need("vt_intermediate_size", "intermediate_size")
	patch := t.size(14, "patch_size")
	t.param("patch_embed.proj", Vision, BF16, hidden, 3, patch, patch)
	t.param("patch_embed.proj.bias", Vision, BF16, hidden)
	t.param("patch_embed.pos_emb", Vision, BF16, t.size(64, "init_pos_emb_height"), t.size(64, "init_pos_emb_width"), hidden)
	for range t.layers("vt_num_hidden_layers", "num_hidden_layers") {
		t.layerNorms(hidden, hidden)
		t.pair("mlp.fc0", "mlp.fc1", 1, hidden, inter, hidden)
		t.attention(hidden, heads, hidden/max(heads, 1))
	}
	t.layerNorms(hidden)
	merge := int64(4)
	if k := v.Ints("merge_kernel_size"); len(k) == 2 {
		merge = mul(k[0], k[1])
	}
	wide := mul(hidden, merge)
	t.layerNorms(hidden)
	b.at("mm_projector", -1)
	t.pair("linear_1", "linear_2", 1, wide, wide, t.size(b.need("hidden_size"), "text_hidden_size"))
}

// qwen25Vision is Qwen2.5-VL's tower: gated MLPs, split over all ranks where
// attention is split over the attention TP ranks, and one merger.
func (b *Builder) qwen25Vision() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		v = model.Section{}
	}
	t := b.tower(v)
	wide := b.Layout.TP
	if t.ranks == 1 && b.Layout.Vision == 1 {
		wide = 1
	}
	hidden, heads, inter := t.size(3584, "hidden_size"), t.size(16, "num_heads"), roundUp(t.size(3420, "intermediate_size"), 8)
	patch := t.size(14, "patch_size")
	t.param("patch_embed.proj", Vision, BF16, hidden, t.size(3, "in_channels"), t.size(2, "temporal_patch_size"), patch, patch)
	t.param("rotary_pos_emb.inv_freq", Vision, FP32, hidden/max(heads, 1)/4)
	for range min(t.size(32, "depth"), maxLayers) {
		t.param("norms", Vision, BF16, 2, hidden)
		t.attention(hidden, heads, hidden/max(heads, 1))
		t.column("mlp.gate_up_proj", Vision, wide, hidden, inter, inter).bias(true).raw()
		t.row("mlp.down_proj", Vision, wide, inter, hidden).bias(true).raw()
	}
	unit := t.size(2, "spatial_merge_size")
	merged := mul(mul(hidden, unit), unit)
	t.param("merger.ln_q", Vision, BF16, hidden)
	t.pair("merger.mlp.0", "merger.mlp.2", wide, merged, merged, t.size(3584, "out_hidden_size"))
}
