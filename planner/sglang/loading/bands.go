package loading

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/units"
)

// percent is a band around a figure.
type percent struct{ low, high float64 }

func (p percent) of(n int64) figure.Bytes {
	return figure.Percent(units.Bytes(n), p.low, p.high)
}

// knowledge is how well the figures of a model are known.
type knowledge struct{ tensors, load, peak percent }

// The bands hold what the test over the vectors finds: tensors within a
// hundredth of a percent in every class; loads within half a percent but for
// fp4 layouts on Hopper and for drafts, which are so small that one segment of
// the allocator shows; peaks less well, since they depend on temporaries.
// Classes without vectors follow the source of SGLang's own, unchecked.
var (
	checked = knowledge{percent{0.05, 0.05}, percent{0.5, 0.6}, percent{2, 5}}
	// Without experts and quantisation nothing is rewritten after the load.
	plain     = knowledge{percent{0.05, 0.05}, percent{0.2, 0.2}, percent{2, 5}}
	swizzled  = knowledge{percent{0.05, 0.05}, percent{2, 5}, percent{3, 6}}
	small     = knowledge{percent{0.05, 0.05}, percent{3, 4.5}, percent{4, 22}}
	unchecked = knowledge{percent{1, 1.5}, percent{1.5, 2}, percent{4, 8}}
	// Without the card, what it makes of quantised weights is open.
	cardless = knowledge{percent{5, 12}, percent{6, 15}, percent{10, 40}}
)

func (l *loader) known(draft bool) knowledge {
	switch {
	case l.card.Major == 0 && l.quant != nil:
		return cardless
	case !checkedClasses[l.arch] || !checkedMethods[l.method()]:
		return unchecked
	case draft || l.arch == "LlamaForCausalLMEagle3":
		return small
	case l.quant != nil && l.quant.MoE.Kind == weights.MXFP4 && l.card.Major >= 9:
		return swizzled
	case l.quant == nil && l.mem.Live(weights.Experts) == 0:
		return plain
	}
	return checked
}

// checkedMethods are the quantisations that the vectors hold.
var checkedMethods = map[string]bool{"": true, "fp8": true, "compressed-tensors": true, "modelopt_fp4": true, "modelopt_fp8": true, "modelopt_mixed": true, "mxfp4": true}

// checkedClasses are the classes that the vectors hold.
var checkedClasses = map[string]bool{
	"BeamForCausalLM": true, "DFlashDraftModel": true, "DeepseekV2ForCausalLM": true, "DeepseekV32ForCausalLM": true, "DeepseekV3ForCausalLM": true,
	"DeepseekV3ForCausalLMNextN": true, "DeepseekV41ForCausalLM": true, "DeepseekV4ForCausalLM": true, "FalconH1ForCausalLM": true, "FalconMambaForCausalLM": true,
	"Gemma2ForCausalLM": true, "Gemma3ForConditionalGeneration": true, "Gemma4ForConditionalGeneration": true, "GigaChat35ForCausalLM": true,
	"GigaChat35ForCausalLMNextN": true, "Glm4MoeForCausalLM": true, "Glm4MoeForCausalLMNextN": true, "GlmMoeDsaForCausalLM": true, "GlmMoeDsaForCausalLMNextN": true,
	"GptOssForCausalLM": true, "HYV4ForCausalLM": true, "HYV4ForCausalLMNextN": true, "IQuestQ1ForCausalLM": true, "KimiK25ForConditionalGeneration": true,
	"KimiK3ForConditionalGeneration": true, "Llama4ForConditionalGeneration": true, "LlamaForCausalLM": true, "LlamaForCausalLMEagle3": true,
	"Mamba2ForCausalLM": true, "MiniMaxM2ForCausalLM": true, "MiniMaxM3ForCausalLM": true, "MiniMaxM3SparseForConditionalGeneration": true,
	"MistralForCausalLM": true, "MixtralForCausalLM": true, "MuseSparkForConditionalGeneration": true, "NanbeigeForCausalLM": true, "NemotronHForCausalLM": true,
	"Qwen2ForCausalLM": true, "Qwen3ForCausalLM": true, "Qwen3MoeForCausalLM": true, "Qwen3NextForCausalLM": true, "Qwen3NextForCausalLMMTP": true,
	"Qwen3VLForConditionalGeneration": true, "Qwen3VLMoeForConditionalGeneration": true, "Qwen3_5ForCausalLMMTP": true, "Qwen3_5ForConditionalGeneration": true,
	"Qwen3_5MoeForConditionalGeneration": true, "Qwen4ExpForCausalLMMTP": true, "Qwen4ExpForConditionalGeneration": true,
}
