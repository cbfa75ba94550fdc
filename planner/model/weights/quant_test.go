package weights

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/model"
)

func quantOf(t *testing.T, section string) *Quant {
	c, err := model.ParseConfig(strings.NewReader(`{"architectures":["X"],"quantization_config":` + section + `}`))
	require.NoError(t, err)
	q, err := ParseQuant(c, "")
	require.NoError(t, err)
	return q
}

func linear(prefix string, layer int, leaf string) *Module {
	return &Module{Name: Name{prefix, layer, leaf}, Kind: Linear}
}

func experts(prefix string, layer int, leaf string) *Module {
	return &Module{Name: Name{prefix, layer, leaf}, Kind: MoE}
}

// The lists of modules that stay unquantised, as each method reads its own.
func TestIgnoreLists(t *testing.T) {
	for _, c := range []struct {
		name, section string
		m             *Module
		kept          bool
	}{
		{"fp8 path", `{"quant_method":"fp8","modules_to_not_convert":["model.layers.3.mlp.gate"]}`, linear("model.layers", 3, "mlp.gate"), true},
		{"fp8 other layer", `{"quant_method":"fp8","modules_to_not_convert":["model.layers.3.mlp.gate"]}`, linear("model.layers", 4, "mlp.gate"), false},
		{"fp8 whole parts only", `{"quant_method":"fp8","modules_to_not_convert":["mlp.gate"]}`, linear("model.layers", 3, "mlp.gate_up_proj"), false},
		{"fp8 shard of a fused one", `{"quant_method":"fp8","modules_to_not_convert":["model.layers.3.self_attn.q_proj"]}`, linear("model.layers", 3, "self_attn.qkv_proj"), true},
		{"fp8 behind a wrapper", `{"quant_method":"fp8","ignored_layers":["model.language_model.layers.0.mlp.down_proj"]}`, linear("model.layers", 0, "mlp.down_proj"), true},
		{"modelopt glob", `{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["*self_attn*"]}`, linear("model.layers", 9, "self_attn.o_proj"), true},
		{"modelopt glob of layers", `{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["model.layers.1*"]}`, linear("model.layers", 12, "mlp.down_proj"), true},
		{"modelopt glob of other layers", `{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["model.layers.1*"]}`, linear("model.layers", 2, "mlp.down_proj"), false},
		{"compressed expression", `{"quant_method":"compressed-tensors","ignore":["re:.*self_attn.*"],"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":32,"strategy":"group"}}}}`, linear("model.layers", 0, "self_attn.o_proj"), true},
		{"compressed experts", `{"quant_method":"compressed-tensors","ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":32,"strategy":"group"}}}}`, experts("model.layers", 0, "mlp.experts"), false},
		{"compressed broken expression", `{"quant_method":"compressed-tensors","ignore":["re:("],"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":32,"strategy":"group"}}}}`, linear("model.layers", 0, "mlp.down_proj"), false},
		{"mxfp4 experts only", `{"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn"]}`, linear("model.layers", 0, "mlp.router"), true},
	} {
		got := quantOf(t, c.section).Of(c.m)
		require.Equal(t, c.kept, got.Kind == Never, c.name)
	}
}

func TestSchemes(t *testing.T) {
	for _, c := range []struct {
		section     string
		linear, moe SchemeKind
	}{
		{`{"quant_method":"fp8"}`, FP8Tensor, FP8Tensor},
		{`{"quant_method":"fp8","weight_block_size":[128,128]}`, FP8Block, FP8Block},
		{`{"quant_method":"fp8","weight_block_size":[128,128],"expert_dtype":"fp4"}`, FP8Block, MXFP4Fp8},
		{`{"quant_method":"gptq","bits":4,"group_size":128}`, Int4, Int4},
		{`{"quant_method":"awq","bits":4,"group_size":128}`, Int4, Int4},
		{`{"quant_method":"modelopt","quant_algo":"NVFP4"}`, NVFP4, NVFP4},
		{`{"quant_method":"modelopt","quant_algo":"FP8"}`, FP8Tensor, FP8Tensor},
		{`{"quant_method":"mxfp4"}`, Never, MXFP4},
	} {
		q := quantOf(t, c.section)
		require.Equal(t, c.linear, q.Of(linear("model.layers", 0, "mlp.down_proj")).Kind, c.section)
		require.Equal(t, c.moe, q.Of(experts("model.layers", 0, "mlp.experts")).Kind, c.section)
	}
	var none *Quant
	require.Equal(t, Never, none.Of(linear("model.layers", 0, "mlp.down_proj")).Kind)
}

// What a scheme stores of a projection of 256 x 512.
func TestStoredBytes(t *testing.T) {
	for _, c := range []struct {
		s    Scheme
		want int64
	}{
		{Scheme{Kind: Never}, 256 * 512 * 2},
		{Scheme{Kind: FP8Block, Rows: 128, Cols: 128}, 256*512 + 2*4*4},
		{Scheme{Kind: FP8Tensor}, 256*512 + 4},
		{Scheme{Kind: MXFP8, Cols: 32}, 256*512 + 256*16},
		{Scheme{Kind: NVFP4, Group: 16}, 256*256 + 256*32 + 8},
		{Scheme{Kind: Int4, Bits: 4, Group: 32, Packed: true}, 256*512/2 + 16*256*2 + 16},
	} {
		m := []Module{{Kind: Linear, Out: 256, In: 512, Parts: 1, Scheme: c.s}}
		r := NewReplay(8)
		Build(m, r, &Rules{})
		require.EqualValues(t, c.want, r.Total(), "%+v", c.s)
	}
}
