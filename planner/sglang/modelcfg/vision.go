package modelcfg

// visionDefaults are the class defaults of vision_config by the wrapper's
// model_type. -1: the class has no such attribute and the memory factor falls
// back to its own (24 layers, 1024 wide); keys of the file still count.
var visionDefaults = map[string]Vision{
	"kimi_k25": {27, 1152}, "kimi_vl": {27, 1152}, "kimi_k3": {27, 1024},
	"qwen2_vl": {0, 3584}, "qwen2_5_vl": {0, 3584}, "qwen3_vl": {0, 1152}, "qwen3_vl_moe": {0, 1152},
	"qwen3_5": {0, 1152}, "qwen3_5_moe": {0, 1152}, "qwen4_exp": {0, 1152},
	"gemma3": {12, 768}, "gemma4": {16, 768}, "llama4": {34, 768}, "mllama": {32, 1280},
	"glm4v": {0, 1536}, "glm4v_moe": {0, 1536}, "glm5_next": {0, 1024}, "glm_ocr": {0, 1024},
	"internvl_chat": {48, 3200}, "internvl": {24, 1024}, "mistral3": {24, 1024}, "pixtral": {24, 1024}, "llava": {24, 1024},
	"minimax_m3_vl": {32, 1280}, "muse_glimmer": {50, 1536}, "muse_spark": {50, 1536}, "step3_vl": {63, 1792},
	"dots_vlm": {42, 1536}, "dots_ocr": {42, 1536}, "paddleocr_vl": {27, 1152}, "phi4_multimodal": {27, 1152},
	"ernie4_5_moe_vl": {0, 1280},
}

// impliedVision are wrappers whose class makes a vision_config of its own when
// the file has none.
var impliedVision = map[string]bool{
	"kimi_k25": true, "qwen2_vl": true, "qwen2_5_vl": true, "qwen3_vl": true, "qwen3_vl_moe": true, "qwen3_5": true, "qwen3_5_moe": true,
	"qwen4_exp": true, "llama4": true, "gemma3": true, "step3p7": true, "muse_spark": true,
}

// vision reads what the memory factor asks of vision_config; nil without one.
func (d *deriver) vision() *Vision {
	t := d.v.modelType
	sec := d.v.top.sec.Sub("vision_config")
	def, known := visionDefaults[t]
	if sec == nil {
		if _, null := d.v.top.sec["vision_config"]; null || !impliedVision[t] {
			return nil
		}
	}
	if t == "minimax_m3_vl" && d.r.AtLeast("0.5.16") {
		return &Vision{} // SGLang's own class leaves vision_config a dictionary
	}
	if !known {
		// A class of the checkpoint's own leaves vision_config a dictionary,
		// whose entries are not attributes.
		if _, listed := textDefaults[t]; !listed && d.v.top.sec.Has("auto_map") {
			return &Vision{}
		}
	}
	out := def
	if t == "kimi_k3" { // its class copies the file's vt_* names
		out.Layers = clampInt(sec.IntOr("vt_num_hidden_layers", int64(def.Layers)))
		out.Hidden = clampInt(sec.IntOr("vt_hidden_size", int64(def.Hidden)))
	}
	if t == "kimi_k3" {
		// Its class knows only the names of the tower (vt_...) and answers the
		// common ones with them.
		out.Layers, out.Hidden = clampInt(sec.IntOr("vt_num_hidden_layers", int64(def.Layers))), clampInt(sec.IntOr("vt_hidden_size", int64(def.Hidden)))
		return &out
	}
	if n, ok := sec.Int("num_hidden_layers"); ok {
		out.Layers = clampInt(n)
	}
	if n, ok := sec.Int("hidden_size"); ok {
		out.Hidden = clampInt(n)
	}
	return &out
}
