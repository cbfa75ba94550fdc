package planner_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// host is a machine from the catalogue of cards.
func host(t testing.TB, gpus string, ram, available units.Bytes) machine.Machine {
	t.Helper()
	cards, _, err := machine.ParseGPUs(gpus)
	require.NoError(t, err)
	m, _, err := machine.Apply(machine.Machine{GPUs: cards}, machine.Overrides{HostRAM: &ram, HostAvailable: &available})
	require.NoError(t, err)
	return m
}

// request reads a launch of a catalogue model.
func request(t testing.TB, m machine.Machine, version, line string) planner.Request {
	t.Helper()
	cmd, err := launch.FromArgv(strings.Fields(line))
	require.NoError(t, err)
	r := planner.Request{Launch: cmd, Machines: []machine.Machine{m}, Release: release.MustParse(version), Remote: true}
	r.Model, err = catalogue.Load(r.Models().Target)
	require.NoError(t, err)
	return r
}

const founding = "python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp-size 8 --enable-hierarchical-cache"

func kimi(t testing.TB, version, flags string) planner.Request {
	r := request(t, host(t, "8xRTX-PRO-6000-Blackwell", 449*units.GB, 445*units.GB), version, founding+" "+flags)
	free := units.FromGiB(94.04)
	r.GPUFree = &free
	return r
}

// TestFoundingCase is the launch that the project was born from, and what was
// measured of its neighbours.
func TestFoundingCase(t *testing.T) {
	weights := units.FromGiB(72.33)
	for _, tc := range []struct {
		version, flags string
		measured       bool
		verdict        []planner.Verdict
		tokens         int64
		within         float64
	}{
		{"0.5.9", "--mem-fraction-static 0.93 --hicache-size 300", false, []planner.Verdict{planner.Reject}, 231120, 0.01},
		{"0.5.9", "--mem-fraction-static 0.93 --hicache-size 48", true, []planner.Verdict{planner.Warn, planner.Reject}, 231120, 0.001},
		{"0.5.9", "--mem-fraction-static 0.88 --hicache-size 48", true, []planner.Verdict{planner.OK, planner.Warn}, 159277, 0.001},
		{"0.5.9", "--mem-fraction-static 0.88 --hicache-size 48", false, []planner.Verdict{planner.OK, planner.Warn}, 159277, 0.01},
		{"0.5.9", "--mem-fraction-static 0.85 --hicache-size 48", true, []planner.Verdict{planner.OK}, 116171, 0.001},
		{"0.5.9", "--mem-fraction-static 0.85 --hicache-size 48", false, []planner.Verdict{planner.OK}, 116171, 0.01},
		{"0.5.23", "--mem-fraction-static 0.88 --hicache-size 48", true, []planner.Verdict{planner.Warn}, 157785, 0.001},
		{"0.5.23", "--mem-fraction-static 0.88 --hicache-size 300", true, []planner.Verdict{planner.Reject}, 157785, 0.001},
	} {
		r := kimi(t, tc.version, tc.flags)
		if tc.measured {
			r.GPUWeights = &weights
		}
		p := planner.Check(r)
		require.Contains(t, tc.verdict, p.Verdict, tc)
		got := *p.GPU.MaxTotalNumTokens
		require.InEpsilon(t, tc.tokens, got.Value, tc.within, tc)
		if !tc.measured {
			require.True(t, got.Holds(tc.tokens), "%v: %+v", tc, got)
		}
	}
}

func TestFoundingHost(t *testing.T) {
	p := planner.Check(kimi(t, "0.5.9", "--mem-fraction-static 0.93 --hicache-size 300"))
	require.EqualValues(t, "pass", p.Host.Guard.Verdict)
	f := p.Findings[0]
	require.Equal(t, finding.Error, f.Severity)
	require.Equal(t, "--hicache-size", f.Flag)
	require.Contains(t, f.Detail, "300 GB x 8 ranks = 2,400 GB")
	require.Equal(t, []finding.Edit{{Flag: "--hicache-size", Value: "48"}}, f.Fixes[0].Edits)

	p = planner.Recommend(kimi(t, "0.5.9", ""))
	require.Equal(t, planner.OK, p.Verdict)
	require.EqualValues(t, 48, *p.Recommend.HicacheSize)
	require.GreaterOrEqual(t, *p.Recommend.MemFractionStatic, 0.86)
	require.LessOrEqual(t, *p.Recommend.MemFractionStatic, 0.91)
}

