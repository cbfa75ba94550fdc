package modelcfg

import (
	"slices"
	"strings"
)

// windowArchs are the architectures whose sliding-window layers get a pool of
// their own (is_hybrid_swa_model), by release.
var windowArchs = archSet{
	"Llama4ForConditionalGeneration": "0.5.8",
	"GptOssForCausalLM":              "0.5.8",
	"MiMoV2FlashForCausalLM":         "0.5.7", "MiMoV2MTP": "0.5.7", "MiMoV2ForCausalLM": "0.5.11",
	"Step3p5ForCausalLM": "0.5.9", "Step3p5MTP": "0.5.9", "Step3p7ForConditionalGeneration": "0.5.13",
	"Gemma4ForCausalLM": "0.5.11", "Gemma4ForConditionalGeneration": "0.5.11", "Gemma4UnifiedForConditionalGeneration": "0.5.11",
	"LagunaForCausalLM": "0.5.12", "DeepseekV4ForCausalLM": "0.5.12", "DeepseekV4ForCausalLMNextN": "0.5.12", "DeepseekV4ForCausalLMDSpark": "0.5.15",
	"UnlimitedOCRForCausalLM": "0.5.15", "MellumForCausalLM": "0.5.16",
	"InklingForConditionalGeneration": "0.5.16", "InklingForConditionalGenerationMTP": "0.5.16",
	"MuseGlimmerForCausalLM": "0.5.18", "MuseGlimmerForConditionalGeneration": "0.5.18",
	"GraniteSWAForCausalLM": "0.5.19", "GraniteMoeSWAForCausalLM": "0.5.19",
	"IQuestQ1ForCausalLM": "0.5.21", "IQuestQ1MTP": "0.5.21", "DiffusionGemmaForBlockDiffusion": "0.5.21",
	"EmbeddingGemma2Model": "0.5.22", "BeamForCausalLM": "0.5.23",
}

var compressedWindowArchs = []string{
	"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2MTP", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration",
	"Gemma4UnifiedForConditionalGeneration", "EmbeddingGemma2Model", "InklingForConditionalGeneration",
	"InklingForConditionalGenerationMTP", "DiffusionGemmaForBlockDiffusion",
}

// hybrid finds the layer lists of hybrid models.
func (d *deriver) hybrid() {
	m, t := d.m, d.v.text
	m.AttentionChunkSize = t.or("attention_chunk_size", 0)
	m.SlidingWindow = d.slidingWindow()
	m.MTPLocalLayers = t.ints("mtp_local_layer_ids")
	m.AttentionSinks = d.sinks()
	d.linear()
	d.sparse()
	m.IsHybridSWA = d.isWindowHybrid() && !d.opt.DisableHybridSWA
	if m.IsHybridSWA && !m.IsDeepseekV4 {
		full, swa := d.windowLayers()
		if len(swa)+len(full) == 0 {
			d.failf("layer_types", "is missing, but %s splits its layers by it", m.Arch)
		}
		m.Window = &Window{FullLayers: full, SWALayers: swa, Compress: slices.Contains(compressedWindowArchs, m.Arch)}
	}
}

// slidingWindow returns the window; the Qwen2 and Qwen3 classes keep it only
// when use_sliding_window is set.
func (d *deriver) slidingWindow() int {
	t := d.v.text
	if slices.Contains([]string{"qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl_text", "qwen2_5_vl_text", "smollm3"}, d.v.textType) && !t.bool("use_sliding_window") {
		return 0
	}
	n, _ := t.first("sliding_window_size", "sliding_window", "window_size")
	return max(0, n)
}

func (d *deriver) isWindowHybrid() bool {
	m, t := d.m, d.v.text
	if windowArchs.has(d.r, m.Arch) {
		switch m.Arch {
		case "LagunaForCausalLM":
			return d.slidingWindow() > 0
		case "BeamForCausalLM":
			return slices.Contains(d.layerTypes(), "sliding_attention")
		}
		return true
	}
	if d.r.Before("0.5.13") {
		return false
	}
	// Configurations may ask for it themselves.
	return t.bool("is_hybrid_swa") || (m.Arch == "MuseSparkForConditionalGeneration" && slices.Contains(d.layerTypes(), "sliding_attention")) ||
		(isDots3(m.Arch) && d.r.AtLeast("0.5.19"))
}

func isDots3(arch string) bool {
	return arch == "Dots3NoteForCausalLM" || arch == "Dots3NoteForCausalLMNextN"
}

