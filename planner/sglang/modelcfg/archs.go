package modelcfg

import "github.com/sglplan/sglplan/planner/sglang/release"

// archSet names architectures and the first release that treats them so.
type archSet map[string]string

func (s archSet) has(r release.Release, arch string) bool {
	since, ok := s[arch]
	return ok && r.AtLeast(since)
}

// Llava's own classes keep the language model at the top level
// (get_hf_text_config), so a text_config there is not read.
func topLevelText(arch string) bool {
	return len(arch) > 16 && arch[:5] == "Llava" && arch[len(arch)-11:] == "ForCausalLM"
}

// latentArchs use the compressed latent of DeepSeek-V2 (the special case in
// ModelConfig._derive_model_shapes): head_dim 256 and the text config's ranks.
var latentArchs = archSet{
	"DeepseekV2ForCausalLM": "0.4.6", "DeepseekV3ForCausalLM": "0.4.6", "DeepseekV3ForCausalLMNextN": "0.4.6",
	"LongcatFlashForCausalLM": "0.5.2", "LongcatFlashForCausalLMNextN": "0.5.2",
	"DeepseekV32ForCausalLM": "0.5.3", "DotsVLMForCausalLM": "0.5.3",
	"MistralLarge3ForCausalLM": "0.5.6.post1", "MistralLarge3ForCausalLMEagle": "0.5.6.post1",
	"Glm4MoeLiteForCausalLM": "0.5.8", "GlmMoeDsaForCausalLM": "0.5.9", "KimiK25ForConditionalGeneration": "0.5.9",
	"Eagle3DeepseekV2ForCausalLM": "0.5.10", "Glm4MoeLiteForCausalLMNextN": "0.5.10", "GlmMoeDsaForCausalLMNextN": "0.5.14",
	"Dots3NoteForCausalLM": "0.5.19", "Dots3NoteForCausalLMNextN": "0.5.19",
	"Glm5NextForConditionalGeneration": "0.5.20", "Glm5NextForConditionalGenerationNextN": "0.5.20",
	"HYV4ForCausalLM": "0.5.20", "HYV4ForCausalLMNextN": "0.5.20",
	"GigaChat35ForCausalLM": "0.5.21", "GigaChat35ForCausalLMNextN": "0.5.21",
}

// latentIfRank use the latent only where the file has kv_lora_rank.
var latentIfRank = archSet{"PixtralForConditionalGeneration": "0.5.6.post1"}

// otherLatentArchs are MLA with a head_dim of their own (a plain number below).
var otherLatentArchs = map[string]struct {
	since   string
	headDim int
}{
	"MiniCPM3ForCausalLM":                    {"0.4.6", 128},
	"DeepseekVL2ForCausalLM":                 {"0.4.6", 256},
	"KimiVLForConditionalGeneration":         {"0.4.6", 256},
	"KimiLinearForCausalLM":                  {"0.5.4.post2", 72},
	"BailingMoeV2_5ForCausalLM":              {"0.5.9", 0},
	"SarvamMLAForCausalLM":                   {"0.5.10", 0},
	"KimiK3ForConditionalGeneration":         {"0.5.17", 72},
	"KimiK3LinearForCausalLM":                {"0.5.19", 72},
	"BailingMoeV3ForCausalLM":                {"0.5.19", 128},
	"BailingMoeV3VLForConditionalGeneration": {"0.5.21", 128},
}

// indexedArchs have DeepSeek sparse attention when index_topk is present
// (is_deepseek_dsa, is_deepseek_nsa before).
var indexedArchs = archSet{
	"DeepseekV3ForCausalLM": "0.5.3", "DeepseekV32ForCausalLM": "0.5.3", "DeepseekV3ForCausalLMNextN": "0.5.3",
	"MistralLarge3ForCausalLM": "0.5.6.post1", "PixtralForConditionalGeneration": "0.5.6.post1",
	"GlmMoeDsaForCausalLM": "0.5.9", "GlmMoeDsaForCausalLMNextN": "0.5.14",
	"LongcatFlashForCausalLM": "0.5.14", "LongcatFlashForCausalLMNextN": "0.5.14",
	"Dots3NoteForCausalLM": "0.5.19", "Dots3NoteForCausalLMNextN": "0.5.19",
	"Glm5NextForConditionalGeneration": "0.5.20", "Glm5NextForConditionalGenerationNextN": "0.5.20",
	"HYV4ForCausalLM": "0.5.20", "HYV4ForCausalLMNextN": "0.5.20",
}

// deepseekV4Archs run compressed attention; before their first release they
// are read as plain MHA.
var deepseekV4Archs = archSet{
	"DeepseekV4ForCausalLM": "0.5.12", "DeepseekV4ForCausalLMNextN": "0.5.12", "DeepseekV4ForCausalLMDSpark": "0.5.15",
}

