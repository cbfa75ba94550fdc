package modelcfg

import "errors"

// shapes derives the attention geometry (ModelConfig._derive_model_shapes).
func (d *deriver) shapes() {
	m, t, r := d.m, d.v.text, d.r
	ssm := pureSSMArchs.has(r, m.Arch)
	m.HeadDim = d.headDim(ssm)
	m.VHeadDim = m.HeadDim
	if n, ok := t.int("v_head_dim"); ok && (n != 0 || r.Before("0.5.19")) {
		m.VHeadDim = n
	}
	m.SWAHeadDim = t.or("swa_head_dim", m.HeadDim)
	m.SWAVHeadDim = t.or("swa_v_head_dim", m.SWAHeadDim)
	m.AttentionArch = MHA
	switch latent, head := d.latent(); {
	case ssm:
		m.AttentionArch = SSM
	case latent:
		d.latentShapes(head)
	case deepseekV4Archs.has(r, m.Arch):
		d.compressedShapes()
	}
	m.NumKeyValueHeads = t.or("num_key_value_heads", m.NumAttentionHeads)
	m.TotalKVHeads = d.kvHeads()
	d.swaHeads()
	d.gemma4Shapes()
	if m.TotalKVHeads < 1 && m.AttentionArch != SSM {
		d.fail("num_key_value_heads", errors.New("is 0"))
	}
	m.NumAttentionLayers = d.attentionLayers()
	m.IndexHeadDim, m.IndexKPool = d.indexer()
}

// ropeHead are classes that answer head_dim with the rotary part's width.
var ropeHead = map[string]bool{"deepseek_v3": true, "deepseek_v32": true, "glm4_moe_lite": true}

func (d *deriver) headDim(ssm bool) int {
	m, t := d.m, d.v.text
	if n, ok := t.int("head_dim"); ok {
		return n
	}
	if ropeHead[d.v.textType] {
		if n, ok := t.int("qk_rope_head_dim"); ok {
			return n
		}
	}
	if ssm || m.NumAttentionHeads == 0 {
		return 0
	}
	return m.HiddenSize / m.NumAttentionHeads
}

// latent reports whether the release keeps a compressed latent for this
// architecture, and the class's head_dim (0: of the config).
func (d *deriver) latent() (bool, int) {
	arch, t := d.m.Arch, d.v.text
	if latentArchs.has(d.r, arch) {
		return true, 256
	}
	_, hasRank := t.int("kv_lora_rank")
	if latentIfRank.has(d.r, arch) && hasRank {
		return true, 256
	}
	// Every Bailing draft has this name; only those with the latent are MLA.
	if arch == "BailingMoeForCausalLMNextN" && d.r.AtLeast("0.5.9") && hasRank {
		return true, 0
	}
	o, ok := otherLatentArchs[arch]
	if !ok || !d.r.AtLeast(o.since) {
		return false, 0
	}
	if b, given := t.sec.Bool("use_mla"); arch == "DeepseekVL2ForCausalLM" && given && !b {
		return false, 0
	}
	return true, o.headDim
}

func (d *deriver) latentShapes(head int) {
	m, t := d.m, d.v.text
	m.AttentionArch = MLA
	if head > 0 {
		m.HeadDim = head
	}
	m.KVLoraRank = t.or("kv_lora_rank", 0)
	m.QLoraRank = t.or("q_lora_rank", 0)
	m.QKRopeHeadDim = t.or("qk_rope_head_dim", 0)
	m.QKNopeHeadDim = t.or("qk_nope_head_dim", 0)
	m.VHeadDim = t.or("v_head_dim", m.VHeadDim)
	if m.Arch == "BailingMoeV3ForCausalLM" || m.Arch == "BailingMoeV3VLForConditionalGeneration" {
		if t.bool("use_mla_nope") {
			m.QKRopeHeadDim = 0
		}
	}
	if m.Arch == "SarvamMLAForCausalLM" {
		m.HeadDim = m.QKNopeHeadDim + m.QKRopeHeadDim
	}
	m.SWAKVLoraRank = t.or("swa_kv_lora_rank", m.KVLoraRank)
	m.SWAQKRopeHeadDim = t.or("swa_qk_rope_head_dim", m.QKRopeHeadDim)
	if m.KVLoraRank <= 0 {
		d.fail("kv_lora_rank", errors.New("is missing, but the architecture keeps a compressed latent"))
	}
}

// compressedShapes reads DeepSeek-V4.
func (d *deriver) compressedShapes() {
	m, t := d.m, d.v.text
	m.IsDeepseekV4 = true
	m.QKRopeHeadDim = t.or("qk_rope_head_dim", 64)
	m.QKNopeHeadDim = m.HeadDim - m.QKRopeHeadDim
	m.VHeadDim = m.HeadDim
	m.V4 = &V4{
		CompressRatios: d.compressRatios(), WindowSize: t.or("sliding_window", 128),
		IsV41: d.v.modelType == "deepseek_v41", SourceLayers: t.ints("kv_source_layer_ids"),
	}
	if m.QKNopeHeadDim < 0 {
		d.fail("qk_rope_head_dim", errors.New("is larger than head_dim"))
	}
	if len(m.V4.CompressRatios) < m.NumHiddenLayers {
		d.failf("compress_ratios", "has %d entries for %d layers", len(m.V4.CompressRatios), m.NumHiddenLayers)
	}
}

// attentionLayers counts the layers that own K/V where a class has more of
// them than hidden layers.
func (d *deriver) attentionLayers() int {
	m, t, r := d.m, d.v.text, d.r
	n := m.NumHiddenLayers
	switch m.Arch {
	case "LongcatFlashForCausalLM":
		return n * 2
	case "IQuestLoopCoderForCausalLM":
		if r.AtLeast("0.5.6") {
			return n * max(1, t.or("loop_num", 1))
		}
	case "NanbeigeForCausalLM":
		if r.AtLeast("0.5.20") {
			return n * max(1, t.or("num_loops", 1))
		}
	case "WhisperForConditionalGeneration":
		if r.AtLeast("0.5.11") {
			return t.or("encoder_layers", 0) + 2*t.or("decoder_layers", n)
		}
	}
	return n
}

// swaHeads counts the KV heads of window layers.
func (d *deriver) swaHeads() {
	m, t := d.m, d.v.text
	if m.SWANumKeyValueHeads > 0 {
		return
	}
	if n, ok := t.int("swa_num_key_value_heads"); ok {
		m.SWANumKeyValueHeads = n
		return
	}
	if s := t.sub("attention_other_setting"); s != nil {
		m.SWANumKeyValueHeads = clampInt(s.IntOr("num_attention_groups", 0))
	}
}

// indexer returns the width of an index key of DeepSeek sparse attention and
// how many tokens share one; 0 without an indexer.
func (d *deriver) indexer() (dim, kpool int) {
	m, t := d.m, d.v.text
	topk, ok := t.int("index_topk")
	if m.IsDeepseekV4 {
		return t.or("index_head_dim", 128), 1
	}
	if !ok || !indexedArchs.has(d.r, m.Arch) || m.AttentionArch != MLA {
		return 0, 1
	}
	m.IsDSA, m.IndexTopK = true, topk
	m.IndexNHeads = t.or("index_n_heads", 0)
	m.IndexKPoolCompress = t.bool("index_kpool_compress")
	m.SkipsTopK = d.skipsTopK()
	dim = t.or("index_head_dim", 0)
	if dim <= 0 {
		d.fail("index_head_dim", errors.New("is missing, but the model has an indexer"))
	}
	return dim, max(1, t.or("index_kpool", 1))
}
