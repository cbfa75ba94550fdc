package modelcfg

import "errors"

// linearFamily is one configuration class with recurrent layers.
type linearFamily struct {
	archs            archSet
	build            func(*deriver) *Linear
	ignoresFileDType bool // the class does not hand mamba_ssm_dtype on
	drafts           bool // its drafts keep states too
}

var linearFamilies = []linearFamily{
	{archs: archSet{
		"Qwen3NextForCausalLM": "0.5.2", "Qwen3_5ForConditionalGeneration": "0.5.9", "Qwen3_5MoeForConditionalGeneration": "0.5.9",
		"Qwen3_5ForCausalLM": "0.5.13", "Qwen3_5MoeForCausalLM": "0.5.13", "InternS2PreviewForConditionalGeneration": "0.5.13",
		"InternS2MobiusForConditionalGeneration": "0.5.18", "Qwen4ExpForConditionalGeneration": "0.5.20",
	}, build: gatedDelta},
	{archs: archSet{"GigaChat35ForCausalLM": "0.5.21"}, build: gigaChat},
	{archs: archSet{"FalconH1ForCausalLM": "0.5.3"}, build: falconH1},
	{archs: archSet{
		"NemotronHForCausalLM": "0.5.3.post1", "NemotronHPuzzleForCausalLM": "0.5.13", "NemotronH_Nano_VL_V2": "0.5.9",
		"NemotronH_Nano_Omni_Reasoning_V3": "0.5.13", "NemotronH_Omni_Reasoning_V3": "0.5.20",
	}, build: nemotronH},
	{archs: archSet{"GraniteMoeHybridForCausalLM": "0.5.9"}, build: graniteHybrid, ignoresFileDType: true},
	{archs: archSet{"JetNemotronForCausalLM": "0.5.5.post1", "JetVLMForConditionalGeneration": "0.5.9"}, build: jetNemotron},
	{archs: archSet{"Lfm2ForCausalLM": "0.5.9", "Lfm2VlForConditionalGeneration": "0.5.11"}, build: shortConvolution},
	{archs: archSet{"Lfm2MoeForCausalLM": "0.5.9"}, build: shortConvolution, ignoresFileDType: true},
	{archs: archSet{"BailingMoeV2_5ForCausalLM": "0.5.9"}, build: bailingLightning, ignoresFileDType: true},
	{archs: archSet{"BailingMoeV3ForCausalLM": "0.5.19", "BailingMoeV3VLForConditionalGeneration": "0.5.21"}, build: bailingKDA, ignoresFileDType: true},
	{archs: archSet{
		"KimiLinearForCausalLM": "0.5.4.post2", "KimiK3ForConditionalGeneration": "0.5.17", "KimiK3LinearForCausalLM": "0.5.19",
	}, build: kimiLinear, ignoresFileDType: true},
	{archs: archSet{"Glm5NextForConditionalGeneration": "0.5.20"}, build: glm5Next, ignoresFileDType: true},
	{archs: archSet{"MiniCPMSALAForCausalLM": "0.5.19"}, build: minicpmSALA, ignoresFileDType: true},
	{archs: archSet{"Mamba2ForCausalLM": "0.5.20"}, build: mamba2, ignoresFileDType: true},
	{archs: archSet{"MambaForCausalLM": "0.5.20", "FalconMambaForCausalLM": "0.5.20"}, build: mamba1, ignoresFileDType: true},
	{archs: archSet{"ZayaForCausalLM": "0.5.14"}, build: zaya},
	{archs: archSet{"InklingForConditionalGeneration": "0.5.16", "InklingForConditionalGenerationMTP": "0.5.16"}, build: inkling, ignoresFileDType: true, drafts: true},
}

