package weights

import (
	"slices"

	"github.com/sglplan/sglplan/planner/model"
)

var (
	_ = register(kimiLinear, "KimiLinearForCausalLM")
	_ = register(func(b *Builder) {
		b.moonViT2()
		kimiK3(b)
	}, "KimiK3ForConditionalGeneration")
	_ = register(kimiK3, "KimiK3LinearForCausalLM")
)

// kdaShape is the shape of Kimi's delta attention.
type kdaShape struct {
	heads, dim, kernel int64
	layers             []int64 // counted from 1
}

func (b *Builder) kda() kdaShape {
	s := b.T.Sub("linear_attn_config")
	k := kdaShape{heads: s.IntOr("num_heads", 0), dim: s.IntOr("head_dim", 0), kernel: s.IntOr("short_conv_kernel_size", 4), layers: s.Ints("kda_layers")}
	for _, n := range []int64{k.heads, k.dim, k.kernel} {
		if n < 1 || n > maxSize {
			b.fail(&ConfigError{"linear_attn_config", "missing or out of range"})
			return kdaShape{1, 1, 1, nil}
		}
	}
	return k
}

func (k kdaShape) linear(l int64) bool { return slices.Contains(k.layers, l+1) }

// delta adds a delta-attention layer split over ranks; full says that the
// output gate has full rank.
func (b *Builder) delta(ranks, hidden int64, k kdaShape, full bool) {
	p := mul(k.heads, k.dim)
	if full {
		b.column("self_attn.fused_qkvg_proj", Attention, ranks, hidden, p, p, p, p)
	} else {
		b.column("self_attn.qkv_proj", Attention, ranks, hidden, p, p, p)
		b.whole("self_attn.g_a_proj", Attention, hidden, k.dim)
		b.column("self_attn.g_b_proj", Attention, ranks, k.dim, p)
	}
	b.column("self_attn.b_proj", Attention, ranks, hidden, k.heads)
	b.whole("self_attn.f_a_proj", Attention, hidden, k.dim)
	b.column("self_attn.f_b_proj", Attention, ranks, k.dim, p)
	b.deltaState(ranks, hidden, k)
}

// deltaState adds what delta attention keeps besides its input projections.
func (b *Builder) deltaState(ranks, hidden int64, k kdaShape) {
	p := mul(k.heads, k.dim)
	n := b.split("delta attention heads", k.heads, ranks)
	b.param("self_attn.dt_bias", LinearAttention, FP32, p/max(ranks, 1))
	b.param("self_attn.qkv_conv1d", LinearAttention, FP32, 3, p/max(ranks, 1), k.kernel)
	b.param("self_attn.A_log", LinearAttention, FP32, n)
	b.norms(k.dim)
	b.row("self_attn.o_proj", Attention, ranks, p, hidden)
}

// kimiDense reports a layer with a dense MLP.
func (b *Builder) kimiDense(l int64) bool {
	return b.size(0, "num_experts") == 0 || l < b.size(0, "first_k_dense_replace") || l%max(b.size(1, "moe_layer_freq"), 1) != 0
}

func kimiLinear(b *Builder) {
	hidden, k, s := b.need("hidden_size"), b.kda(), b.mla()
	b.at("model", -1)
	b.embed(b.Layout.TP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("model.layers", int(l))
		if k.linear(l) {
			b.delta(b.Layout.TP, hidden, k, false)
		} else {
			b.latent(hidden, s, nil)
		}
		if b.kimiDense(l) {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		} else {
			b.kimiMoE(hidden)
		}
		b.norms(hidden, hidden)
	}
	b.finish(hidden, false)
}

func (b *Builder) kimiMoE(hidden int64) {
	n, inter := b.need("num_experts"), b.need("moe_intermediate_size")
	b.router("mlp.gate", n, hidden, BF16)
	b.param("mlp.gate.e_score_correction_bias", Router, BF16, n)
	b.experts("mlp.experts", n, hidden, inter)
	if shared := b.size(0, "num_shared_experts"); shared > 0 {
		b.mlp("mlp.shared_experts", SharedExperts, b.Layout.TP, hidden, mul(inter, shared))
	}
}

