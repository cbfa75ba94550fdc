package modelcfg

// draftRename is one line of ModelConfig._config_draft_model: the architecture
// that loads as a draft, its name there, the first release, and whether the
// depth is set to one.
type draftRename struct {
	to    string
	since string
	depth bool
}

var draftRenames = map[string]draftRename{
	"DeepseekV3ForCausalLM":                   {"DeepseekV3ForCausalLMNextN", "0.4.6", false},
	"DeepseekV32ForCausalLM":                  {"DeepseekV3ForCausalLMNextN", "0.5.3", false},
	"GlmMoeDsaForCausalLM":                    {"GlmMoeDsaForCausalLMNextN", "0.5.14", false},
	"DeepseekV4ForCausalLM":                   {"DeepseekV4ForCausalLMNextN", "0.5.12", true},
	"Glm4MoeForCausalLM":                      {"Glm4MoeForCausalLMNextN", "0.5.2", false},
	"Glm4MoeLiteForCausalLM":                  {"Glm4MoeLiteForCausalLMNextN", "0.5.10", false},
	"Glm5NextForConditionalGeneration":        {"Glm5NextForConditionalGenerationNextN", "0.5.20", true},
	"GlmOcrForConditionalGeneration":          {"GlmOcrForConditionalGenerationNextN", "0.5.9", false},
	"LongcatFlashForCausalLM":                 {"LongcatFlashForCausalLMNextN", "0.5.2", false},
	"MiMoForCausalLM":                         {"MiMoMTP", "0.4.7", false},
	"MiMoV2FlashForCausalLM":                  {"MiMoV2MTP", "0.5.7", true},
	"MiMoV2ForCausalLM":                       {"MiMoV2MTP", "0.5.11", true},
	"Step3p5ForCausalLM":                      {"Step3p5MTP", "0.5.9", false},
	"Step3p7ForConditionalGeneration":         {"Step3p5MTP", "0.5.13", false},
	"InklingForConditionalGeneration":         {"InklingForConditionalGenerationMTP", "0.5.16", false},
	"GigaChat35ForCausalLM":                   {"GigaChat35ForCausalLMNextN", "0.5.21", false},
	"BailingMoeV2ForCausalLM":                 {"BailingMoeForCausalLMNextN", "0.5.4", false},
	"BailingMoeForCausalLM":                   {"BailingMoeForCausalLMNextN", "0.5.4", false},
	"BailingMoeV2_5ForCausalLM":               {"BailingMoeForCausalLMNextN", "0.5.9", false},
	"BailingMoeV3ForCausalLM":                 {"BailingMoeForCausalLMNextN", "0.5.19", false},
	"Ernie4_5_MoeForCausalLM":                 {"Ernie4_5_MoeForCausalLMMTP", "0.5.0", false},
	"Qwen3NextForCausalLM":                    {"Qwen3NextForCausalLMMTP", "0.5.2", true},
	"Qwen4ExpForConditionalGeneration":        {"Qwen4ExpForCausalLMMTP", "0.5.20", true},
	"Qwen3MoeForCausalLM":                     {"Qwen3MoeForCausalLMMTP", "0.5.15", true},
	"Qwen3_5ForConditionalGeneration":         {"Qwen3_5ForCausalLMMTP", "0.5.9", true},
	"Qwen3_5MoeForConditionalGeneration":      {"Qwen3_5ForCausalLMMTP", "0.5.9", true},
	"Qwen3_5ForCausalLM":                      {"Qwen3_5ForCausalLMMTP", "0.5.13", true},
	"Qwen3_5MoeForCausalLM":                   {"Qwen3_5ForCausalLMMTP", "0.5.13", true},
	"InternS2PreviewForConditionalGeneration": {"Qwen3_5ForCausalLMMTP", "0.5.13", true},
	"InternS2MobiusForConditionalGeneration":  {"Qwen3_5ForCausalLMMTP", "0.5.18", true},
	"ExaoneMoEForCausalLM":                    {"ExaoneMoEForCausalLMMTP", "0.5.9", true},
	"ExaoneMoeForCausalLM":                    {"ExaoneMoEForCausalLMMTP", "0.5.9", true},
	"NemotronHForCausalLM":                    {"NemotronHForCausalLMMTP", "0.5.9", true},
	"NemotronHPuzzleForCausalLM":              {"NemotronHForCausalLMMTP", "0.5.13", true},
	"NemotronH_Omni_Reasoning_V3":             {"NemotronHForCausalLMMTP", "0.5.20", true},
	"HYV3ForCausalLM":                         {"HYV3ForCausalLMNextN", "0.5.11", true},
	"HYV4ForCausalLM":                         {"HYV4ForCausalLMNextN", "0.5.20", true},
}

// renameDraft names the architecture as SGLang does when it loads a config as
// a draft.
func (d *deriver) renameDraft() {
	rn, ok := draftRenames[d.m.Arch]
	if !ok || d.r.Before(rn.since) {
		return
	}
	if d.m.Arch == "DeepseekV4ForCausalLM" && d.bundlesDSpark() && (d.opt.Algorithm == "" || d.opt.Algorithm == "DSPARK") {
		d.m.Arch = "DeepseekV4ForCausalLMDSpark"
		return
	}
	d.m.Arch = rn.to
}

// bundlesDSpark reports whether a DeepSeek-V4 checkpoint carries a DSpark head.
func (d *deriver) bundlesDSpark() bool {
	return d.r.AtLeast("0.5.15") && (d.v.top.has("dspark_config") || d.v.top.has("dspark_num_stages"))
}

// draftDepth sets what the rename changes besides the name. It runs after the
// plain numbers are read.
func (d *deriver) draftDepth() {
	m := d.m
	for _, rn := range draftRenames {
		if rn.to == m.Arch && rn.depth {
			m.NumNextN, m.HasNumNextN = 1, true
		}
	}
	switch m.Arch {
	case "LongcatFlashForCausalLMNextN":
		m.NumHiddenLayers = max(1, m.NumNextN)
	case "Qwen4ExpForCausalLMMTP":
		m.NumHiddenLayers = 1
	}
}