// gatedDelta reads Qwen3-Next's classes: a full layer every
// full_attention_interval, or (Qwen4-Exp) where layer_types says so.
func gatedDelta(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	l := &Linear{Kind: GDN, Kernel: t.or("linear_conv_kernel_dim", 4)}
	vd, vh := t.or("linear_value_head_dim", 128), t.or("linear_num_value_heads", 32)
	l.Inner, l.Heads, l.HeadDim = vd*vh, vh, vd
	l.Groups, l.State = t.or("linear_num_key_heads", 16), t.or("linear_key_head_dim", 128)
	l.KeyHeads = l.Groups
	if types := t.strs("layer_types"); d.v.textType == "qwen4_exp_text" && types != nil {
		types = types[:min(n, len(types))]
		l.Layers = where(types, "linear_attention")
		l.FullLayers = where(types, "full_attention", "qwen_sparse_attention", "indexed_attention")
		return l
	}
	every := t.or("full_attention_interval", 4)
	for i := range n {
		if every > 0 && (i+1)%every == 0 {
			l.FullLayers = append(l.FullLayers, i)
		} else {
			l.Layers = append(l.Layers, i)
		}
	}
	return l
}

func gigaChat(d *deriver) *Linear {
	l := gatedDelta(d)
	t, n := d.v.text, d.m.NumHiddenLayers
	l.FullLayers, l.Layers = nil, nil
	if types := t.strs("layer_types"); types != nil {
		l.Layers = where(types, "linear_attention")
	} else {
		l.Layers = without(n, t.ints("full_attention_layers"))
	}
	l.FullLayers = without(n, l.Layers)
	return l
}

func falconH1(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	inner, ok := t.int("mamba_d_ssm")
	if !ok {
		inner = t.or("mamba_expand", 2) * d.m.HiddenSize
	}
	heads := t.or("mamba_n_heads", 128)
	head, ok := t.int("mamba_d_head") // "auto": what the heads leave
	if !ok && heads > 0 {
		head = inner / heads
	}
	return &Linear{Kind: Mamba2, Layers: upTo(n), FullLayers: upTo(n), Inner: inner, Groups: t.or("mamba_n_groups", 1), Heads: heads, HeadDim: head,
		State: t.or("mamba_d_state", 256), Kernel: t.or("mamba_d_conv", 4)}
}

func nemotronH(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	l := &Linear{Kind: Mamba2, Heads: t.or("mamba_num_heads", 128), HeadDim: t.or("mamba_head_dim", 64), State: t.or("ssm_state_size", 128)}
	l.Inner = l.Heads * l.HeadDim
	l.Groups, _ = t.first("n_groups", "mamba_n_groups")
	l.Kernel, _ = t.first("conv_kernel", "mamba_d_conv")
	if p := t.str("hybrid_override_pattern"); p != "" {
		for i := range min(n, len(p)) {
			switch p[i] {
			case 'M':
				l.Layers = append(l.Layers, i)
			case '*':
				l.FullLayers = append(l.FullLayers, i)
			}
		}
		return l
	}
	types := t.strs("layers_block_type")
	if types == nil {
		d.fail("hybrid_override_pattern", errors.New("is missing, but the layers are split by it"))
	}
	types = types[:min(n, len(types))]
	l.Layers, l.FullLayers = where(types, "mamba"), where(types, "attention")
	return l
}

// graniteHybrid is a plain model where no layer is a mamba one.
func graniteHybrid(d *deriver) *Linear {
	t := d.v.text
	types := t.strs("layer_types")
	types = types[:min(d.m.NumHiddenLayers, len(types))]
	layers := where(types, "mamba")
	if len(layers) == 0 {
		return nil
	}
	return &Linear{Kind: Mamba2, Layers: layers, FullLayers: where(types, "attention"), Inner: t.or("mamba_expand", 2) * d.m.HiddenSize,
		Groups: t.or("mamba_n_groups", 1), Heads: t.or("mamba_n_heads", 64), HeadDim: t.or("mamba_d_head", 64),
		State: t.or("mamba_d_state", 128), Kernel: t.or("mamba_d_conv", 4)}
}

