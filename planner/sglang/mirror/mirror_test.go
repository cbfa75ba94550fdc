package mirror

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

type fields map[string]any

// source prepares a catalogue model with stated arguments on a Hopper card.
func source(t *testing.T, version, id, draftID string, f fields) Source {
	t.Helper()
	r := release.MustParse(version)
	a := args.New()
	a.Set("page_size", 64, args.Origin{})
	a.Set("enable_hierarchical_cache", true, args.Origin{Kind: args.FromFlag})
	for k, v := range f {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	derive := func(id string, o modelcfg.Options) *modelcfg.Info {
		cfg, err := catalogue.Load(id)
		require.NoError(t, err)
		return derived(t, r, cfg, o)
	}
	src := Source{Release: r, Args: a, Model: derive(id, modelcfg.Options{})}
	if draftID != "" {
		src.Draft = derive(draftID, modelcfg.Options{IsDraft: true, Algorithm: a.Str("speculative_algorithm")})
	}
	src.Sizer, _ = pool.New(r, a, src.Model, src.Draft, machine.Card{Name: "NVIDIA H200", TotalMiB: 143771, Major: 9}, nil)
	require.NotNil(t, src.Sizer)
	return src
}

func derived(t *testing.T, r release.Release, cfg *model.Config, o modelcfg.Options) *modelcfg.Info {
	info, _ := modelcfg.Derive(r, cfg, o)
	require.NotNil(t, info)
	require.True(t, info.Supported, info.Reason)
	return info
}

// The mirrored form of every class of cache.
func TestClasses(t *testing.T) {
	type p = hicache.DevicePool
	r := pool.Result{MaxTotalTokens: 100000, FullTokens: 100000, SWATokens: 20000, StateSlots: 240}
	tests := []struct {
		name, version, model, draft string
		fields                      fields
		want                        []p
	}{
		{"MLA", "0.5.9", "deepseek-ai/DeepSeek-V3", "", fields{"tp_size": 8},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 1152, Page: 64, Tokens: 100000}}},
		{"GQA", "0.5.9", "meta-llama/Llama-3.1-8B", "", fields{"tp_size": 2},
			[]p{{Name: "kv", Kind: hicache.Main, Layers: 32, RowBytes: 2048, Page: 64, Tokens: 100000}}},
		{"FP8 cache", "0.5.18", "Qwen/Qwen3-32B", "", fields{"tp_size": 1, "kv_cache_dtype": "fp8_e4m3"},
			[]p{{Name: "kv", Kind: hicache.Main, Layers: 64, RowBytes: 2048, Page: 64, Tokens: 100000}}},
		{"DSA with scales", "0.5.18", "deepseek-ai/DeepSeek-V3.2", "", fields{"tp_size": 8, "kv_cache_dtype": "fp8_e4m3"},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 656, Page: 64, Tokens: 100000},
				{Name: "indexer", Kind: hicache.Indexer, Layers: 61, RowBytes: 132, Page: 64, Tokens: 100000}}},
		{"packed next-token layer", "0.5.19", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3", fields{"tp_size": 8, "speculative_algorithm": "EAGLE"},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, PackedLayers: 1, RowBytes: 1152, Page: 64, Tokens: 100000}}},
		{"the same on the tree of 0.5.18", "0.5.18", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3", fields{"tp_size": 8, "speculative_algorithm": "EAGLE"},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 1152, Page: 64, Tokens: 100000}}},
		{"the same on top in 0.5.17", "0.5.17", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3", fields{"tp_size": 8, "speculative_algorithm": "EAGLE"},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 1152, Page: 64, Tokens: 100000},
				{Name: "draft", Kind: hicache.Draft, MLA: true, Layers: 1, RowBytes: 1152, PlainRowBytes: 1152, Page: 64, Tokens: 100000}}},
		{"no draft mirror before 0.5.11", "0.5.10", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3", fields{"tp_size": 8, "speculative_algorithm": "EAGLE"},
			[]p{{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 1152, Page: 64, Tokens: 100000}}},
		{"hybrid states", "0.5.18", "Qwen/Qwen3.5-27B", "", fields{"tp_size": 4},
			[]p{{Name: "kv", Kind: hicache.Main, Layers: 16, RowBytes: 1024, Page: 64, Tokens: 100000},
				{Name: "mamba", Kind: hicache.State, Layers: 48, RowBytes: 801792, Page: 1, Tokens: 240}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Stages(source(t, tt.version, tt.model, tt.draft, tt.fields), r)
			require.Len(t, got, 1)
			assert.Empty(t, cmp.Diff(tt.want, got[0]))
		})
	}
}

// Window pools, and the same in one buffer.
func TestWindows(t *testing.T) {
	r := pool.Result{MaxTotalTokens: 100032, FullTokens: 100032, SWATokens: 20032}
	got := Stages(source(t, "0.5.21", "openai/gpt-oss-120b", "", fields{"tp_size": 4}), r)[0]
	want := []hicache.DevicePool{
		{Name: "kv", Kind: hicache.Main, Layers: 18, RowBytes: 512, Page: 64, Tokens: 100032},
		{Name: "swa", Kind: hicache.Window, Layers: 18, RowBytes: 512, Page: 64, Tokens: 20032},
	}
	assert.Empty(t, cmp.Diff(want, got))

	got = Stages(source(t, "0.5.21", "openai/gpt-oss-120b", "", fields{"tp_size": 4, "enable_unified_memory": true}), r)[0]
	region := int64(9216) * (100032 + 64 + 20032)
	want = []hicache.DevicePool{
		{Name: "kv", Kind: hicache.Envelope, Layers: 1, RowBytes: 9216 * 64, Page: 64, Tokens: 100032, DeviceBytes: region},
		{Name: "swa", Kind: hicache.Envelope, Layers: 1, RowBytes: 9216 * 64, Page: 64, Tokens: 20032, DeviceBytes: region},
	}
	assert.Empty(t, cmp.Diff(want, got))
}

// DeepSeek-V4 in whole device pages.
func TestCompressed(t *testing.T) {
	r := pool.Result{MaxTotalTokens: 1000192, FullTokens: 1000192, SWATokens: 100096}
	for version, padded := range map[string]int64{"0.5.20": 37440, "0.5.23": 37440} {
		got := Stages(source(t, version, "deepseek-ai/DeepSeek-V4-Flash", "", fields{"tp_size": 8, "page_size": 256, "swa_full_tokens_ratio": 0.1}), r)[0]
		byName := map[string]hicache.DevicePool{}
		for _, p := range got {
			byName[p.Name] = p
		}
		assert.Equal(t, padded, byName["c4"].RowBytes, version)
		assert.Equal(t, int64(132*64), byName["indexer"].RowBytes)
		assert.Equal(t, hicache.PagedWindow, byName["swa"].Kind)
		assert.Equal(t, int64(8*4*512*4), byName["c4_state"].RowBytes)
		assert.Equal(t, byName["c4"].Layers, byName["c4_indexer_state"].Layers)
	}
}

// Pipeline stages hold their own layers.
func TestPipelineStages(t *testing.T) {
	r := pool.Result{MaxTotalTokens: 1000, FullTokens: 1000}
	got := Stages(source(t, "0.5.18", "deepseek-ai/DeepSeek-V3", "", fields{"tp_size": 8, "pp_size": 2}), r)
	require.Len(t, got, 2)
	assert.Equal(t, []int64{30, 31}, []int64{got[0][0].Layers, got[1][0].Layers})
}
