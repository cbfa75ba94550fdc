package bigcheckpoint

import "fmt"

// Kimi returns the tensors of a model of the shape of Kimi-K2.5: a trillion
// parameters, 61 layers, 384 experts a layer packed to four bits in groups of
// 32, everything else in bf16, and a vision tower. layers and experts make it
// smaller where they are below those.
func Kimi(layers, experts int) []Tensor {
	const (
		hidden, inter, dense = 7168, 2048, 18432
		vocab                = 163840
	)
	out := []Tensor{Matrix("language_model.model.embed_tokens.weight", vocab, hidden), Matrix("language_model.lm_head.weight", vocab, hidden), Matrix("language_model.model.norm.weight", hidden)}
	for l := range layers {
		at := fmt.Sprintf("language_model.model.layers.%d.", l)
		out = append(out, latent(at, hidden)...)
		if l == 0 {
			out = append(out, mlp(at+"mlp.", hidden, dense)...)
			continue
		}
		out = append(out, Matrix(at+"mlp.gate.weight", int64(experts), hidden), Tensor{at + "mlp.gate.e_score_correction_bias", "F32", 32, []int64{int64(experts)}})
		out = append(out, mlp(at+"mlp.shared_experts.", hidden, inter)...)
		for e := range experts {
			out = append(out, packed(fmt.Sprintf("%smlp.experts.%d.", at, e), hidden, inter)...)
		}
	}
	return append(out, tower(27, 1152, 4304, 14, hidden)...)
}

func latent(at string, hidden int64) []Tensor {
	const qLora, kvLora, nope, rope, v, heads = 1536, 512, 128, 64, 128, 64
	at += "self_attn."
	return []Tensor{
		Matrix(at+"q_a_proj.weight", qLora, hidden), Matrix(at+"q_a_layernorm.weight", qLora), Matrix(at+"q_b_proj.weight", heads*(nope+rope), qLora),
		Matrix(at+"kv_a_proj_with_mqa.weight", kvLora+rope, hidden), Matrix(at+"kv_a_layernorm.weight", kvLora), Matrix(at+"kv_b_proj.weight", heads*(nope+v), kvLora),
		Matrix(at+"o_proj.weight", hidden, heads*v),
		Matrix(at[:len(at)-len("self_attn.")]+"input_layernorm.weight", hidden), Matrix(at[:len(at)-len("self_attn.")]+"post_attention_layernorm.weight", hidden),
	}
}

func mlp(at string, hidden, inter int64) []Tensor {
	return []Tensor{Matrix(at+"gate_proj.weight", inter, hidden), Matrix(at+"up_proj.weight", inter, hidden), Matrix(at+"down_proj.weight", hidden, inter)}
}

// packed is one expert as compressed-tensors stores it.
func packed(at string, hidden, inter int64) []Tensor {
	var out []Tensor
	for _, p := range []struct {
		name    string
		out, in int64
	}{{"gate_proj", inter, hidden}, {"up_proj", inter, hidden}, {"down_proj", hidden, inter}} {
		out = append(out, Tensor{at + p.name + ".weight_packed", "I32", 32, []int64{p.out, p.in / 8}},
			Matrix(at+p.name+".weight_scale", p.out, p.in/32), Tensor{at + p.name + ".weight_shape", "I32", 32, []int64{2}})
	}
	return out
}

func tower(layers int, hidden, inter, patch, text int64) []Tensor {
	out := []Tensor{Matrix("vision_tower.patch_embed.proj.weight", hidden, 3, patch, patch), Matrix("vision_tower.patch_embed.proj.bias", hidden), Matrix("vision_tower.patch_embed.pos_emb.weight", 64, 64, hidden)}
	for l := range layers {
		at := fmt.Sprintf("vision_tower.encoder.blocks.%d.", l)
		for _, n := range []string{"norm0", "norm1"} {
			out = append(out, Matrix(at+n+".weight", hidden), Matrix(at+n+".bias", hidden))
		}
		out = append(out, Matrix(at+"wqkv.weight", 3*hidden, hidden), Matrix(at+"wqkv.bias", 3*hidden), Matrix(at+"wo.weight", hidden, hidden), Matrix(at+"wo.bias", hidden),
			Matrix(at+"mlp.fc0.weight", inter, hidden), Matrix(at+"mlp.fc0.bias", inter), Matrix(at+"mlp.fc1.weight", hidden, inter), Matrix(at+"mlp.fc1.bias", hidden))
	}
	wide := 4 * hidden
	return append(out, Matrix("vision_tower.encoder.final_layernorm.weight", hidden), Matrix("vision_tower.encoder.final_layernorm.bias", hidden),
		Matrix("mm_projector.pre_norm.weight", hidden), Matrix("mm_projector.pre_norm.bias", hidden),
		Matrix("mm_projector.proj.0.weight", wide, wide), Matrix("mm_projector.proj.0.bias", wide), Matrix("mm_projector.proj.2.weight", text, wide), Matrix("mm_projector.proj.2.bias", text))
}
