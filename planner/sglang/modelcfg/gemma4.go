package modelcfg

import "slices"

var gemma4Types = []string{"gemma4", "gemma4_unified", "gemma4_assistant", "gemma4_unified_assistant", "diffusion_gemma", "embedding_gemma2"}

// gemma4Shapes turns Gemma 4's shapes round: the file's plain keys describe
// its window layers and global_* its full layers, SGLang's base is full
// attention (get_config of SGLang, Gemma4TextConfig of transformers).
func (d *deriver) gemma4Shapes() {
	m, t := d.m, d.v.text
	if !slices.Contains(gemma4Types, d.v.modelType) {
		return
	}
	m.SWAHeadDim = m.HeadDim
	m.SWAVHeadDim = m.HeadDim
	m.SWANumKeyValueHeads = m.TotalKVHeads
	m.HeadDim = t.or("global_head_dim", 512)
	m.VHeadDim = m.HeadDim
	kv, ok := t.int("num_global_key_value_heads")
	// Before 0.5.19 the key counted by itself; transformers since gates it by
	// attention_k_eq_v, which every file with the key sets.
	if ok && (t.bool("attention_k_eq_v") || d.r.Before("0.5.19")) {
		m.TotalKVHeads, m.NumKeyValueHeads = kv, kv
	}
}
