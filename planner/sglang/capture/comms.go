package capture

import (
	"strings"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// communication is the buffers of the ranks' exchanges that appear with the
// first forward: flashinfer's fused all-reduce and the all-to-all of experts.
func (p *plan) communication() {
	if p.reduceFusion() {
		// Flashinfer's workspace for 2048 tokens: one buffer and three of
		// lamport's, each of ranks x tokens x hidden, 2 bytes.
		n := 4 * p.l.tp * fusedTokens * int64(p.info.HiddenSize) * 2
		p.out.Before = append(p.out.Before, activation.Term{Name: "fused all-reduce workspace", Group: activation.Workspace,
			Bytes: figure.Band(units.Bytes(n), 0, units.Bytes(n), figure.Estimated), Source: "flashinfer: ranks x 2048 tokens x hidden x 2 bytes, four times"})
	}
	if a2a := p.a.Str("moe_a2a_backend"); a2a == "deepep" || a2a == "mooncake" || a2a == "nixl" {
		n := p.expertExchange()
		p.out.Before = append(p.out.Before, activation.Term{Name: a2a + " buffers", Group: activation.Workspace,
			Bytes: figure.Band(n, n/2, n*3, figure.Estimated), Source: "DeepEP: size of the low-latency buffers for 128 tokens a rank; 20 GiB seen with 384 experts on 32 ranks"})
	}
}

// fusedTokens is the largest batch of the fused all-reduce.
const fusedTokens = 2048

// fusedReduce are the architectures for which SGLang turns flashinfer's fused
// all-reduce on by itself, and the release from which.
var fusedReduce = map[string]string{
	"DeepseekV3ForCausalLM": "0.5.4", "GptOssForCausalLM": "0.5.4", "Glm4MoeForCausalLM": "0.5.5", "Glm4MoeLiteForCausalLM": "0.5.9",
	"Qwen3MoeForCausalLM": "0.5.5", "KimiK25ForConditionalGeneration": "0.5.9", "DeepseekV32ForCausalLM": "0.5.10",
	"GlmMoeDsaForCausalLM": "0.5.10", "MistralLarge3ForCausalLM": "0.5.10", "Qwen3VLMoeForConditionalGeneration": "0.5.10",
	"Qwen3NextForCausalLM": "0.5.10", "Qwen3_5MoeForConditionalGeneration": "0.5.10", "InternS2PreviewForConditionalGeneration": "0.5.16",
	"Qwen3_5ForConditionalGeneration": "0.5.10", "NemotronHForCausalLM": "0.5.10", "NemotronHPuzzleForCausalLM": "0.5.16",
}

func (p *plan) reduceFusion() bool {
	if p.l.tp == 1 || p.l.dp > 1 || (p.card.Major != 9 && p.card.Major != 10) || p.a.Bool("enforce_disable_flashinfer_allreduce_fusion") {
		return false
	}
	if p.a.Has("flashinfer_allreduce_fusion_backend") || p.a.Bool("enable_flashinfer_allreduce_fusion") {
		return true
	}
	if p.exchanged() {
		return false
	}
	if p.r.Before("0.5.10") && strings.Contains(p.card.Name, "H20") && !strings.Contains(p.card.Name, "H200") {
		return false
	}
	from, ok := fusedReduce[p.info.Arch]
	return ok && p.r.AtLeast(from)
}

// expertExchange is DeepEP's low-latency buffer (get_low_latency_rdma_size_hint):
// twice, a message for every expert and token that is sent and received.
func (p *plan) expertExchange() units.Bytes {
	const tokens = 128 // SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK
	h, experts := int64(p.info.HiddenSize), int64(p.info.NumExperts)
	message := 16 + 2*h
	return units.Bytes(2 * (experts*tokens*2*h + experts*tokens*message))
}