// windowLayers splits the layers into full and window ones (get_hybrid_layer_ids).
func (d *deriver) windowLayers() (full, swa []int) {
	m, t, n := d.m, d.v.text, d.m.NumHiddenLayers
	var isWindow func(layer int) bool
	switch m.Arch {
	case "Llama4ForConditionalGeneration":
		isWindow = func(i int) bool { return (i+1)%4 != 0 }
	case "MiMoV2MTP", "Step3p5MTP":
		return nil, []int{0}
	case "UnlimitedOCRForCausalLM":
		isWindow = func(int) bool { return true }
	case "InklingForConditionalGeneration":
		local := t.ints("local_layer_ids")
		isWindow = func(i int) bool { return slices.Contains(local, i) }
	case "InklingForConditionalGenerationMTP":
		n = m.NumNextN
		isWindow = func(i int) bool { return slices.Contains(m.MTPLocalLayers, i) }
	default:
		if p := t.ints("hybrid_layer_pattern"); p != nil {
			return byPattern(p, n)
		}
		return byTypes(d.layerTypes())
	}
	for i := range n {
		if isWindow(i) {
			swa = append(swa, i)
		} else {
			full = append(full, i)
		}
	}
	return full, swa
}

func byPattern(p []int, n int) (full, swa []int) {
	for i, v := range p[:min(n, len(p))] {
		switch v {
		case 0:
			full = append(full, i)
		case 1:
			swa = append(swa, i)
		}
	}
	return full, swa
}

func byTypes(types []string) (full, swa []int) {
	for i, v := range types {
		switch v {
		case "full_attention":
			full = append(full, i)
		case "sliding_attention":
			swa = append(swa, i)
		}
	}
	return full, swa
}

// layerTypes returns layer_types, or what the configuration class makes of
// shorter descriptions. Entries beyond the layers do not count.
func (d *deriver) layerTypes() []string {
	n := d.m.NumHiddenLayers
	l := d.v.text.strs("layer_types")
	if d.v.textType == "iquest_q1" {
		l = d.iquestLayers()
	}
	if l == nil {
		every := map[string]int{"gpt_oss": 2, "gemma4_text": 6, "beam": 6, "gemma3_text": 6, "cohere2": 4}[d.v.textType]
		if every == 0 {
			return nil
		}
		l = make([]string, n)
		for i := range l {
			l[i] = "sliding_attention"
			if (i+1)%every == 0 {
				l[i] = "full_attention"
			}
		}
	}
	l = slices.Clone(l[:min(n, len(l))])
	if len(l) > 0 && (d.v.textType == "gemma4_text" || d.v.textType == "beam" && d.v.text.strs("layer_types") == nil) {
		l[len(l)-1] = "full_attention" // the class forces its last layer
	}
	return l
}

// iquestLayers builds IQuest-Q1's list from its blocks.
func (d *deriver) iquestLayers() []string {
	t := d.v.text
	or := func(key string, def ...string) []string {
		if l := t.strs(key); l != nil {
			return l
		}
		return def
	}
	window := func(key string) bool { b, ok := t.sec.Bool(key); return !ok || b }
	n := d.m.NumHiddenLayers
	full := slices.Repeat([]string{"full_attention"}, n)
	if !window("use_hybrid_layers") || !window("use_sliding_window") {
		return full
	}
	l := slices.Clone(or("first_layers_types", "full_attention"))
	block := or("hybrid_layers_types_block", "full_attention", "sliding_attention", "sliding_attention", "sliding_attention")
	for range min(max(0, t.or("num_hybrid_layers_block", 21)), n) {
		l = append(l, block...)
	}
	return append(l, or("last_layers_types", "full_attention", "full_attention", "full_attention")...)
}

// sinkArchs learn attention sinks (SWA_SINK_ARCHS).
var sinkArchs = []string{"GptOssForCausalLM", "GraniteSWAForCausalLM", "GraniteMoeSWAForCausalLM", "IQuestQ1ForCausalLM", "IQuestQ1MTP"}

func (d *deriver) sinks() bool {
	m, t := d.m, d.v.text
	if slices.Contains(sinkArchs, m.Arch) {
		return true
	}
	if m.Arch == "MiMoV2FlashForCausalLM" || m.Arch == "MiMoV2ForCausalLM" || m.Arch == "MiMoV2MTP" {
		return t.bool("add_swa_attention_sink_bias") || t.bool("add_full_attention_sink_bias")
	}
	if on, given := t.sec.Bool("learnable_sink"); given {
		return on
	}
	return strings.HasPrefix(m.Arch, "HYV4") // the default of its class
}
