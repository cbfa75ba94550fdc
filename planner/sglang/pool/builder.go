package pool

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// builder holds what the rules read while a Sizer is made.
type builder struct {
	r     release.Release
	a     *args.Args
	m     *modelcfg.Info
	draft *modelcfg.Info
	card  machine.Card
	env   map[string]string
	found []finding.Finding

	// priced is the draft that the budget knows: the arguments name its path.
	// A head inside the checkpoint has a pool all the same.
	priced *modelcfg.Info

	par                           Parallel
	kv                            KVType
	kvHeads, swaHeads             int64
	page                          int64
	prefillBackend, decodeBackend string
	spec                          speculation
}

func newBuilder(r release.Release, a *args.Args, m, draft *modelcfg.Info, card machine.Card, env map[string]string) *builder {
	b := &builder{r: r, a: a, m: m, draft: draft, card: card, env: env, par: parallelOf(a)}
	if a.Has("speculative_draft_model_path") {
		b.priced = draft
	}
	b.kv = kvType(r, lowered(a.Str("kv_cache_dtype")), m)
	b.kvHeads = b.par.kvHeads(r, m)
	b.swaHeads = int64(m.SWAKVHeads(b.par.AttentionTP))
	b.page = clamp(a.IntOr("page_size", 1), 1, 1<<20)
	b.prefillBackend = first(a.Str("prefill_attention_backend"), a.Str("attention_backend"))
	b.decodeBackend = first(a.Str("decode_attention_backend"), a.Str("attention_backend"))
	b.spec = speculationOf(a)
	return b
}

func lowered(s string) string { return strings.ToLower(s) }

func first(s ...string) string {
	for _, t := range s {
		if t != "" {
			return t
		}
	}
	return ""
}

// envInt reads a whole number of the environment, def when unset or unreadable.
func (b *builder) envInt(name string, def int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(b.env[name]), 10, 64); err == nil {
		return n
	}
	return def
}

// envOn reads a switch of the environment as SGLang's EnvBool does.
func (b *builder) envOn(name string) bool {
	switch lowered(b.env[name]) {
	case "1", "true", "yes", "y", "on":
		return true
	}
	return false
}

// disaggregated reports a prefill or decode node.
func (b *builder) disaggregated() bool {
	m := b.a.Str("disaggregation_mode")
	return m == "prefill" || m == "decode"
}

// hostRatio is HiSparse's host_to_device_ratio, 1 when HiSparse is off or the
// release is older than the rule.
func (b *builder) hostRatio(since string) int64 {
	if !b.a.Bool("enable_hisparse") || b.r.Before(since) {
		return 1
	}
	var c struct {
		Ratio *int64 `json:"host_to_device_ratio"`
	}
	if s := b.a.Str("hisparse_config"); s != "" && json.Unmarshal([]byte(s), &c) == nil && c.Ratio != nil {
		return clamp(*c.Ratio, 1, 1<<10)
	}
	return 2
}

// fp8AttentionGEMM is MiniMax-M3's FP8 attention mode.
func (b *builder) fp8AttentionGEMM() bool {
	return b.kv.Name == "fp8_e4m3" && b.a.Str("attention_backend") == "trtllm_mha" && b.card.Major == 10 &&
		!b.envOn("SGLANG_DISABLE_M3_FP8_ATTN_GEMM")
}

// perReplica divides a number of requests over the attention-DP ranks; from
// 0.5.23 none is left with 0.
func (b *builder) perReplica(n int64) int64 {
	n /= int64(b.par.AttentionDP)
	if b.r.AtLeast("0.5.23") {
		n = max(1, n)
	}
	return n
}