func jetNemotron(d *deriver) *Linear {
	t := d.v.text
	jet := t.sub("efficient_attention_config").Sub("jet")
	if jet == nil {
		d.fail("efficient_attention_config", errors.New("has no jet block"))
		return nil
	}
	heads, k := clampInt(jet.IntOr("num_heads", 0)), clampInt(jet.IntOr("head_dim", 0))
	expand, _ := jet.Float("expand_v")
	v := int(float64(k) * min(max(expand, 0), 64))
	types := t.strs("layer_types")
	return &Linear{Kind: GDN, Layers: where(types, "jet"), FullLayers: where(types, "attn", "swa"), Inner: heads * v, Groups: heads, Heads: heads,
		HeadDim: v, State: k, Kernel: clampInt(jet.IntOr("conv_size", 4)), KeyHeads: heads}
}

// shortConvolution keeps a convolution alone: no recurrent state.
func shortConvolution(d *deriver) *Linear {
	t := d.v.text
	types := d.v.text.strs("layer_types")
	layers := where(types, "conv", "short_conv")
	if len(layers) == 0 {
		return nil
	}
	return &Linear{Kind: Mamba2, Layers: layers, FullLayers: where(types, "full_attention"), Inner: d.m.HiddenSize, Groups: 1, Heads: 0, HeadDim: d.m.HiddenSize,
		State: 0, Kernel: t.or("conv_L_cache", 3)}
}

// bailingGroups splits layers by layer_group_size: every n-th full, or a list
// in which 1 is a linear layer.
func (d *deriver) bailingGroups() (full, linear []int) {
	t, n := d.v.text, d.m.NumHiddenLayers
	if list := t.ints("layer_group_size"); list != nil {
		for i, v := range list[:min(n, len(list))] {
			if v == 1 {
				linear = append(linear, i)
			} else {
				full = append(full, i)
			}
		}
		return full, linear
	}
	every := max(1, t.or("layer_group_size", 1))
	for i := range n {
		if (i+1)%every == 0 {
			full = append(full, i)
		} else {
			linear = append(linear, i)
		}
	}
	return full, linear
}

func bailingLightning(d *deriver) *Linear {
	full, linear := d.bailingGroups()
	heads, head := d.v.text.or("num_linear_key_value_heads", d.m.NumAttentionHeads), d.v.text.or("head_dim", 128)
	return &Linear{Kind: Lightning, Layers: linear, FullLayers: full, Heads: heads, HeadDim: head, State: head, Kernel: 1}
}

func bailingKDA(d *deriver) *Linear {
	if !d.v.text.has("short_conv_kernel_size") {
		return bailingLightning(d)
	}
	full, linear := d.bailingGroups()
	head := d.v.text.or("head_dim", 128)
	return kda(full, linear, d.m.NumAttentionHeads, head, d.v.text.or("short_conv_kernel_size", 4))
}

func kda(full, linear []int, heads, head, kernel int) *Linear {
	return &Linear{Kind: KDA, Layers: linear, FullLayers: full, Heads: heads, HeadDim: head, State: head, KeyHeads: heads, Kernel: kernel}
}

// kimiLinear counts its KDA layers from 1.
func kimiLinear(d *deriver) *Linear {
	c := d.v.text.sub("linear_attn_config")
	if c == nil {
		d.fail("linear_attn_config", errors.New("is missing"))
		return nil
	}
	var linear []int
	for _, id := range c.Ints("kda_layers") {
		if id >= 1 && id <= int64(d.m.NumHiddenLayers) {
			linear = append(linear, int(id-1))
		}
	}
	return kda(without(d.m.NumHiddenLayers, linear), linear, clampInt(c.IntOr("num_heads", 0)), clampInt(c.IntOr("head_dim", 0)),
		clampInt(c.IntOr("short_conv_kernel_size", 4)))
}

// glm5Next makes its list itself when the file has none: linear unless every
// fourth layer, or by layer_types.
func glm5Next(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	heads, head, kernel := t.or("linear_num_heads", 64), t.or("linear_head_dim", 128), t.or("linear_conv_kernel_dim", 4)
	var linear []int
	switch types := t.strs("layer_types"); {
	case t.sub("linear_attn_config") != nil:
		c := t.sub("linear_attn_config")
		for _, id := range c.Ints("kda_layers") {
			if id >= 0 && id < int64(n) {
				linear = append(linear, int(id))
			}
		}
		heads, head = clampInt(c.IntOr("num_heads", int64(heads))), clampInt(c.IntOr("head_dim", int64(head)))
		kernel = clampInt(c.IntOr("short_conv_kernel_size", int64(kernel)))
	case types != nil:
		linear = where(types[:min(n, len(types))], "linear_attention")
	default:
		for i := range n {
			if i%4 != 3 {
				linear = append(linear, i)
			}
		}
	}
	return kda(without(n, linear), linear, heads, head, kernel)
}

