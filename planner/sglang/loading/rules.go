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
		Int4Index:          true,
	}
}

func truthy(s string) bool { return s == "1" || s == "true" || s == "True" || s == "TRUE" }
