package loading

import (
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/model/weights"
)

// a2aSpread are the all-to-all backends under which every rank of the TP group
// holds whole experts (ep_size becomes tp_size, server_args.py).
var a2aSpread = map[string]bool{"deepep": true, "mooncake": true, "mori": true, "nixl": true, "flashinfer": true, "ascend_fuseep": true, "deepep_v2": true}

// layout derives the groups of ranks from the arguments.
func (l *loader) layout(opt Options) weights.Layout {
	a := l.args
	tp := clamp(a.IntOr("tp_size", 1))
	dp := clamp(a.IntOr("dp_size", 1))
	out := weights.Layout{TP: tp, AttnTP: tp, EP: 1, MoETP: tp, Dense: tp, Vision: tp, PP: clamp(a.IntOr("pp_size", 1)), Stage: opt.PPStage}
	// From 0.5.22 the attention's own size says it; before, dp_size with the switch.
	if n := a.IntOr("attn_dp_size", 1); n > 1 {
		out.DPAttention, dp = true, n
	} else {
		out.DPAttention = a.Bool("enable_dp_attention") && dp > 1
	}
	if cp := clamp(a.IntOr("attn_cp_size", 1)); cp > 1 {
		out.AttnTP /= min(cp, out.AttnTP)
	}
	if out.DPAttention {
		out.AttnTP = max(1, out.AttnTP/dp)
	}
	out.EP = min(clamp(a.IntOr("ep_size", 1)), tp)
	if back := a.Str("moe_a2a_backend"); a2aSpread[back] {
		out.A2A, out.EP = true, tp
	}
	out.MoETP = max(1, tp/out.EP)
	if n := a.Int("moe_dense_tp_size"); n > 0 {
		out.Dense = min(clamp(n), tp)
	}
	if a.Bool("mm_enable_dp_encoder") {
		out.Vision = 1
	}
	out.DPHead = a.Bool("enable_dp_lm_head") && out.DPAttention
	out.Redundant = max(0, min(a.Int("ep_num_redundant_experts"), 1<<13))
	out.Stage = min(max(opt.PPStage, 0), out.PP-1)
	out.Partition = partition(l.env["SGLANG_PP_LAYER_PARTITION"])
	return out
}

// clamp keeps a group size within what any cluster has.
func clamp(n int64) int64 { return min(max(n, 1), 1<<16) }

func partition(s string) []int64 {
	if s == "" {
		return nil
	}
	var out []int64
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}