// mixerNames are the spellings of MiniCPM's mixers.
var mixerNames = map[string]string{
	"minicpm4": "minicpm4", "minicpm": "minicpm4", "standard": "minicpm4", "attention": "minicpm4", "attn": "minicpm4", "lightning": "lightning-attn", "lightning-attn": "lightning-attn", "lightning_attn": "lightning-attn",
}

// minicpmSALA repeats its list of mixers over the layers.
func minicpmSALA(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	mixers := t.strs("mixer_types")
	if len(mixers) == 0 {
		mixers = []string{"minicpm4"}
	}
	l := &Linear{Kind: Lightning, Heads: t.or("lightning_nkv", d.m.NumKeyValueHeads), HeadDim: t.or("lightning_head_dim", d.m.HeadDim), Kernel: 1}
	l.State = l.HeadDim
	for i := range n {
		switch mixerNames[mixers[i%len(mixers)]] {
		case "minicpm4":
			l.FullLayers = append(l.FullLayers, i)
		case "lightning-attn":
			l.Layers = append(l.Layers, i)
		default:
			d.failf("mixer_types", "holds %q, which is no mixer", mixers[i%len(mixers)])
			return nil
		}
	}
	if len(l.Layers) == 0 {
		return nil
	}
	return l
}

func mamba2(d *deriver) *Linear {
	t := d.v.text
	return &Linear{Kind: Mamba2, Layers: upTo(d.m.NumHiddenLayers), Inner: t.or("expand", 2) * d.m.HiddenSize, Groups: t.or("n_groups", 8),
		Heads: t.or("num_heads", 128), HeadDim: t.or("head_dim", 64), State: t.or("state_size", 128), Kernel: t.or("conv_kernel", 4), ModelTP: true}
}

func mamba1(d *deriver) *Linear {
	t := d.v.text
	inner := t.or("intermediate_size", 0)
	if inner == 0 {
		inner = t.or("expand", 2) * d.m.HiddenSize
	}
	return &Linear{Kind: Mamba1, Layers: upTo(d.m.NumHiddenLayers), Inner: inner, Heads: inner, HeadDim: 1, State: t.or("state_size", 16),
		Kernel: t.or("conv_kernel", 4), ModelTP: true}
}

func zaya(d *deriver) *Linear {
	t, n := d.v.text, d.m.NumHiddenLayers
	var layers []int
	if z := t.strs("zaya_layers"); z != nil {
		layers = where(z, "a")
	} else {
		for i := 0; i < n; i += 2 {
			layers = append(layers, i)
		}
	}
	return &Linear{Kind: CCA, Layers: layers, FullLayers: layers, Inner: (d.m.NumAttentionHeads + d.m.NumKeyValueHeads) * d.m.HeadDim,
		Kernel: t.or("cca_time0", 2) + t.or("cca_time1", 2) - 1, Flat: d.m.HiddenSize, ModelTP: true}
}

func inkling(d *deriver) *Linear {
	t, m := d.v.text, d.m
	if !d.v.text.has("sconv_kernel_size") {
		return nil
	}
	n := m.NumHiddenLayers
	return &Linear{Kind: ShortConv, Layers: upTo(n), FullLayers: upTo(n), Kernel: t.or("sconv_kernel_size", 4), Streams: &Streams{
		FullKVHeads: m.TotalKVHeads, FullHeadDim: m.HeadDim, SWAKVHeads: max(1, m.SWANumKeyValueHeads), SWAHeadDim: m.SWAHeadDim, Hidden: m.HiddenSize,
	}}
}
