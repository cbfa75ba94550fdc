package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// arguments are resolved values by field name.
func arguments(kv map[string]any) *args.Args {
	a := args.New()
	for k, v := range kv {
		a.Set(k, v, args.Origin{Kind: args.FromRule})
	}
	return a
}

// A launch of Kimi-K2.5 at TP 8 on 96 GB cards, of which two starts were seen:
// 116,171 tokens at 0.85 and 231,120 at 0.93. From 0.5.18 on the multimodal
// reserve of 100 MiB moves the line by 1,492 tokens.
func TestFoundingLaunch(t *testing.T) {
	const pre, avail = 94.0368, 21.7084
	cfg := configs(t)["nvidia__Kimi-K2.5-NVFP4"]
	for version, want := range map[string][3]int64{
		"0.5.9": {116171, 159277, 231120}, "0.5.18": {114679, 157785, 229628}, "0.5.23": {114679, 157785, 229628},
	} {
		r := release.MustParse(version)
		m, _ := modelcfg.Derive(r, cfg, modelcfg.Options{})
		s, fs := pool.New(r, arguments(map[string]any{"tp_size": 8, "page_size": 1, "kv_cache_dtype": "bf16"}), m, nil, machine.Card{Major: 12, TotalMiB: 97887}, nil)
		require.Empty(t, fs)
		require.EqualValues(t, 70272, s.KVBytesPerToken())
		for i, f := range []float64{0.85, 0.88, 0.93} {
			// The two readings are known to the log's rounding alone.
			require.InDelta(t, want[i], s.At(f, pre, avail).MaxTotalTokens, 8, "%s at %v", version, f)
		}
		require.Equal(t, pool.NoMemory, s.At(0.76, pre, avail).Refused)
	}
	require.InDelta(t, 0.76915, pool.MinFraction(pre, avail), 1e-5)
}

// What the launches below left free at the end of the pools phase, against the
// bytes as allocated. SGLang 0.5.17 on one H200, free memory in GiB as logged.
func TestMeasuredPoolEnd(t *testing.T) {
	cfgs := configs(t)
	r := release.MustParse("0.5.17")
	for _, c := range []struct {
		model         string
		f, pre, avail float64
		tokens        int64
		poolEnd       float64
		extra         map[string]any
	}{
		{"meta-llama__Meta-Llama-3.1-8B", 0.903, 139.13, 124.11, 906051, 11.73, nil},
		{"meta-llama__Meta-Llama-3.1-8B", 0.97, 139.13, 124.11, 982450, 2.21, nil},
		{"meta-llama__Meta-Llama-3.1-8B", 0.929, 139.13, 124.11, 935699, 8.05, nil},
		{"meta-llama__Meta-Llama-3.1-8B", 0.903, 139.13, 124.11, 1812103, 11.46, map[string]any{"kv_cache_dtype": "fp8_e4m3"}},
		{"Qwen__Qwen3-32B", 0.903, 139.13, 78.09, 264513, 12.80, nil},
		{"Qwen__Qwen3-30B-A3B", 0.903, 139.11, 82.22, 750511, 12.77, nil},
		{"openai__gpt-oss-20b", 0.903, 139.13, 124.10, 2685356, 11.46, map[string]any{"swa_full_tokens_ratio": 0.8}},
	} {
		kv := map[string]any{"tp_size": 1, "page_size": 1, "kv_cache_dtype": "auto"}
		for k, v := range c.extra {
			kv[k] = v
		}
		m, _ := modelcfg.Derive(r, cfgs[c.model], modelcfg.Options{})
		s, _ := pool.New(r, arguments(kv), m, nil, machine.Card{Major: 9, TotalMiB: 143771}, nil)
		got := s.At(c.f, c.pre, c.avail)
		require.InEpsilon(t, c.tokens, got.MaxTotalTokens, 0.0005, c.model)
		require.InDelta(t, c.poolEnd, c.avail-got.Bytes.Total().GiB(), 0.05, c.model)
	}
}
