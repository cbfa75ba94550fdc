package capture

import (
	"strings"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/units"
)

// measured are the architectures whose launches were measured; neighbours
// have the same layers under another name.
var (
	measured = map[string]bool{
		"LlamaForCausalLM": true, "Qwen3ForCausalLM": true, "Qwen3MoeForCausalLM": true,
		"GptOssForCausalLM": true, "Qwen3NextForCausalLM": true, "DeepseekV2ForCausalLM": true,
		"DeepseekV3ForCausalLM": true,
	}
	neighbours = map[string]bool{
		"Qwen2ForCausalLM": true, "MistralForCausalLM": true, "MixtralForCausalLM": true, "Phi3ForCausalLM": true,
		"Qwen2MoeForCausalLM": true, "KimiK25ForConditionalGeneration": true,
		"Qwen3_5ForConditionalGeneration": true, "Qwen3_5MoeForConditionalGeneration": true,
	}
	// unreplayed are architectures with layers that have no replay here.
	unreplayed = []string{"DeepseekV4", "NemotronH", "Mamba", "FalconH1", "KimiK3", "KimiLinear", "Llama4", "MiniMaxM3",
		"SALA", "Inkling", "Qwen4", "Jet", "Lfm2", "Granite", "Zamba", "Bailing"}
)

// unmeasured lists what nobody measured about this class of launch.
func (p *plan) unmeasured() []activation.Share {
	var out []activation.Share
	add := func(yes bool, what string, part float64) {
		if yes {
			out = append(out, activation.Share{What: what, Part: part})
		}
	}
	arch := p.info.Arch
	odd := false
	for _, s := range unreplayed {
		odd = odd || strings.Contains(arch, s)
	}
	switch {
	case odd || p.info.HCMult > 1 || p.info.Linear != nil && !p.hasLinear():
		add(true, "layers of "+arch, 0.50)
	case measured[arch]:
	case neighbours[arch]:
		add(true, "the architecture "+arch+" (a neighbour was)", 0.05)
	default:
		add(true, "the architecture "+arch, 0.20)
	}
	add(p.info.IsMultimodal, "the vision encoder", 0.20)
	add(p.spec.on() && !p.hasLinear(), "speculative decoding", 0.25)
	add(p.spec.on() && p.hasLinear(), "speculative decoding with recurrent layers", 0.50)
	q := p.quantization()
	add(q != "" && q != "mxfp4", "quantised GEMMs ("+q+")", 0.08)
	add(p.latent() && p.out.Prefill != nil, "prefill graphs of MLA", 0.25)
	add(p.l.tp > 2, "more than two ranks", 0.20)
	add(p.l.dp > 1, "DP attention (but for one launch)", 0.25)
	add(p.l.ep > 1, "expert parallelism", 0.15)
	add(p.l.pp > 1, "pipeline parallelism", 0.10)
	add(p.a.Bool("enable_lora"), "LoRA", 0.15)
	add(p.a.Bool("enable_torch_compile"), "torch.compile", 0.20)
	add(p.a.Bool("enable_two_batch_overlap"), "two-batch overlap", 0.20)
	add(!p.back.only("fa3") && !(p.back.only("triton") && !p.latent()), "attention backend "+strings.Join(p.back, " and "), 0.10)
	add(p.card.Major != 9 && p.card.Major != 0, "cards other than Hopper", 0.10)
	switch {
	case p.r.Before("0.5"):
		add(true, "release "+p.r.String(), 0.40)
	case p.r.AtLeast("0.5.23") || p.r.Before("0.5.15"):
		add(true, "release "+p.r.String(), 0.20)
	case !p.r.Within("0.5.17", "0.5.17.post9"):
		add(true, "release "+p.r.String()+" (public logs only)", 0.06)
	}
	return out
}

// spread is how far the measured launches lie from the model.
func (p *plan) spread() activation.Spread {
	gib := func(g float64) units.Bytes { return units.FromGiB(g) }
	s := activation.Spread{Start: gib(0.08), Ready: gib(0.12), Serving: gib(0.08), Replay: 0.04, Load: 0.10}
	if p.hasLinear() {
		s.Start, s.Ready = s.Start+gib(0.2), s.Ready+gib(0.15)
	}
	if p.tritonKernels() {
		s.Start, s.Ready, s.Serving = s.Start+gib(0.15), s.Ready+gib(0.15), s.Serving+gib(0.15)
	}
	if p.out.Prefill.Max() != 8192 {
		s.Start, s.Ready = s.Start+gib(0.05), s.Ready+gib(0.05)
	}
	return s
}
