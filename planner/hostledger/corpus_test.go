package hostledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// glm is a GLM-5 cache: 78 layers of latent rows (576 bytes plain, 656 with
// scales), index keys beside them, and a draft layer where there is one.
func glm(row, tokens, draftLayers int64) []hicache.DevicePool {
	pools := []hicache.DevicePool{
		{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 78, RowBytes: row, Page: 64, Tokens: tokens},
		{Name: "indexer", Kind: hicache.Indexer, Layers: 78, RowBytes: 132, Page: 64, Tokens: tokens},
	}
	if draftLayers > 0 {
		pools = append(pools, hicache.DevicePool{Name: "draft", Kind: hicache.Draft, MLA: true, Layers: draftLayers,
			RowBytes: row, PlainRowBytes: 576, Page: 64, Tokens: tokens})
	}
	return pools
}

// Pool sizes that published logs of real launches name.
func TestPublishedPoolSizes(t *testing.T) {
	hicacheOf := func(key string, v any) fields { return fields{"tp_size": 8, "enable_hierarchical_cache": true, key: v} }
	tests := []struct {
		name    string
		version string
		fields  fields
		pools   []hicache.DevicePool
		want    map[string]float64 // GB per rank
		counted string             // the pool whose tokens are named, "" none
		tokens  int64
	}{
		{"GLM-5.2 FP8, 8 x H200", "0.5.13.post1", hicacheOf("hicache_size", 96), glm(656, 540928, 1),
			map[string]float64{"kv": 96, "indexer": 19.32, "draft": 1.08}, "", 0},
		{"GLM-5.2 NVFP4 with MTP, 8 x B300", "0.5.16", hicacheOf("hicache_size", 270), glm(576, 3000000, 1),
			map[string]float64{"kv": 270, "indexer": 61.88, "draft": 3.46}, "draft", 6009728},
		{"GLM-5.2 on MI355X", "0.5.16", hicacheOf("hicache_size", 16), glm(576, 3263680, 0),
			map[string]float64{"kv": 16}, "kv", 356160},
		{"Qwen3-32B with an FP8 cache", "0.5.18", fields{"enable_hierarchical_cache": true, "hicache_size": 100},
			[]hicache.DevicePool{{Name: "kv", Kind: hicache.Main, Layers: 64, RowBytes: 2048, Page: 64, Tokens: 281216}},
			map[string]float64{"kv": 100}, "kv", 762944},
		{"Qwen3-1.7B, DP attention 4, ratio 2", "0.5.16",
			fields{"tp_size": 4, "dp_size": 4, "enable_dp_attention": true, "enable_hierarchical_cache": true, "hicache_ratio": 2.0},
			[]hicache.DevicePool{{Name: "kv", Kind: hicache.Main, Layers: 28, RowBytes: 4096, Page: 1, Tokens: 1547424}},
			map[string]float64{"kv": 354.94}, "", 0},
		{"Qwen3.6-27B hybrid, ratio 1.5", "0.5.16",
			fields{"enable_hierarchical_cache": true, "hicache_ratio": 1.5},
			[]hicache.DevicePool{{Name: "kv", Kind: hicache.Main, Layers: 16, RowBytes: 2048, Page: 1, Tokens: 183240}},
			map[string]float64{"kv": 9.0}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := Build(request(tt.version, host(4*units.TB, 4*units.TB), tt.fields, tt.pools...))
			got := map[string]hicache.HostPool{}
			for _, p := range l.Pools {
				got[p.Name] = p
			}
			for name, gb := range tt.want {
				require.Contains(t, got, name)
				assert.InEpsilon(t, gb, got[name].RequestedBytes.GB(), 0.005, name)
			}
			if tt.counted != "" {
				assert.Equal(t, tt.tokens, got[tt.counted].Tokens)
			}
		})
	}
}

// Launches that took their host down, and their neighbours that lived.
func TestPublishedHostDeaths(t *testing.T) {
	b300 := host(2895*units.GiB, 2895*units.GiB-31*units.GB)
	tests := []struct {
		name    string
		version string
		req     Request
		worst   finding.Severity
	}{
		{"8 x B300, size 299: indexer on top", "0.5.15.post1", request("0.5.15.post1", b300,
			fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 299}, glm(576, 3000000, 0)...), finding.Warning},
		{"8 x B300, ratio 2", "0.5.15.post1", request("0.5.15.post1", b300,
			fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_ratio": 2.0}, glm(576, 3800000, 0)...), finding.Error},
		{"8 x B300, ratio 0.75", "0.5.15.post1", request("0.5.15.post1", b300,
			fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_ratio": 0.75}, glm(576, 3800000, 0)...), 0},
		{"8 x B300, size 270 with MTP", "0.5.16", request("0.5.16", b300,
			fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 270}, glm(576, 3000000, 1)...), 0},
		{"4 x RTX 3060, size 40: powers of two", "0.5.3", request("0.5.3", host(256*units.GiB, 254*units.GiB),
			fields{"tp_size": 4, "enable_hierarchical_cache": true, "hicache_size": 40}, llamaOf4()), finding.Error},
		{"4 x RTX 3060, size 30", "0.5.3", request("0.5.3", host(256*units.GiB, 254*units.GiB),
			fields{"tp_size": 4, "enable_hierarchical_cache": true, "hicache_size": 30}, llamaOf4()), 0},
		{"size 40 on 44.87 GB", "0.4.9.post2", request("0.4.9.post2", host(64*units.GB, units.Bytes(49.87e9)),
			fields{"enable_hierarchical_cache": true, "hicache_size": 40}, llama(1000)), finding.Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, found := Build(tt.req)
			assert.Equal(t, tt.worst, worstAboveInfo(found), "%v", found)
		})
	}
}

func llamaOf4() hicache.DevicePool {
	return hicache.DevicePool{Name: "kv", Kind: hicache.Main, Layers: 32, RowBytes: 1024, Page: 1, Tokens: 100000}
}

// worstAboveInfo leaves out what was merely said.
func worstAboveInfo(found []finding.Finding) finding.Severity {
	if w := finding.Worst(found); w > finding.Info {
		return w
	}
	return 0
}
