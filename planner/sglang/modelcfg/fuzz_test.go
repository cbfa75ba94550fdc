package modelcfg_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// FuzzDerive: no file makes Derive panic, and what it calls supported has
// numbers that the pool arithmetic can hold.
func FuzzDerive(f *testing.F) {
	for _, c := range configs(f) {
		b, err := json.Marshal(c.Top)
		require.NoError(f, err)
		if len(b) < 8<<10 {
			f.Add(b, "", false)
		}
	}
	f.Add([]byte(`{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_hidden_layers":0}`), "", false)
	f.Add([]byte(`{"architectures":["NemotronHForCausalLM"],"model_type":"nemotron_h","hybrid_override_pattern":"M*-","mamba_num_heads":-3}`), `{"num_hidden_layers":9e99}`, true)
	rels := []release.Release{release.MustParse("0.4.6"), release.MustParse("0.5.5"), release.MustParse("0.5.9"), release.MustParse("0.5.16"), release.Newest}
	f.Fuzz(func(t *testing.T, b []byte, over string, draft bool) {
		top, err := model.ParseSection(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, r := range rels {
			m, fs := modelcfg.Derive(r, &model.Config{Top: top}, modelcfg.Options{Overrides: over, IsDraft: draft})
			require.NotNil(t, m)
			if !m.Supported {
				require.NotEmpty(t, fs)
				continue
			}
			require.Positive(t, m.NumHiddenLayers)
			require.Positive(t, m.ContextLen)
			require.NotContains(t, []int{0}, m.DTypeBytes)
			if m.AttentionArch != modelcfg.SSM {
				require.Positive(t, m.TotalKVHeads)
			}
			if m.Linear != nil {
				require.GreaterOrEqual(t, m.Linear.BytesPerRequest(1, len(m.Linear.Layers)), int64(0))
			}
		}
	})
}

// Configurations that no model has are named field by field, never sized.
func TestUnusable(t *testing.T) {
	for name, c := range map[string]struct{ config, over, field string }{
		"no layers":        {`{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_hidden_layers":0}`, "", "num_hidden_layers"},
		"negative heads":   {`{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_attention_heads":-8}`, "", "num_attention_heads"},
		"absurd hidden":    {`{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":9000000000000}`, "", "hidden_size"},
		"no architecture":  {`{"model_type":"llama"}`, "", "architectures"},
		"no KV heads":      {`{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_key_value_heads":0}`, "", "num_key_value_heads"},
		"latent gone":      {`{"architectures":["DeepseekV3ForCausalLM"],"model_type":"deepseek_v3","kv_lora_rank":null}`, "", "kv_lora_rank"},
		"absurd positions": {`{"architectures":["LlamaForCausalLM"],"model_type":"llama","max_position_embeddings":-5}`, "", "max_position_embeddings"},
		"no window list":   {`{"architectures":["MiMoV2FlashForCausalLM"],"num_hidden_layers":4,"hidden_size":64,"num_attention_heads":4}`, "", "layer_types"},
		"broken overrides": {`{"architectures":["LlamaForCausalLM"],"model_type":"llama"}`, "{", "json-model-override-args"},
		"override of zero": {`{"architectures":["LlamaForCausalLM"],"model_type":"llama"}`, `{"num_hidden_layers":0}`, "num_hidden_layers"},
		"pattern missing":  {`{"architectures":["NemotronHForCausalLM"],"model_type":"nemotron_h","num_hidden_layers":4}`, "", "hybrid_override_pattern"},
		"ratios too few":   {`{"architectures":["DeepseekV4ForCausalLM"],"model_type":"deepseek_v4","compress_ratios":[4]}`, "", "compress_ratios"},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := model.ParseSection(byteReader([]byte(c.config)))
			require.NoError(t, err)
			m, fs := modelcfg.Derive(release.Newest, &model.Config{Top: top}, modelcfg.Options{Overrides: c.over})
			require.False(t, m.Supported)
			require.Equal(t, finding.Error, finding.Worst(fs))
			require.Contains(t, fs[0].Detail+fs[0].Flag, c.field)
		})
	}
}

func BenchmarkDerive(b *testing.B) {
	cfgs := configs(b)
	c := cfgs["moonshotai__Kimi-K2-Instruct"]
	b.ReportAllocs()
	for b.Loop() {
		modelcfg.Derive(release.Newest, c, modelcfg.Options{})
	}
}
