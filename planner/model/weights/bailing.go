package weights

var (
	_ = register(bailingV3, "BailingMoeV3ForCausalLM")
	_ = register(minicpm, "MiniCPMSALAForCausalLM")
)

// bailingV3 has Kimi's delta attention in most layers and latent attention in
// the last of every group.
func bailingV3(b *Builder) {
	hidden, s := b.need("hidden_size"), b.mla()
	k := kdaShape{heads: s.heads, dim: b.size(128, "head_dim"), kernel: b.size(4, "short_conv_kernel_size")}
	group := b.size(1, "layer_group_size")
	embed := b.Layout.TP
	if b.Layout.DPAttention {
		embed = 1
	}
	b.at("model", -1)
	b.embed(embed, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		if group > 0 && (l+1)%group != 0 {
			b.bailingDelta(hidden, k)
		} else {
			b.bailingLatent(hidden, s)
		}
		if b.size(256, "num_experts") == 1 || l < b.size(1, "first_k_dense_replace") {
			b.mlp("mlp", DenseMLP, b.Layout.Dense, hidden, b.need("intermediate_size"))
		} else {
			b.bailingMoE(hidden)
		}
		b.norms(hidden, hidden)
	}
	b.finish(hidden, false)
}

// bailingDelta is delta attention whose gates may be full matrices.
func (b *Builder) bailingDelta(hidden int64, k kdaShape) {
	ranks := b.Layout.AttnTP
	if !b.flag("no_kda_lora", false) {
		b.delta(ranks, hidden, k, false)
		return
	}
	p := mul(k.heads, k.dim)
	b.column("self_attn.fused_qkvbfg_proj", Attention, ranks, hidden, p, p, p, p, p)
	b.column("self_attn.b_proj", Attention, ranks, hidden, k.heads).raw()
	b.deltaState(ranks, hidden, k)
}

// bailingLatent is latent attention, with or without rotation and a gate.
func (b *Builder) bailingLatent(hidden int64, s mlaSpec) {
	b.latent(hidden, s, nil)
	switch b.T.Str("gated_attention_proj_granularity_type") {
	case "head_wise":
		b.column("self_attn.g_proj", Attention, b.Layout.AttnTP, hidden, s.heads).raw()
	case "element_wise":
		b.column("self_attn.g_proj", Attention, b.Layout.AttnTP, hidden, mul(s.heads, s.v)).raw()
	}
	if s.rope > 0 && !b.flag("use_mla_nope", false) {
		b.mlaRopes(s.rope)
	}
}

func (b *Builder) bailingMoE(hidden int64) {
	n, inter, shared := b.size(256, "num_experts"), b.need("moe_intermediate_size"), b.size(1, "num_shared_experts", "n_shared_experts")
	gates := int64(1)
	if b.flag("multi_gate", false) || b.T.Str("router_type") == "MultiRouter" {
		gates = 3 // text, image and audio
	}
	kind := FP32
	if d := b.T.Str("router_dtype"); d != "" && d != "fp32" {
		kind = BF16
	}
	for range gates {
		b.param("mlp.gate", Router, kind, n, hidden)
		if b.flag("moe_router_enable_expert_bias", false) {
			b.param("mlp.gate.expert_bias", Router, FP32, n)
		}
	}
	if shared > 0 && b.Rules.FuseShared {
		b.moe("mlp.experts", n+shared, shared, hidden, inter)
		return
	}
	b.experts("mlp.experts", n, hidden, inter)
	if shared > 0 {
		b.mlp("mlp.shared_experts", SharedExperts, b.sharedRanks(), hidden, b.size(mul(inter, shared), "moe_shared_expert_intermediate_size"))
	}
}

// minicpm is MiniCPM's hybrid: full attention and lightning attention, the
// latter with norms on q and k.
func minicpm(b *Builder) {
	hidden, h := b.gqaHeads(0)
	bias := b.flag("attention_bias", false)
	h.bias, h.outBias = bias, bias
	light := heads{q: b.size(h.q, "lightning_nh"), kv: b.size(h.kv, "lightning_nkv"), dim: b.size(h.dim, "lightning_head_dim"), bias: bias, outBias: bias}
	light.vdim = light.dim
	kinds, ranks := b.T.Strs("mixer_types"), b.Layout.TP
	b.at("model", -1)
	b.embed(ranks, hidden)
	for l := range b.layers("num_hidden_layers") {
		b.at("model.layers", int(l))
		if n := int64(len(kinds)); n > 0 && len(kinds[l%n]) >= 9 && kinds[l%n][:9] == "lightning" {
			b.lightning(ranks, hidden, light)
		} else {
			b.gqa(ranks, hidden, h)
			if b.flag("attn_use_rope", true) {
				b.rope(b.textRope(h.dim, 32768, 10000))
			}
			if b.flag("attn_use_output_gate", false) {
				b.column("self_attn.o_gate", Attention, ranks, hidden, mul(h.q, h.dim)).bias(bias)
			}
		}
		b.mlp("mlp", DenseMLP, ranks, hidden, b.need("intermediate_size"))
		b.norms(hidden, hidden)
	}
	b.at("model", -1)
	b.norms(hidden)
	b.at("", -1)
	if !b.tied() {
		b.table("lm_head", LMHead, ranks, b.need("vocab_size"), hidden)
	}
}

func (b *Builder) lightning(ranks, hidden int64, h heads) {
	b.gqa(ranks, hidden, h)
	if b.flag("use_output_norm", false) {
		b.norms(mul(b.split("lightning heads", h.q, ranks), h.dim))
	}
	if b.flag("use_output_gate", false) {
		b.column("self_attn.z_proj", Attention, ranks, hidden, mul(h.q, h.dim)).bias(h.bias)
	}
	if b.flag("qk_norm", true) {
		b.norms(h.dim, h.dim)
	}
	if b.flag("lightning_use_rope", true) {
		b.rope(b.textRope(h.dim, 32768, 10000))
	}
}
