package loading

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

var (
	h200 = machine.Card{Name: "NVIDIA H200", TotalMiB: 143771, Major: 9}
	b200 = machine.Card{Name: "NVIDIA B200", TotalMiB: 183359, Major: 10}
	rtx  = machine.Card{Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", TotalMiB: 97887, Major: 12}
)

func parse(t testing.TB, text string) *model.Config {
	c, err := model.ParseConfig(strings.NewReader(text))
	require.NoError(t, err)
	return c
}

func launchOf(fields map[string]any) *args.Args {
	a := args.New()
	for k, v := range fields {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	return a
}

func TestKimiOnRTX(t *testing.T) {
	cfg := configs(t)["moonshotai__Kimi-K2.5"]
	res, fs := Estimate(release.MustParse("0.5.9"), launchOf(map[string]any{"tp_size": int64(8)}), cfg, rtx, Options{})
	require.Empty(t, fs)
	const measured = 72.33 // GiB of mem usage at the end of loading
	require.Less(t, math.Abs(res.Load.Value.GiB()/measured-1), 0.002)
	require.Equal(t, "compressed-tensors", res.Scheme)
}

const tinyLlama = `{"architectures":["LlamaForCausalLM"],"hidden_size":2048,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,
	"num_hidden_layers":16,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true,"rope_theta":500000}`

func TestSharding(t *testing.T) {
	// 1,235,814,400 parameters, tied, and a table of 131072 x 64 in fp32.
	res, fs := Estimate(release.MustParse("0.5.17"), launchOf(nil), parse(t, tinyLlama), h200, Options{})
	require.Empty(t, fs)
	require.EqualValues(t, 2*1235814400+131072*64*4, res.Resident.Value)
	require.Equal(t, res.Resident.Value, res.Constructed.Value)
	split, _ := Estimate(release.MustParse("0.5.17"), launchOf(map[string]any{"tp_size": int64(4)}), parse(t, tinyLlama), h200, Options{})
	for _, g := range split.Groups {
		switch g.Name {
		case "attention", "dense_mlp", "embedding":
			assert.Equal(t, "tp 4", g.Sharding, g.Name)
		default:
			assert.Equal(t, "copy", g.Sharding, g.Name)
		}
	}
	require.GreaterOrEqual(t, split.Load.Value, split.Resident.Value)
	require.GreaterOrEqual(t, split.Peak.Value, split.Load.Value)
}

func TestRefusals(t *testing.T) {
	qwen := `{"architectures":["Qwen3MoeForCausalLM"],"hidden_size":2048,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":128,
		"moe_intermediate_size":768,"num_hidden_layers":4,"vocab_size":151936,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`
	mamba := `{"architectures":["Mamba2ForCausalLM"],"hidden_size":4096,"num_heads":96,"head_dim":64,"n_groups":6,"num_hidden_layers":2,"vocab_size":32768}`
	for _, c := range []struct {
		name, config string
		fields       map[string]any
		code         finding.Code
	}{
		{"heads", tinyLlama, map[string]any{"tp_size": int64(64)}, CodeShape},
		{"heads by DP", tinyLlama, map[string]any{"tp_size": int64(6)}, CodeShape},
		{"fp8 blocks of experts", qwen, map[string]any{"tp_size": int64(4)}, CodeShape},
		{"experts by EP", strings.Replace(qwen, "128,\n", "100,\n", 1), map[string]any{"tp_size": int64(8), "ep_size": int64(8)}, CodeShape},
		{"mamba groups", mamba, map[string]any{"tp_size": int64(4)}, CodeShape},
		{"no stages", strings.Replace(tinyLlama, "LlamaForCausalLM", "NanbeigeForCausalLM", 1), map[string]any{"pp_size": int64(2)}, CodeShape},
		{"unknown class", `{"architectures":["NoSuchModel"]}`, nil, codeUnknown},
		{"unknown quantisation", strings.Replace(tinyLlama, "{", `{"quantization_config":{"quant_method":"nobody"},`, 1), nil, codeUnknown},
		{"unknown online quantisation", tinyLlama, map[string]any{"quantization": "bitsandbytes"}, codeUnknown},
		{"missing size", `{"architectures":["LlamaForCausalLM"],"hidden_size":4096}`, nil, codeConfig},
		{"absurd size", strings.Replace(tinyLlama, "2048", "9e15", 1), nil, codeConfig},
		{"no layers", strings.Replace(tinyLlama, `"num_hidden_layers":16`, `"num_hidden_layers":0`, 1), nil, codeConfig},
	} {
		res, fs := Estimate(release.MustParse("0.5.17"), launchOf(c.fields), parse(t, c.config), h200, Options{})
		require.Nil(t, res, c.name)
		require.Len(t, fs, 1, c.name)
		require.Equal(t, c.code, fs[0].Code, c.name)
	}
	res, fs := Estimate(release.MustParse("0.5.17"), launchOf(nil), nil, h200, Options{})
	require.Nil(t, res)
	require.Len(t, fs, 1)
}

// The experts of a DeepSeek-V4 are fp4 unless the config, a variable or the
// files say otherwise; an assumption spans both.
func TestExpertType(t *testing.T) {
	all := configs(t)
	stated := all["deepseek-ai__DeepSeek-V4-Flash"]
	silent := &model.Config{Top: model.Section{}, Quant: stated.Quant}
	for k, v := range stated.Top {
		if k != "expert_dtype" {
			silent.Top[k] = v
		}
	}
	a := launchOf(map[string]any{"tp_size": int64(8)})
	run := func(cfg *model.Config, env map[string]string) (*weights.Result, []finding.Finding) {
		res, fs := Estimate(release.MustParse("0.5.23"), a, cfg, h200, Options{Env: env})
		require.NotNil(t, res, fs)
		return res, fs
	}
	fp4, fs := run(stated, nil)
	require.Empty(t, fs)
	fp8, fs := run(silent, map[string]string{"SGLANG_DSV4_FP4_EXPERTS": "0"})
	require.Empty(t, fs)
	require.Greater(t, fp8.Resident.Value, fp4.Resident.Value*3/2)
	guess, fs := run(silent, nil)
	require.Len(t, fs, 1)
	require.Equal(t, codeExperts, fs[0].Code)
	require.Equal(t, fp4.Resident.Value, guess.Resident.Value)
	require.GreaterOrEqual(t, guess.Resident.High, fp8.Resident.Value)
	require.False(t, silent.Text().Has("expert_dtype"), "the caller's config is left alone")
}

// Every rank's stage adds up to the whole.
func TestStages(t *testing.T) {
	cfg := parse(t, strings.Replace(tinyLlama, `"tie_word_embeddings":true`, `"tie_word_embeddings":false`, 1))
	whole, _ := Estimate(release.MustParse("0.5.17"), launchOf(nil), cfg, h200, Options{})
	groups := map[string]int64{}
	for stage := range int64(3) {
		res, fs := Estimate(release.MustParse("0.5.17"), launchOf(map[string]any{"pp_size": int64(3)}), cfg, h200, Options{PPStage: stage, Env: map[string]string{"SGLANG_PP_LAYER_PARTITION": "4,5,7"}})
		require.Empty(t, fs)
		for _, g := range res.Groups {
			groups[g.Name] += g.Bytes
		}
	}
	for _, g := range whole.Groups {
		switch g.Name {
		case "rope", "lm_head": // on every stage
			assert.Equal(t, 3*g.Bytes, groups[g.Name], g.Name)
		default:
			assert.Equal(t, g.Bytes, groups[g.Name], g.Name)
		}
	}
}

// Online fp8 first holds the model in bf16.
func TestOnlineQuantisationPeak(t *testing.T) {
	plain, _ := Estimate(release.MustParse("0.5.17"), launchOf(nil), parse(t, tinyLlama), h200, Options{})
	fp8, fs := Estimate(release.MustParse("0.5.17"), launchOf(map[string]any{"quantization": "fp8"}), parse(t, tinyLlama), h200, Options{})
	require.Empty(t, fs)
	require.Less(t, fp8.Resident.Value, plain.Resident.Value*2/3)
	require.GreaterOrEqual(t, fp8.Peak.Value, plain.Resident.Value)
	require.Equal(t, plain.Constructed.Value, fp8.Constructed.Value)
}

func TestDraftSharesWithTarget(t *testing.T) {
	cfg := configs(t)["deepseek-ai__DeepSeek-V3"]
	a := launchOf(map[string]any{"tp_size": int64(8)})
	draft, fs := Estimate(release.MustParse("0.5.17"), a, cfg, b200, Options{Draft: true, Target: cfg})
	require.Empty(t, fs)
	require.Equal(t, "DeepseekV3ForCausalLMNextN", draft.Architecture)
	var shared int64
	for _, g := range draft.Groups {
		if g.Name == "embedding" || g.Name == "lm_head" {
			shared += g.Bytes
		}
	}
	require.EqualValues(t, int64(draft.Resident.Value)-shared, draft.AfterSharing.Value)
}

func TestUnknownCardIsWide(t *testing.T) {
	cfg := configs(t)["Qwen__Qwen3-30B-A3B-FP8"]
	a := launchOf(nil)
	sure, _ := Estimate(release.MustParse("0.5.17"), a, cfg, h200, Options{})
	open, fs := Estimate(release.MustParse("0.5.17"), a, cfg, machine.Card{}, Options{})
	require.Empty(t, fs)
	require.Greater(t, open.Load.High-open.Load.Low, 3*(sure.Load.High-sure.Load.Low))
}