// kimiK3 adds residual streams around every block, gated latent attention and
// experts in a narrower space, whose projections every rank holds in full.
func kimiK3(b *Builder) {
	hidden, k, s := b.need("hidden_size"), b.kda(), b.mla()
	streams := b.T.Has("attn_res_block_size")
	b.at("language_model.model", -1)
	b.embed(b.Layout.AttnTP, hidden)
	from, to := b.Layout.Layers(b.layers("num_hidden_layers"))
	for l := from; l < to; l++ {
		b.at("language_model.model.layers", int(l))
		if k.linear(l) {
			b.delta(b.Layout.AttnTP, hidden, k, b.T.Sub("linear_attn_config")["use_full_rank_gate"] == true)
		} else {
			b.latent(hidden, s, nil)
			if b.flag("mla_use_output_gate", false) {
				b.column("self_attn.g_proj", Attention, b.Layout.AttnTP, hidden, mul(s.heads, s.v))
			}
		}
		if b.kimiDense(l) {
			b.mlp("mlp", DenseMLP, b.Layout.TP, hidden, b.need("intermediate_size"))
		} else {
			b.kimiK3MoE(hidden)
		}
		b.norms(hidden, hidden)
		if streams {
			b.norms(hidden, hidden)
			b.param("self_attention_res_proj", Attention, BF16, hidden)
			b.param("mlp_res_proj", DenseMLP, BF16, hidden)
		}
	}
	b.at("language_model.model", -1)
	if streams && b.Layout.Last() {
		b.norms(hidden)
		b.param("output_attn_res_proj", Attention, BF16, hidden)
	}
	b.finish(hidden, false)
}

func (b *Builder) kimiK3MoE(hidden int64) {
	n, inter := b.need("num_experts"), b.need("moe_intermediate_size")
	latent := b.size(0, "routed_expert_hidden_size")
	width := hidden
	if latent > 0 {
		width = latent
	}
	b.router("mlp.gate", n, hidden, BF16)
	b.param("mlp.gate.e_score_correction_bias", Router, FP32, n)
	b.experts("mlp.experts", n, width, inter).bias(true)
	if shared := b.size(0, "num_shared_experts"); shared > 0 {
		b.mlp("mlp.shared_experts", SharedExperts, b.sharedRanks(), hidden, mul(inter, shared))
	}
	if latent > 0 {
		b.whole("mlp.routed_expert_down_proj", DenseMLP, hidden, latent).raw()
		if b.flag("latent_moe_use_norm", false) {
			b.norms(latent)
		}
		b.whole("mlp.routed_expert_up_proj", DenseMLP, latent, hidden).raw()
	}
}

// moonViT2 is the tower of Kimi-K3: no biases, in full on every rank.
func (b *Builder) moonViT2() {
	v := b.C.Top.Sub("vision_config")
	if v == nil {
		return
	}
	t := b.tower(v)
	b.at("vision_tower", -1)
	hidden, inter := t.need("vt_hidden_size"), t.need("vt_intermediate_size")
	wide, patch := t.size(hidden, "qkv_hidden_size"), t.size(14, "patch_size")
	t.param("patch_embed.proj", Vision, BF16, hidden, 3, patch, patch)
	t.param("pos_emb", Vision, BF16, t.size(64, "init_pos_emb_height"), t.size(64, "init_pos_emb_width"), hidden)
	for range t.layers("vt_num_hidden_layers") {
		t.param("norms", Vision, BF16, 2, hidden)
		t.param("wqkv", Vision, BF16, 3, wide, hidden)
		t.param("wo", Vision, BF16, wide, hidden)
		t.param("mlp.fc0", Vision, BF16, inter, hidden)
		t.param("mlp.fc1", Vision, BF16, hidden, inter)
	}
	t.param("final_layernorm", Vision, BF16, hidden)
	t.projector2(v, hidden)
}

func (t tower) projector2(v model.Section, hidden int64) {
	unit := int64(4)
	if k := v.Ints("merge_kernel_size"); len(k) == 2 {
		unit = mul(k[0], k[1])
	}
	wide, text := mul(hidden, unit), t.size(t.Builder.need("hidden_size"), "text_hidden_size")
	t.param("mm_projector.linear_1", Vision, BF16, wide, wide)
	t.param("mm_projector.linear_2", Vision, BF16, wide, text)
	t.param("mm_projector.norm", Vision, BF16, text)
}
