package loading

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// FuzzEstimate: no config, however broken, panics or gives a figure below
// nothing, in any class.
func FuzzEstimate(f *testing.F) {
	for _, s := range []string{
		tinyLlama,
		`{"architectures":["DeepseekV3ForCausalLM"],"hidden_size":-1,"num_hidden_layers":1e9,"kv_lora_rank":"x"}`,
		`{"hidden_size":7168,"num_hidden_layers":2,"num_attention_heads":0,"num_key_value_heads":0,"vocab_size":0,"intermediate_size":0}`,
		`{"hidden_size":1e300,"num_hidden_layers":512,"num_attention_heads":9223372036854775807}`,
		`{"text_config":{"hidden_size":64,"num_hidden_layers":3},"vision_config":{"depth":99999999,"hidden_size":1e12,"num_heads":0,"patch_size":1e9}}`,
		`{"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"targets":["re:("],"weights":{"num_bits":0,"group_size":0}}},"ignore":["re:[","layers.*"]}}`,
		`{"quantization_config":{"quant_method":"fp8","weight_block_size":[0,-1]},"layer_types":[1,null,{}],"linear_attn_config":{"kda_layers":[1e18]}}`,
		`{"block_configs":[null,7,{"attention":{"n_heads_in_group":0},"ffn":{"ffn_mult":-3}}],"hybrid_override_pattern":"ME*-?","compress_ratios":[4,128,0]}`,
		`{"rope_scaling":{"rope_type":"yarn","factor":1e308,"original_max_position_embeddings":1e18},"max_position_embeddings":1e18}`,
	} {
		f.Add(s, uint8(0), uint8(8), uint8(9))
	}
	archs := weights.Architectures()
	f.Fuzz(func(t *testing.T, text string, class, ranks, major uint8) {
		cfg, err := model.ParseConfig(strings.NewReader(text))
		if err != nil || cfg.Top == nil {
			return
		}
		if class > 0 {
			cfg.Top["architectures"] = []any{archs[int(class)%len(archs)]}
		}
		a := launchOf(map[string]any{"tp_size": int64(ranks), "ep_size": int64(ranks / 2), "dp_size": int64(ranks / 3), "enable_dp_attention": ranks%2 == 0, "pp_size": int64(ranks % 5)})
		res, fs := Estimate(release.MustParse("0.5.23"), a, cfg, machine.Card{Major: int(major % 13)}, Options{PPStage: int64(ranks % 4), Draft: ranks%7 == 0, Target: cfg})
		if res == nil {
			require.NotEmpty(t, fs)
			return
		}
		require.GreaterOrEqual(t, int64(res.Resident.Value), int64(0))
		require.GreaterOrEqual(t, int64(res.Load.Value), int64(0))
	})
}

// TestEveryClassOnGarbage runs each class over configs that lack everything,
// and over one that has every size, each alike.
func TestEveryClassOnGarbage(t *testing.T) {
	for _, arch := range weights.Architectures() {
		for _, text := range []string{`{}`, `{"hidden_size":0,"num_hidden_layers":1}`, `{"hidden_size":1,"num_hidden_layers":1,"vocab_size":1,"num_attention_heads":1,"intermediate_size":1}`} {
			cfg := parse(t, text)
			cfg.Top["architectures"] = []any{arch}
			for _, card := range []machine.Card{h200, b200, rtx, {}} {
				res, fs := Estimate(release.MustParse("0.5.17"), launchOf(nil), cfg, card, Options{})
				require.True(t, res != nil || len(fs) == 1, arch)
			}
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	cfg := configs(b)["Qwen__Qwen3-30B-A3B"]
	a := launchOf(map[string]any{"tp_size": int64(8)})
	for b.Loop() {
		_, _ = Estimate(release.MustParse("0.5.23"), a, cfg, h200, Options{})
	}
}
