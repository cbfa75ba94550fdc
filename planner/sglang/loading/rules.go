package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// backends are the kernels that decide how weights are rewritten, chosen as
// the release does for the card where the launch leaves them at auto.
type backends struct {
	moe string // moe_runner_backend
}

func (l *loader) chooseBackends() backends {
	return backends{moe: l.args.Str("moe_runner_backend")}
}

// buildRules sets how the release builds models on this card.
func (l *loader) buildRules() weights.Rules {
	return weights.Rules{
		// One RoPE table of the DeepSeek class went away between 0.5.9 and 0.5.17.
		DeepseekRopeCopies: l.rel.Before("0.5.10"),
		EmbedReplicated:    l.rel.AtLeast("0.5.16") && truthy(l.env["SGLANG_ENABLE_EMBED_REPLICATION"]),
		FuseShared:         l.fusesShared(),
		RouterType:         l.since("0.5.18", weights.FP32),
		SinkType:           weights.BF16,
		IndexerFused:       l.rel.AtLeast("0.5.10"),
		IndexerGate:        weights.BF16,
		IndexerOwners:      l.rel.AtLeast("0.5.18"),
		Int4Index:          l.int4Tables(),
	}
}

func truthy(s string) bool { return s == "1" || s == "true" || s == "True" || s == "TRUE" }

// since returns d from a release on and the model's own type before.
func (l *loader) since(v string, d weights.DType) weights.DType {
	if l.rel.AtLeast(v) {
		return d
	}
	return weights.BF16
}

// fusesShared follows determine_num_fused_shared_experts.
func (l *loader) fusesShared() bool {
	t := l.cfg.Text()
	switch {
	case l.args.Bool("disable_shared_experts_fusion"), l.lay.A2A, l.lay.EP > 1, l.card.SM() < 80:
		return false
	}
	n, _ := t.Int("n_routed_experts")
	s, _ := t.Int("n_shared_experts")
	switch l.cfg.Arch() {
	case "DeepseekV3ForCausalLM":
		return n == 256 && s == 1
	case "Glm4MoeForCausalLM":
		return s == 1
	}
	return false
}

// int4Tables reports the index tables of Marlin's int4 experts.
func (l *loader) int4Tables() bool { return l.back.moe != "flashinfer_trtllm" }