// TestCalibration: one startup log gives the tokens at any other fraction.
func TestCalibration(t *testing.T) {
	pre, w := units.FromGiB(94.04), units.FromGiB(72.33)
	points := map[float64]int64{0.85: 116171, 0.88: 159277, 0.93: 231120}
	for f, tokens := range points {
		for g, want := range points {
			r := kimi(t, "0.5.9", fmt.Sprintf("--mem-fraction-static %v --hicache-size 48", g))
			r.GPUFree = nil
			r.Calibration = &planner.Calibration{PreLoadFree: &pre, Weights: &w, MemFraction: &f, MaxTotalTokens: &tokens}
			require.InEpsilon(t, want, planner.Check(r).GPU.MaxTotalNumTokens.Value, 0.001, "%v from %v", g, f)
		}
	}

	// A death under load moves the recommended fraction down.
	free := units.FromGiB(11.0)
	r := kimi(t, "0.5.9", "")
	before := *planner.Recommend(r).Recommend.MemFractionStatic
	r.Calibration = &planner.Calibration{PoolEndFree: &free, DiedServing: true}
	require.Less(t, *planner.Recommend(r).Recommend.MemFractionStatic, before)
}

// TestLoadingPeak: online quantisation builds the whole model in bf16 first, so
// a card that holds the result can still be too small to make it.
func TestLoadingPeak(t *testing.T) {
	m := host(t, "1xL40S", 500*units.GB, 480*units.GB)
	p := planner.Check(request(t, m, "0.5.17", "--model-path Qwen/Qwen3-32B --quantization fp8"))
	require.Equal(t, planner.Reject, p.Verdict)
	require.Equal(t, planner.CodeDiesLoading, p.Findings[0].Code)
	require.Equal(t, "weights", p.GPU.Phase)
	require.NotEmpty(t, p.Findings[0].Fixes)

	p = planner.Check(request(t, m, "0.5.17", "--model-path Qwen/Qwen3-32B-FP8"))
	require.NotEqual(t, planner.Reject, p.Verdict, "%v", p.Findings)
}

// TestEdits: the command to run keeps the person's own words.
func TestEdits(t *testing.T) {
	p := planner.Check(kimi(t, "0.5.9", "--mem-fraction-static=0.99 --hicache-size 300 --port 80"))
	line := strings.Join(p.Recommend.Argv, " ")
	require.Contains(t, line, "--hicache-size 48 --port 80")
	require.NotContains(t, line, "=0.99")
	require.Contains(t, line, "--mem-fraction-static=0.8")
}

// launches are a spread of launches for properties.
func launches(t testing.TB) []planner.Request {
	var out []planner.Request
	for _, l := range []struct{ gpus, version, line string }{
		{"1xH200", "0.5.17", "--model-path meta-llama/Llama-3.1-8B"},
		{"1xH100", "0.5.23", "--model-path Qwen/Qwen3-32B"},
		{"4xH100", "0.5.20", "--model-path Qwen/Qwen3-235B-A22B-FP8 --tp-size 4 --enable-hierarchical-cache"},
		{"8xH200", "0.5.18", "--model-path deepseek-ai/DeepSeek-R1 --tp-size 8"},
		{"8xH200", "0.5.23", "--model-path deepseek-ai/DeepSeek-V3.2 --tp-size 8 --enable-dp-attention --dp-size 8"},
		{"1xRTX-4090", "0.5.9", "--model-path Qwen/Qwen3-8B"},
		{"2xH100", "0.5.16", "--model-path openai/gpt-oss-120b --tp-size 2"},
		{"4xB200", "0.5.21", "--model-path Qwen/Qwen3.5-397B-A17B-NVFP4 --tp-size 4"},
	} {
		line := strings.Replace(l.line, "Qwen/Qwen3.5-397B-A17B-NVFP4", "nvidia/Qwen3.5-397B-A17B-NVFP4", 1)
		out = append(out, request(t, host(t, l.gpus, 2*units.TB, 2*units.TB), l.version, line))
	}
	return out
}

// TestMoreFractionNeverFewerTokens and never more left over.
func TestMoreFractionNeverFewerTokens(t *testing.T) {
	for _, r := range launches(t) {
		p := planner.Sweep(r)
		for i := 1; i < len(p.Sweep); i++ {
			a, b := p.Sweep[i-1], p.Sweep[i]
			require.LessOrEqual(t, a.MaxTotalNumTokens, b.MaxTotalNumTokens, p.Launch.ModelPath)
			require.GreaterOrEqual(t, a.PoolEndFreeBytes, b.PoolEndFreeBytes, p.Launch.ModelPath)
			require.True(t, b.Tokens.Holds(b.MaxTotalNumTokens))
		}
	}
}

// TestRecommendedIsSafe: what recommend says passes check, and nothing is left
// to recommend.
func TestRecommendedIsSafe(t *testing.T) {
	for _, r := range launches(t) {
		rec := planner.Recommend(r)
		require.NotNil(t, rec.Recommend.MemFractionStatic, rec.Launch.ModelPath)
		cmd, err := launch.FromArgv(rec.Recommend.Argv)
		require.NoError(t, err)
		r.Launch = cmd
		p := planner.Check(r)
		require.NotEqual(t, planner.Reject, p.Verdict, rec.Recommend.Argv)
		require.Empty(t, p.Recommend.Changed, rec.Recommend.Argv)
	}
}

