package capture

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// decodeSizes and prefillSizes are the lists that releases since 0.5.9 capture
// by default up to 256 requests and 8,192 tokens.
var (
	decodeSizes  = slices.Concat([]int64{1, 2, 4, 8, 12}, steps(16, 256, 8))
	prefillSizes = slices.Concat(steps(4, 32, 4), steps(48, 256, 16), steps(288, 512, 32), steps(576, 1024, 64), steps(1280, 4096, 256), steps(4608, 8192, 512))
)

func steps(from, to, by int64) []int64 {
	var l []int64
	for n := from; n <= to; n += by {
		l = append(l, n)
	}
	return l
}

func llama() *modelcfg.Info {
	return &modelcfg.Info{Arch: "LlamaForCausalLM", NumHiddenLayers: 32, NumAttentionHeads: 32, TotalKVHeads: 8, HeadDim: 128,
		HiddenSize: 4096, IntermediateSize: 14336, VocabSize: 128256, ContextLen: 131072}
}

func deepseek() *modelcfg.Info {
	return &modelcfg.Info{Arch: "DeepseekV3ForCausalLM", NumHiddenLayers: 61, NumAttentionHeads: 128, TotalKVHeads: 128, HeadDim: 192, VHeadDim: 128,
		KVLoraRank: 512, QLoraRank: 1536, QKNopeHeadDim: 128, QKRopeHeadDim: 64, HiddenSize: 7168, IntermediateSize: 18432, MoEIntermediateSize: 2048,
		NumExperts: 256, NumExpertsPerTok: 8, NumSharedExperts: 1, FirstKDenseReplace: 3, VocabSize: 129280, ContextLen: 163840}
}

var h200 = machine.Card{Name: "NVIDIA H200", TotalMiB: 143771, Major: 9}