// pureSSMArchs have no attention at all.
var pureSSMArchs = archSet{
	"Mamba2ForCausalLM": "0.5.20", "FalconMambaForCausalLM": "0.5.20", "MambaForCausalLM": "0.5.20",
}

var encoderDecoderArchs = archSet{
	"MllamaForConditionalGeneration": "0.4.6", "WhisperForConditionalGeneration": "0.5.2", "MossVLForConditionalGeneration": "0.5.11",
}

// multimodalOff are multimodal architectures that are served as text unless
// --enable-multimodal is given.
var multimodalOff = archSet{
	"Gemma3ForConditionalGeneration": "0.4.6", "Llama4ForConditionalGeneration": "0.4.6",
	"Step3VLForConditionalGeneration": "0.4.10.post1", "InklingForConditionalGeneration": "0.5.16",
}

// multimodalArchs is SGLang's list of multimodal architectures.
var multimodalArchs = archSince(map[string][]string{
	"0.4.6": {
		"CLIPModel", "DeepseekVL2ForCausalLM", "Gemma3ForConditionalGeneration", "Grok1VForCausalLM", "Grok1AForCausalLM",
		"LlavaLlamaForCausalLM", "Llama4ForConditionalGeneration", "LlavaMistralForCausalLM", "LlavaQwenForCausalLM",
		"LlavaForConditionalGeneration", "LlavaVidForCausalLM", "MiniCPMO", "MiniCPMV", "MultiModalityCausalLM",
		"MllamaForConditionalGeneration", "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration",
		"KimiVLForConditionalGeneration", "InternVLChatModel", "Phi4MMForCausalLM",
	},
	"0.4.9": {"Mistral3ForConditionalGeneration", "Gemma3nForConditionalGeneration", "Qwen2AudioForConditionalGeneration"},
	"0.5.3": {
		"DotsOCRForCausalLM", "DotsVLMForCausalLM", "Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration",
		"InternS1ForConditionalGeneration", "NVILAForConditionalGeneration", "NVILALiteForConditionalGeneration", "POINTSV15ChatModel",
		"Qwen3OmniMoeForConditionalGeneration", "Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration",
		"Sarashina2VisionForCausalLM", "Step3VLForConditionalGeneration", "DeepseekOCRForCausalLM",
	},
	"0.5.9": {
		"Ernie4_5_VLMoeForConditionalGeneration", "GlmAsrForConditionalGeneration", "GlmOcrForConditionalGeneration",
		"InternS1ProForConditionalGeneration", "JetVLMForConditionalGeneration", "KimiK25ForConditionalGeneration",
		"LightOnOCRForConditionalGeneration", "MiDashengLMModel", "NemotronH_Nano_VL_V2", "PaddleOCRVLForConditionalGeneration",
		"PixtralForConditionalGeneration", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration",
		"StepVLForConditionalGeneration",
	},
	"0.5.11": {
		"Cohere2VisionForConditionalGeneration", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration",
		"InternS2PreviewForConditionalGeneration", "Lfm2VlForConditionalGeneration", "MossVLForConditionalGeneration",
		"NemotronH_Nano_Omni_Reasoning_V3", "Qwen3ASRForConditionalGeneration", "Step3p7ForConditionalGeneration",
		"VoxtralForConditionalGeneration", "WhisperForConditionalGeneration",
	},
	"0.5.15": {
		"GlmImageForConditionalGeneration", "LocateAnythingForConditionalGeneration", "MiMoV2ASRForCausalLM",
		"MiniMaxM3SparseForConditionalGeneration", "UnlimitedOCRForCausalLM", "MiMoV2ForCausalLM",
	},
	"0.5.18": {"InternS2MobiusForConditionalGeneration", "MuseGlimmerForConditionalGeneration"},
	"0.5.19": {"Dots3NoteForCausalLM"},
	"0.5.20": {
		"Cosmos3EdgeForConditionalGeneration", "Glm5NextForConditionalGeneration", "NemotronH_Omni_Reasoning_V3",
		"Qwen4ExpForConditionalGeneration",
	},
	"0.5.21": {
		"BailingMM2NativeForConditionalGeneration", "BailingMMNativeForConditionalGeneration",
		"BailingMoeV3VLForConditionalGeneration", "DiffusionGemmaForBlockDiffusion",
	},
	"0.5.22": {"EmbeddingGemma2Model"},
	"0.5.23": {"MuseSparkForConditionalGeneration"},
})

func archSince(by map[string][]string) archSet {
	s := archSet{}
	for since, archs := range by {
		for _, a := range archs {
			s[a] = since
		}
	}
	return s
}
