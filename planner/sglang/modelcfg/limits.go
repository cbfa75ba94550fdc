package modelcfg

// Limits of what any model has. They are far above the largest public model
// and keep every product of the pool arithmetic within 64 bits.
const (
	maxLayers  = 4096
	maxHeads   = 1 << 16
	maxDim     = 1 << 17
	maxHidden  = 1 << 20
	maxVocab   = 1 << 26
	maxExperts = 1 << 16
)

// sane reports whether the plain numbers are those of a model; it records a
// finding for each that is not.
func (d *deriver) sane() bool {
	m := d.m
	before := len(d.found)
	d.within("num_hidden_layers", m.NumHiddenLayers, 1, maxLayers)
	d.within("hidden_size", m.HiddenSize, 1, maxHidden)
	d.within("vocab_size", m.VocabSize, 0, maxVocab)
	d.within("intermediate_size", m.IntermediateSize, 0, maxHidden*16)
	d.within("num_experts", m.NumExperts, 0, maxExperts)
	least := 1
	if _, ssm := pureSSMArchs[m.Arch]; ssm {
		least = 0
	}
	d.within("num_attention_heads", m.NumAttentionHeads, least, maxHeads)
	for _, k := range dimensionKeys {
		if n, ok := d.v.text.int(k); ok {
			d.within(k, n, 0, maxDim)
		}
	}
	for _, k := range headKeys {
		if n, ok := d.v.text.int(k); ok {
			d.within(k, n, 0, maxHeads)
		}
	}
	return len(d.found) == before
}

var dimensionKeys = []string{
	"head_dim", "v_head_dim", "swa_head_dim", "swa_v_head_dim", "global_head_dim", "kv_lora_rank", "q_lora_rank",
	"qk_rope_head_dim", "qk_nope_head_dim", "index_head_dim", "indexer_head_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_head_dim",
	"mamba_d_head", "mamba_head_dim", "mamba_d_state", "ssm_state_size", "state_size", "conv_L_cache", "conv_kernel", "mamba_d_conv",
	"linear_conv_kernel_dim", "short_conv_kernel_size", "lightning_head_dim", "swa_kv_lora_rank", "swa_qk_rope_head_dim",
}

var headKeys = []string{
	"num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num", "num_attention_groups", "swa_num_key_value_heads",
	"num_global_key_value_heads", "linear_num_key_heads", "linear_num_value_heads", "linear_num_heads", "mamba_n_heads", "mamba_num_heads",
	"mamba_n_groups", "n_groups", "num_nextn_predict_layers", "num_loops", "loop_num", "lightning_nkv", "lightning_nh", "num_heads",
	"encoder_layers", "decoder_layers", "mamba_expand", "expand", "indexer_kv_heads", "index_kpool",
}

func (d *deriver) within(field string, n, low, high int) {
	if n < low || n > high {
		d.failf(field, "is %d, which no model has (%d to %d)", n, low, high)
	}
}
