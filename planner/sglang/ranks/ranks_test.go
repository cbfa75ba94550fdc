package ranks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

type fields map[string]any

func of(version string, f fields) (Layout, []finding.Finding) {
	a := args.New()
	for k, v := range f {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	return Of(release.MustParse(version), a)
}

func codes(fs []finding.Finding) []finding.Code {
	var out []finding.Code
	for _, f := range fs {
		out = append(out, f.Code)
	}
	return out
}

// The layouts of the host reference, and the quirks of the older releases.
func TestLayouts(t *testing.T) {
	type want struct {
		Total, OnThisHost, AttentionTP, PerReplica int
		GPUs                                       []int
		Codes                                      []finding.Code
	}
	tests := []struct {
		name    string
		version string
		fields  fields
		want    want
	}{
		{"one rank", "0.5.9", fields{}, want{1, 1, 1, 1, []int{0}, nil}},
		{"tp 16 on two hosts, second", "0.5.9", fields{"tp_size": 16, "nnodes": 2, "node_rank": 1},
			want{16, 8, 16, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"tp 8 pp 2 on two hosts", "0.5.9", fields{"tp_size": 8, "pp_size": 2, "nnodes": 2},
			want{16, 8, 8, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"tp 4 pp 2 on one host", "0.5.9", fields{"tp_size": 4, "pp_size": 2},
			want{8, 8, 4, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"DP attention", "0.5.9", fields{"tp_size": 8, "dp_size": 8, "enable_dp_attention": true},
			want{8, 8, 1, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"DP attention as 0.5.22 resolves it", "0.5.23", fields{"tp_size": 8, "dp_size": 1, "attn_dp_size": 4},
			want{8, 8, 2, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"two replicas", "0.5.9", fields{"tp_size": 4, "dp_size": 2},
			want{8, 8, 4, 4, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"base and step", "0.5.9", fields{"tp_size": 2, "base_gpu_id": 4, "gpu_id_step": 2},
			want{2, 2, 2, 2, []int{4, 6}, nil}},
		{"step with stages leaves gaps and collides", "0.5.9", fields{"tp_size": 2, "pp_size": 2, "gpu_id_step": 2},
			want{4, 4, 2, 4, []int{0, 2, 2, 4}, []finding.Code{CodeTwoOnOneGPU}}},
		{"replicas with stages overlap before 0.5.3", "0.5.2", fields{"tp_size": 2, "pp_size": 2, "dp_size": 2},
			want{8, 8, 2, 4, []int{0, 1, 2, 3, 2, 3, 4, 5}, []finding.Code{CodeTwoOnOneGPU}}},
		{"replicas with stages from 0.5.3", "0.5.3", fields{"tp_size": 2, "pp_size": 2, "dp_size": 2},
			want{8, 8, 2, 4, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"0.4.6 knows no stages", "0.4.6", fields{"tp_size": 2, "pp_size": 2},
			want{2, 2, 2, 2, []int{0, 1}, nil}},
		{"context parallel attention", "0.5.9", fields{"tp_size": 8, "attn_cp_size": 2, "dp_size": 2, "enable_dp_attention": true},
			want{8, 8, 2, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil}},
		{"zero, negative, not dividing", "0.5.9", fields{"tp_size": 0, "nnodes": 3, "node_rank": 7, "dp_size": -1},
			want{1, 1, 1, 1, []int{0}, []finding.Code{CodeBadSize, CodeBadSize, CodeBadSize, CodeNotDividing}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, found := of(tt.version, tt.fields)
			got := want{l.Total, l.OnThisHost, l.AttentionTP, l.PerReplica(), l.GPUs(), codes(found)}
			assert.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

func TestProcesses(t *testing.T) {
	tests := []struct {
		name    string
		version string
		fields  fields
		want    Processes
	}{
		{"plain", "0.5.9", fields{"tp_size": 8}, Processes{Main: 1, Schedulers: 8, Detokenizers: 1}},
		{"worker host", "0.5.9", fields{"tp_size": 16, "nnodes": 2, "node_rank": 1}, Processes{Main: 1, Schedulers: 8}},
		{"DP attention with workers", "0.5.12",
			fields{"tp_size": 2, "dp_size": 2, "enable_dp_attention": true, "tokenizer_worker_num": 4, "detokenizer_worker_num": 2},
			Processes{Main: 1, DPController: 1, Schedulers: 2, Detokenizers: 3, TokenizerWorkers: 4}},
		{"weight cache", "0.5.18", fields{"weight_cache_mode": "daemon"},
			Processes{Main: 1, Schedulers: 1, Detokenizers: 1, WeightCacheDaemons: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := of(tt.version, tt.fields)
			assert.Equal(t, tt.want, l.Processes)
		})
	}
}

func TestCheckGPUs(t *testing.T) {
	l, _ := of("0.5.9", fields{"tp_size": 8})
	assert.Empty(t, CheckGPUs(l, 8))
	found := CheckGPUs(l, 6)
	require.Equal(t, []finding.Code{CodeTooFewGPUs}, codes(found))
	assert.Equal(t, []finding.Edit{{Flag: "--tp-size", Value: "4"}}, found[0].Fixes[0].Edits)
	assert.Contains(t, CheckGPUs(l, 1)[0].Detail, "1 GPU is visible")
}

// Sizes from outside never make the layout panic or grow without bound.
func FuzzOf(f *testing.F) {
	f.Add(int64(8), int64(2), int64(2), int64(2), int64(1), int64(1), true)
	f.Add(int64(-1), int64(0), int64(1<<62), int64(0), int64(-9), int64(0), false)
	f.Add(int64(1<<16), int64(1<<16), int64(1<<16), int64(3), int64(2), int64(5), false)
	f.Fuzz(func(t *testing.T, tp, pp, dp, nodes, node, cp int64, attention bool) {
		l, _ := of("0.5.23", fields{"tp_size": tp, "pp_size": pp, "dp_size": dp, "nnodes": nodes,
			"node_rank": node, "attn_cp_size": cp, "enable_dp_attention": attention})
		require.NotEmpty(t, l.Ranks)
		require.LessOrEqual(t, l.OnThisHost, 2*most)
		require.Positive(t, l.AttentionTP)
		require.Positive(t, l.PerReplica())
	})
}
