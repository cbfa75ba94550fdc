package bigcheckpoint

import "fmt"

// Dense returns the tensors of a model of the shape of Qwen3-0.6B: grouped-query
// attention with norms on the heads, a gated MLP and a tied head.
func Dense() []Tensor {
	const (
		hidden, inter, vocab = 1024, 3072, 151936
		heads, kv, dim       = 16, 8, 128
		layers               = 28
	)
	out := []Tensor{Matrix("model.embed_tokens.weight", vocab, hidden), Matrix("lm_head.weight", vocab, hidden), Matrix("model.norm.weight", hidden)}
	for l := range layers {
		at := fmt.Sprintf("model.layers.%d.", l)
		out = append(out, Matrix(at+"self_attn.q_proj.weight", heads*dim, hidden), Matrix(at+"self_attn.k_proj.weight", kv*dim, hidden), Matrix(at+"self_attn.v_proj.weight", kv*dim, hidden),
			Matrix(at+"self_attn.o_proj.weight", hidden, heads*dim), Matrix(at+"self_attn.q_norm.weight", dim), Matrix(at+"self_attn.k_norm.weight", dim),
			Matrix(at+"input_layernorm.weight", hidden), Matrix(at+"post_attention_layernorm.weight", hidden))
		out = append(out, mlp(at+"mlp.", hidden, inter)...)
	}
	return out
}

// As returns the tensors stored in another type.
func As(tensors []Tensor, dtype string, bits int64) []Tensor {
	out := make([]Tensor, len(tensors))
	for i, t := range tensors {
		t.DType, t.Bits = dtype, bits
		out[i] = t
	}
	return out
}
