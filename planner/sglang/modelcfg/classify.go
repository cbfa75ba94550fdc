package modelcfg

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
)

// classify names the kind of pools and decides whether they are modelled.
func (d *deriver) classify() {
	m := d.m
	m.Class = class(m)
	m.Supported = !slices.ContainsFunc(d.found, func(f finding.Finding) bool { return f.Code == CodeBadConfig })
	if why := unmodelled(d); why != "" {
		m.Supported, m.Reason, m.Class = false, why, ClassUndecided
		d.found = append(d.found, finding.New(CodeUndecided, finding.Warning, "--model-path",
			fmt.Sprintf("%s in SGLang %s: %s", m.Arch, d.r, why)))
	}
}

func class(m *Info) Class {
	switch {
	case m.IsDeepseekV4:
		return ClassDSV4
	case m.AttentionArch == SSM:
		return ClassSSM
	case m.QSA != nil:
		return ClassQSA
	case m.Sparse != nil:
		return ClassMiniMax
	case m.Linear != nil:
		return ClassHybrid
	case m.Window != nil:
		return ClassSWA
	case m.IsDSA:
		return ClassDSA
	case m.AttentionArch == MLA:
		return ClassMLA
	}
	return ClassMHA
}

// firstRelease names classes that an older release would silently read as
// something else because it does not know the architecture at all. SGLang
// itself stops there: no model class of that name exists.
var firstRelease = archSet{
	"DeepseekV4ForCausalLM": "0.5.12", "KimiLinearForCausalLM": "0.5.4.post2", "KimiK25ForConditionalGeneration": "0.5.9",
	"GlmMoeDsaForCausalLM": "0.5.9", "Qwen3NextForCausalLM": "0.5.2", "Qwen3_5ForConditionalGeneration": "0.5.9",
	"Qwen3_5MoeForConditionalGeneration": "0.5.9", "Gemma4ForConditionalGeneration": "0.5.11", "MiMoV2FlashForCausalLM": "0.5.7",
	"FalconH1ForCausalLM": "0.5.3", "NemotronHForCausalLM": "0.5.3.post1", "DeepseekV32ForCausalLM": "0.5.3",
	"Qwen4ExpForConditionalGeneration": "0.5.20", "Glm5NextForConditionalGeneration": "0.5.20", "HYV4ForCausalLM": "0.5.20",
	"BailingMoeV3ForCausalLM": "0.5.19", "GigaChat35ForCausalLM": "0.5.21", "BeamForCausalLM": "0.5.23", "IQuestQ1ForCausalLM": "0.5.21",
	"MuseSparkForConditionalGeneration": "0.5.23", "InklingForConditionalGeneration": "0.5.16", "KimiK3ForConditionalGeneration": "0.5.17",
	"MiniMaxM3SparseForConditionalGeneration": "0.5.15", "Mamba2ForCausalLM": "0.5.20", "FalconMambaForCausalLM": "0.5.20",
}

// UnknownToRelease reports whether SGLang got a class for this architecture
// only after a release, given by its AtLeast, and in which; a launch then fails
// when the model is loaded.
func (m *Info) UnknownToRelease(atLeast func(string) bool) (since string, unknown bool) {
	s, ok := firstRelease[m.Arch]
	return s, ok && !atLeast(s)
}

// unmodelled says why the pools of a class are not computed here, "" when they
// are.
func unmodelled(d *deriver) string {
	if d.m.Arch == "" {
		return "the file names no architecture"
	}
	if d.v.modelType == "deepseek_v41" && d.r.Before("0.5.21") {
		return "DeepSeek-V4.1 is served from 0.5.21 on"
	}
	return ""
}