// TestFlagOrderDoesNotMatter: the same flags in another order give the same
// plan.
func TestFlagOrderDoesNotMatter(t *testing.T) {
	groups := [][]string{
		{"--model-path", "moonshotai/Kimi-K2.5"}, {"--tp-size", "8"}, {"--mem-fraction-static", "0.93"},
		{"--enable-hierarchical-cache"}, {"--hicache-size", "300"}, {"--chunked-prefill-size=4096"},
	}
	want := ""
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		rnd.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		var words []string
		for _, g := range groups {
			words = append(words, g...)
		}
		p := planner.Check(request(t, host(t, "8xRTX-PRO-6000-Blackwell", 449*units.GB, 445*units.GB), "0.5.9", strings.Join(words, " ")))
		var codes []string
		for _, f := range p.Findings {
			codes = append(codes, string(f.Code))
		}
		got := fmt.Sprint(p.Verdict, p.GPU.MaxTotalNumTokens, codes)
		if want == "" {
			want = got
		}
		require.Equal(t, want, got)
	}
}

// TestPlanRoundTrip: the JSON reads back as the same plan.
func TestPlanRoundTrip(t *testing.T) {
	for _, r := range launches(t) {
		p := planner.Sweep(r)
		a, err := json.Marshal(p)
		require.NoError(t, err)
		var q planner.Plan
		require.NoError(t, json.Unmarshal(a, &q))
		b, err := json.Marshal(q)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(a), string(b)))
	}
}

// TestWhatCannotBeKnown: missing parts leave the launch undecided, and are
// named.
func TestWhatCannotBeKnown(t *testing.T) {
	cmd, err := launch.FromArgv([]string{"--model-path", "nobody/nothing", "--tp-size", "2"})
	require.NoError(t, err)
	p := planner.Check(planner.Request{Launch: cmd})
	require.Equal(t, planner.Undecided, p.Verdict)
	var codes []finding.Code
	for _, f := range p.Findings {
		codes = append(codes, f.Code)
	}
	require.Subset(t, codes, []finding.Code{planner.CodeModelNotFound, planner.CodeGPUsUnknown, planner.CodeHostUnknown, planner.CodeReleaseAssumed})

	// In JSON an unknown figure is null, not 0.
	p = planner.Check(planner.Request{Launch: cmd, Machines: []machine.Machine{host(t, "2xH100", units.TB, units.TB)}})
	raw, err := json.Marshal(p.GPU)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(raw, &keys))
	for _, key := range []string{"weights_bytes", "kv_bytes_per_token", "max_total_num_tokens", "pool_end_free_bytes", "need_start_bytes", "need_serving_bytes"} {
		require.Contains(t, keys, key)
		require.Nil(t, keys[key], key)
	}
	require.NotNil(t, keys["pre_load_free_bytes"])

	p = planner.Check(planner.Request{Launch: cmd, Ignore: nil, Machines: []machine.Machine{host(t, "1xH100", units.TB, units.TB)}})
	require.Equal(t, planner.Reject, p.Verdict, "two ranks on one GPU")
}

func BenchmarkFraction(b *testing.B) {
	for _, r := range launches(b) {
		b.Run(r.Launch.Flags[1].Text, func(b *testing.B) {
			at := planner.Evaluator(r)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at(0.8 + float64(i%100)/1000)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	r := kimi(b, "0.5.9", "--mem-fraction-static 0.93 --hicache-size 300")
	for b.Loop() {
		planner.Check(r)
	}
}

func BenchmarkRecommend(b *testing.B) {
	r := kimi(b, "0.5.9", "")
	for b.Loop() {
		planner.Recommend(r)
	}
}

// TestPlainLaunchesEverywhere: no release refuses a launch that says nothing
// unusual, and later rules do not leak into earlier releases.
func TestPlainLaunchesEverywhere(t *testing.T) {
	for _, v := range args.Releases() {
		for _, l := range []struct{ gpus, line string }{
			{"1xH100", "--model-path meta-llama/Llama-3.1-8B"},
			{"8xH200", "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8"},
			{"1xRTX-4090", "--model-path Qwen/Qwen3-8B"},
			{"2xH100", "--model-path Qwen/Qwen2.5-32B --tp-size 2"},
		} {
			p := planner.Check(request(t, host(t, l.gpus, 2*units.TB, 2*units.TB), v.String(), l.line))
			require.NotContains(t, []planner.Verdict{planner.Reject, planner.Undecided}, p.Verdict, "%s %s: %+v", v, l.line, p.Findings)
		}
	}
}