func arguments(set map[string]any) *args.Args {
	a := args.New()
	for k, v := range map[string]any{"tp_size": 1, "page_size": 1, "chunked_prefill_size": 8192, "attention_backend": "fa3", "cuda_graph_config": map[string]any{
		"decode": map[string]any{"backend": "full", "bs": decodeSizes}, "prefill": map[string]any{"backend": "breakable", "bs": prefillSizes}}} {
		a.Set(k, v, args.Origin{Kind: args.FromRule})
	}
	for k, v := range set {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	return a
}

func termsOf(l activation.Launch) map[string]units.Bytes {
	out := map[string]units.Bytes{}
	for _, ts := range [][]activation.Term{l.Before, l.AtReady, l.Late, l.Serving.Fixed} {
		for _, t := range ts {
			out[t.Name] = t.Bytes.Value
		}
	}
	for _, c := range []*activation.Captures{l.Prefill, l.Decode} {
		if c != nil {
			for _, t := range c.Fixed {
				out[t.Name] = t.Bytes.Value
			}
		}
	}
	return out
}

func planned(version string, info *modelcfg.Info, card machine.Card, set map[string]any) activation.Launch {
	l, _ := Plan(release.MustParse(version), arguments(set), info, nil, nil, card, 100000)
	return l
}

// Workspaces and tables are SGLang's own constants and shapes.
func TestBackends(t *testing.T) {
	const b, ctx = 256, 131072
	for name, want := range map[string]struct{ workspace, tables int64 }{
		"fa3":        {0, b * ctx * 4},
		"triton":     {0, b*ctx*8 + b*32*8*129*4},
		"flashinfer": {384 << 20, b*ctx*5 + 36*8<<20},
		"trtllm_mha": {(384 + 512) << 20, b * ctx * 4},
	} {
		got := termsOf(planned("0.5.17", llama(), h200, map[string]any{"attention_backend": name}))
		require.Equal(t, units.Bytes(want.workspace), got[name+" workspace"], name)
		require.Equal(t, units.Bytes(want.tables), got["tables of decode graphs"], name)
	}
}

// From 0.5.12 triton splits the context of MLA by the card's multiprocessors.
func TestTritonSplitsOfMLA(t *testing.T) {
	for version, want := range map[string]int64{"0.5.11": 8, "0.5.12": 256, "0.5.23": 256} {
		p := plan{r: release.MustParse(version), a: arguments(nil), info: deepseek(), card: h200}
		require.Equal(t, want, p.tritonSplits(), version)
	}
	p := plan{r: release.MustParse("0.5.17"), a: arguments(nil), info: deepseek(), card: machine.Card{Name: "NVIDIA H20"}}
	require.EqualValues(t, 128, p.tritonSplits())
	p.info = llama()
	require.EqualValues(t, 8, p.tritonSplits())
}

func TestGate(t *testing.T) {
	for version, want := range map[string]units.Bytes{"0.5.15": 0, "0.5.16": 4 * units.GiB, "0.5.17": 4 * units.GiB, "0.5.18": 0} {
		require.Equal(t, want, planned(version, llama(), h200, nil).Gate, version)
	}
	require.Zero(t, planned("0.5.17", llama(), h200, map[string]any{"cuda_graph_backend_prefill": "breakable"}).Gate, "chosen by hand")
}

// Collectives that the custom all-reduce cannot take are recorded as NCCL
// nodes: large messages, all of them between more than two cards without
// NVLink, and the exchanges of DP attention.
func TestCollectives(t *testing.T) {
	const layers = 32
	pro := machine.Card{Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", Major: 12}
	for _, c := range []struct {
		card            machine.Card
		set             map[string]any
		prefill, decode float64
	}{
		{h200, map[string]any{"tp_size": 1}, 0, 0},
		{h200, map[string]any{"tp_size": 2}, 16, 0}, // 2304 tokens and more are above 16 MiB
		{pro, map[string]any{"tp_size": 8}, 58, 36},
		{h200, map[string]any{"tp_size": 8, "disable_custom_all_reduce": true}, 58, 36},
		{h200, map[string]any{"tp_size": 2, "dp_size": 2, "enable_dp_attention": true}, 58, 36},
	} {
		got := termsOf(planned("0.5.17", llama(), c.card, c.set))
		require.InDelta(t, c.prefill*2*layers*ncclNode.value, got["NCCL in prefill graphs"].MiB(), 0.01, "%v", c.set)
		require.InDelta(t, c.decode*2*layers*ncclNode.value, got["NCCL in decode graphs"].MiB(), 0.01, "%v", c.set)
	}
}

// What a release captures first, and whether the outputs share a buffer.
func TestOrder(t *testing.T) {
	for version, want := range map[string]activation.Launch{
		"0.5.13": {DecodeFirst: true}, "0.5.14": {}, "0.5.16": {SharedOutput: true},
	} {
		got := planned(version, llama(), h200, map[string]any{"cuda_graph_bs": nil, "piecewise_cuda_graph_tokens": nil})
		require.Equal(t, want.DecodeFirst, got.DecodeFirst, version)
		require.Equal(t, want.SharedOutput, got.SharedOutput, version)
	}
	require.Zero(t, planned("0.5.13", llama(), h200, nil).Eager.PerToken)
	require.EqualValues(t, 48, planned("0.5.14", llama(), h200, nil).Eager.PerToken)
}

// The request pool bounds the decode batches, and its size joins the list.
func TestRequestPool(t *testing.T) {
	got := planned("0.5.17", llama(), h200, map[string]any{"max_running_requests": 20}).Decode.Sizes
	require.Empty(t, cmp.Diff([]int64{20, 16, 12, 8, 4, 2, 1}, got))
}

// Disaggregated servers see one half of the load each.
func TestDisaggregation(t *testing.T) {
	require.Zero(t, planned("0.5.17", llama(), h200, map[string]any{"disaggregation_mode": "decode"}).Serving.Chunk)
	require.Zero(t, planned("0.5.17", llama(), h200, map[string]any{"disaggregation_mode": "prefill"}).Serving.DecodeBatch)
}

// A prompt as long as the context needs more only where MLA projects it up.
func TestLongest(t *testing.T) {
	none := map[string]any{"cuda_graph_config": map[string]any{"decode": map[string]any{"backend": "full", "bs": decodeSizes}, "prefill": map[string]any{"backend": "disabled"}}}
	require.EqualValues(t, 163840-8192, planned("0.5.17", deepseek(), h200, none).Serving.Longest)
	require.Zero(t, planned("0.5.17", llama(), h200, none).Serving.Longest)
	none["attention_backend"] = "triton"
	require.Zero(t, planned("0.5.17", deepseek(), h200, none).Serving.Longest)
	require.Positive(t, activation.Needs(planned("0.5.17", deepseek(), h200, map[string]any{"tp_size": 8, "cuda_graph_config": map[string]any{}})).LongPrompt)
}

// What is gone before the load: 1.27 GiB of an H200 with one rank, 2.19 with
// two were measured; more ranks widen the band.
func TestPreLoad(t *testing.T) {
	r := release.MustParse("0.5.17")
	for ranks, seen := range map[int]float64{1: 1.27, 2: 2.19, 8: 2.9} {
		loss := PreLoad(r, arguments(map[string]any{"tp_size": ranks}), h200)
		require.True(t, loss.Holds(units.FromGiB(seen)), "%d ranks: %v", ranks, loss)
	}
}

// Hostile numbers do not panic and do not run away.
func TestHostileArguments(t *testing.T) {
	for _, set := range []map[string]any{
		{"tp_size": 0, "dp_size": -1, "ep_size": 0, "pp_size": -3}, {"tp_size": 1 << 40, "enable_dp_attention": true, "dp_size": 1 << 40},
		{"chunked_prefill_size": -1, "max_prefill_tokens": 0}, {"page_size": 0, "cuda_graph_config": "x"},
		{"cuda_graph_config": map[string]any{"decode": map[string]any{"backend": "full", "bs": []any{"a", nil, -5.0, 0}}}},
		{"speculative_algorithm": "EAGLE3", "speculative_num_draft_tokens": -4},
	} {
		for _, info := range []*modelcfg.Info{llama(), deepseek(), {}} {
			l, _ := Plan(release.MustParse("0.5.17"), arguments(set), info, nil, nil, h200, -1)
			require.NotPanics(t, func() { activation.Needs(l) }, "%v", set)
		}
	}
}
