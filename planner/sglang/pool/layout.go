package pool

import (
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Parallel is how a launch spreads one model over ranks.
type Parallel struct {
	TP, PP      int
	AttentionDP int // ranks groups with a pool of their own; 1 without DP attention
	AttentionCP int
	AttentionTP int // ranks that share one set of KV heads
	DCP         int // decode context parallel: ranks that shard tokens
}

// parallelOf reads the sizes. From 0.5.22 resolved arguments say attn_dp_size;
// before, dp_size counts only with DP attention.
func parallelOf(a *args.Args) Parallel {
	p := Parallel{TP: one(a.Int("tp_size")), PP: one(a.Int("pp_size")), AttentionCP: one(a.Int("attn_cp_size")), DCP: one(a.Int("dcp_size")), AttentionDP: 1}
	if n := a.Int("attn_dp_size"); n > 1 {
		p.AttentionDP = one(n)
	} else if a.Bool("enable_dp_attention") {
		p.AttentionDP = one(a.Int("dp_size"))
	}
	p.AttentionTP = max(1, p.TP/p.AttentionDP/p.AttentionCP)
	return p
}

// one bounds a parallel size to what a launch can have.
func one(n int64) int { return int(clamp(n, 1, 1<<16)) }

// kvHeads is the KV heads per rank; ranks that shard tokens replicate heads
// (0.5.18 on).
func (p Parallel) kvHeads(r release.Release, m *modelcfg.Info) int64 {
	tp := p.AttentionTP
	if r.AtLeast("0.5.18") && p.DCP > 1 {
		tp = max(1, tp/p.DCP)
	}
	if m.AttentionArch == modelcfg.SSM {
		return 0
	}
	return int64(m.KVHeads(tp))
}

// span is the layers [start, end) of a pipeline stage.
type span struct{ start, end int }

func (s span) holds(layer int) bool { return layer >= s.start && layer < s.end }

func (s span) count(layers []int) int64 {
	var n int64
	for _, l := range layers {
		if s.holds(l) {
			n++
		}
	}
	return n
}

// stages splits n layers over pp stages as get_pp_indices does: the last ones
// get one more, unless SGLANG_PP_LAYER_PARTITION says otherwise. ok is false
// when that variable does not fit.
func stages(n, pp int, env map[string]string) (out []span, ok bool) {
	if pp == 1 {
		return []span{{0, n}}, true
	}
	if list := env["SGLANG_PP_LAYER_PARTITION"]; list != "" {
		return partitioned(n, pp, list)
	}
	base, rest, at := n/pp, n%pp, 0
	for i := range pp {
		size := base
		if i >= pp-rest {
			size++
		}
		out = append(out, span{at, at + size})
		at += size
	}
	return out, true
}

func partitioned(n, pp int, list string) (out []span, ok bool) {
	parts, at := strings.Split(list, ","), 0
	if len(parts) != pp {
		return nil, false
	}
	for _, p := range parts {
		size, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || size < 0 || size > n {
			return nil, false
		}
		out = append(out, span{at, at + size})
		at += size
	}
	return out, at == n
}
