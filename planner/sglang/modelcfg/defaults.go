package modelcfg

// classDefault is what a configuration class of transformers (5.x; of SGLang
// itself where it registers its own) fills in for keys that the file omits.
// Zero columns have no default. These are the facts that decide pools and
// weights; Extra holds the class's further ones.
type classDefault struct {
	heads, kvHeads, headDim, hidden, inter, layers, vocab, positions, window int
	extra                                                                    map[string]int
}

// textDefaults are the defaults of language-model configuration classes, by
// model_type.
var textDefaults = map[string]classDefault{
	"afmoe":               {16, 0, 128, 2048, 6144, 32, 200192, 16384, 1024, map[string]int{"num_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 1408}},
	"apertus":             {32, 0, 0, 4096, 14336, 32, 131072, 65536, 0, nil},
	"arcee":               {32, 0, 0, 2560, 18432, 32, 32000, 4096, 0, nil},
	"bailing_hybrid":      {16, 4, 128, 2048, 5120, 20, 157184, 32768, 0, map[string]int{"num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "num_nextn_predict_layers": 0, "layer_group_size": 1, "first_k_dense_replace": 1}},
	"beam":                {48, 8, 128, 5120, 20480, 52, 151936, 1048576, 512, map[string]int{"num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2560}},
	"cohere":              {64, 0, 0, 8192, 22528, 40, 256000, 8192, 0, map[string]int{"tie_word_embeddings": 1}},
	"cohere2":             {64, 0, 0, 8192, 22528, 40, 256000, 8192, 4096, map[string]int{"tie_word_embeddings": 1}},
	"deepseek_v2":         {32, 0, 0, 4096, 11008, 32, 102400, 2048, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407}},
	"deepseek_v3":         {128, 128, 0, 7168, 18432, 61, 129280, 4096, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3}},
	"deepseek_v32":        {128, 128, 0, 7168, 18432, 61, 129280, 4096, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3}},
	"deepseek_v4":         {64, 1, 512, 4096, 0, 43, 129280, 1048576, 128, map[string]int{"q_lora_rank": 1024, "qk_rope_head_dim": 64, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6, "moe_intermediate_size": 2048, "index_topk": 512, "index_head_dim": 128, "index_n_heads": 64, "num_nextn_predict_layers": 1}},
	"dots1":               {32, 32, 0, 4608, 10944, 62, 152064, 2048, 0, map[string]int{"moe_intermediate_size": 1408}},
	"ernie4_5":            {16, 2, 128, 1024, 3072, 18, 103424, 131072, 0, map[string]int{"tie_word_embeddings": 1}},
	"ernie4_5_moe":        {20, 4, 0, 2560, 12288, 28, 103424, 131072, 0, map[string]int{"moe_intermediate_size": 1536, "tie_word_embeddings": 1}},
	"exaone4":             {32, 32, 0, 4096, 16384, 32, 102400, 2048, 4096, nil},
	"falcon":              {71, 0, 0, 4544, 0, 32, 65024, 2048, 0, map[string]int{"multi_query": 1, "tie_word_embeddings": 1}},
	"falcon_h1":           {32, 8, 0, 4096, 14336, 32, 128000, 8192, 0, map[string]int{"mamba_n_heads": 128, "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_expand": 2, "mamba_d_ssm": 1024}},
	"falcon_mamba":        {0, 0, 0, 768, 0, 32, 50280, 0, 0, map[string]int{"conv_kernel": 4, "state_size": 16, "expand": 2, "tie_word_embeddings": 1}},
	"gemma":               {16, 16, 256, 3072, 24576, 28, 256000, 8192, 0, map[string]int{"tie_word_embeddings": 1}},
	"gemma2":              {8, 4, 256, 2304, 9216, 26, 256000, 8192, 4096, map[string]int{"tie_word_embeddings": 1}},
	"gemma3_text":         {8, 4, 256, 2304, 9216, 26, 262208, 131072, 4096, map[string]int{"tie_word_embeddings": 1}},
	"gemma3n_text":        {8, 2, 256, 2048, 16384, 35, 262400, 32768, 512, map[string]int{"tie_word_embeddings": 1}},
	"gemma4_text":         {8, 4, 256, 2304, 9216, 30, 262144, 131072, 512, map[string]int{"tie_word_embeddings": 1, "global_head_dim": 512}},
	"gigachat35":          {16, 16, 64, 1280, 896, 12, 128256, 4096, 0, map[string]int{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 896, "first_k_dense_replace": 1, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 8, "linear_num_value_heads": 16}},
	"glm4":                {32, 2, 128, 4096, 13696, 40, 151552, 131072, 0, nil},
	"glm4_moe":            {96, 8, 0, 4096, 10944, 46, 151552, 131072, 0, map[string]int{"n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "first_k_dense_replace": 1}},
	"glm4_moe_lite":       {20, 20, 0, 2048, 10240, 47, 154880, 202752, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 768, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256, "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4, "moe_intermediate_size": 1536}},
	"glm4v_moe_text":      {96, 8, 0, 4096, 10944, 46, 151424, 65536, 0, map[string]int{"n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408}},
	"glm4v_text":          {32, 2, 0, 4096, 13696, 40, 151552, 32768, 0, nil},
	"glm5_next_text":      {64, 0, 0, 4096, 12288, 45, 154880, 1013760, 0, map[string]int{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 256, "qk_rope_head_dim": 0, "v_head_dim": 256, "n_routed_experts": 288, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "linear_head_dim": 128, "linear_num_heads": 64, "linear_conv_kernel_dim": 4, "hc_mult": 4}},
	"glm_moe_dsa":         {64, 64, 64, 6144, 12288, 78, 154880, 202752, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 2048, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32}},
	"gpt_oss":             {64, 8, 64, 2880, 2880, 36, 201088, 131072, 128, map[string]int{"num_local_experts": 128, "num_experts_per_tok": 4}},
	"granite":             {32, 0, 0, 4096, 11008, 32, 32000, 2048, 0, nil},
	"granitemoe":          {32, 0, 0, 4096, 11008, 32, 32000, 2048, 0, map[string]int{"num_local_experts": 8, "num_experts_per_tok": 2}},
	"granitemoehybrid":    {32, 8, 0, 2048, 8192, 40, 100352, 131072, 0, map[string]int{"num_local_experts": 0, "mamba_n_heads": 64, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_expand": 2, "tie_word_embeddings": 1}},
	"hunyuan_v1_dense":    {32, 0, 0, 4096, 11008, 32, 290943, 2048, 0, nil},
	"hunyuan_v1_moe":      {32, 0, 0, 4096, 11008, 32, 290943, 2048, 0, map[string]int{"num_experts": 1}},
	"hy_v3":               {64, 8, 128, 4096, 13312, 80, 120832, 131072, 0, map[string]int{"num_experts": 192, "num_experts_per_tok": 8, "moe_intermediate_size": 1536}},
	"iquest_q1":           {48, 8, 128, 3072, 1536, 88, 160000, 524288, 4096, map[string]int{"num_experts": 256, "num_experts_per_tok": 8}},
	"kimi_linear":         {32, 0, 0, 4096, 11008, 32, 163840, 4096, 0, map[string]int{"num_nextn_predict_layers": 0, "first_k_dense_replace": 0}},
	"laguna":              {48, 8, 128, 2048, 8192, 40, 100352, 131072, 512, map[string]int{"num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512}},
	"lfm2":                {32, 8, 0, 2560, 12288, 32, 65536, 128000, 0, map[string]int{"conv_L_cache": 3, "tie_word_embeddings": 1}},
	"lfm2_moe":            {32, 8, 0, 2048, 7168, 32, 65536, 128000, 0, map[string]int{"conv_L_cache": 3, "num_experts": 32, "num_experts_per_tok": 4, "moe_intermediate_size": 1792, "tie_word_embeddings": 1}},
	"llama":               {32, 0, 0, 4096, 11008, 32, 32000, 2048, 0, nil},
	"llama4_text":         {40, 8, 128, 5120, 8192, 48, 202048, 131072, 0, map[string]int{"num_local_experts": 16, "num_experts_per_tok": 1, "attention_chunk_size": 8192}},
	"longcat_flash":       {64, 0, 64, 6144, 0, 28, 131072, 131072, 0, map[string]int{"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 512}},
	"mamba":               {0, 0, 0, 768, 0, 32, 50280, 0, 0, map[string]int{"conv_kernel": 4, "state_size": 16, "expand": 2, "tie_word_embeddings": 1}},
	"mamba2":              {0, 0, 64, 4096, 0, 64, 32768, 0, 0, map[string]int{"n_groups": 8, "conv_kernel": 4, "state_size": 128, "expand": 2, "num_heads": 128}},
	"mellum":              {32, 4, 128, 2304, 7168, 28, 98304, 131072, 1024, map[string]int{"num_local_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 896}},
	"minicpm":             {32, 0, 0, 4096, 11008, 32, 32000, 2048, 0, nil},
	"minicpm_sala":        {32, 8, 0, 4096, 14336, 32, 150528, 32768, 0, nil},
	"minimax":             {32, 8, 0, 4096, 14336, 32, 32000, 131072, 0, map[string]int{"num_local_experts": 8, "num_experts_per_tok": 2}},
	"minimax_m2":          {48, 8, 128, 3072, 1536, 62, 200064, 196608, 0, map[string]int{"num_local_experts": 256, "num_experts_per_tok": 8}},
	"ministral3":          {32, 8, 128, 4096, 14336, 34, 131072, 262144, 0, nil},
	"mistral":             {32, 8, 0, 4096, 14336, 32, 32000, 131072, 4096, nil},
	"mixtral":             {32, 8, 0, 4096, 14336, 32, 32000, 131072, 0, map[string]int{"num_local_experts": 8, "num_experts_per_tok": 2}},
	"muse_spark_text":     {128, 16, 64, 8192, 16384, 62, 202048, 1048576, 2048, map[string]int{"num_local_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 4096}},
	"nanbeige":            {20, 4, 0, 2560, 6912, 16, 166144, 65536, 0, map[string]int{"num_loops": 2}},
	"nemotron":            {48, 0, 0, 6144, 24576, 32, 256000, 4096, 0, nil},
	"nemotron_h":          {32, 8, 128, 4096, 21504, 0, 131072, 4096, 0, map[string]int{"mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 7688, "num_nextn_predict_layers": 0}},
	"olmo2":               {32, 0, 0, 4096, 11008, 32, 50304, 2048, 0, nil},
	"olmo3":               {32, 0, 0, 4096, 11008, 32, 50304, 2048, 4096, nil},
	"olmoe":               {16, 0, 0, 2048, 2048, 16, 50304, 4096, 0, map[string]int{"num_experts": 64, "num_experts_per_tok": 8}},
	"phi3":                {32, 0, 0, 3072, 8192, 32, 32064, 4096, 0, nil},
	"phimoe":              {32, 8, 0, 4096, 6400, 32, 32064, 131072, 0, map[string]int{"num_local_experts": 16, "num_experts_per_tok": 2}},
	"qwen2":               {32, 32, 0, 4096, 22016, 32, 151936, 32768, 4096, nil},
	"qwen2_5_vl_text":     {64, 8, 0, 8192, 29568, 80, 152064, 32768, 4096, nil},
	"qwen2_moe":           {16, 16, 0, 2048, 5632, 24, 151936, 32768, 4096, map[string]int{"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408}},
	"qwen2_vl_text":       {64, 8, 0, 8192, 29568, 80, 152064, 32768, 4096, nil},
	"qwen3":               {32, 32, 128, 4096, 22016, 32, 151936, 32768, 4096, nil},
	"qwen3_5_moe_text":    {16, 2, 256, 2048, 5632, 40, 248320, 32768, 0, map[string]int{"num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "full_attention_interval": 4}},
	"qwen3_5_text":        {16, 2, 256, 2048, 5632, 48, 151936, 32768, 0, map[string]int{"linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "full_attention_interval": 4}},
	"qwen3_moe":           {32, 4, 0, 2048, 6144, 24, 151936, 32768, 4096, map[string]int{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}},
	"qwen3_next":          {16, 2, 256, 2048, 5632, 48, 151936, 32768, 0, map[string]int{"num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "full_attention_interval": 4}},
	"qwen3_omni_moe_text": {28, 4, 0, 2048, 18944, 28, 3584, 32768, 0, map[string]int{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}},
	"qwen3_vl_moe_text":   {16, 16, 0, 2048, 5632, 24, 151936, 128000, 0, map[string]int{"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408}},
	"qwen3_vl_text":       {32, 32, 128, 4096, 22016, 32, 151936, 128000, 0, nil},
	"qwen4_exp_text":      {16, 2, 256, 2048, 5632, 48, 151936, 32768, 0, map[string]int{"num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "full_attention_interval": 4}},
	"seed_oss":            {80, 8, 128, 4096, 27648, 64, 155136, 524288, 0, nil},
	"smollm3":             {16, 4, 0, 2048, 11008, 36, 128256, 32768, 0, map[string]int{"tie_word_embeddings": 1}},
	"stablelm":            {32, 32, 0, 2560, 6912, 32, 50304, 4096, 0, nil},
	"starcoder2":          {24, 2, 0, 3072, 12288, 30, 49152, 4096, 0, map[string]int{"tie_word_embeddings": 1}},
	"step3p5":             {64, 0, 128, 4096, 11264, 45, 128815, 128000, 0, map[string]int{"num_attention_groups": 8}},
	"step3p7_text":        {64, 8, 128, 4096, 11264, 45, 128815, 128000, 0, map[string]int{"num_nextn_predict_layers": 0}},
	"zaya":                {8, 2, 128, 2048, 0, 40, 262272, 131072, 0, map[string]int{"num_experts": 16, "num_experts_per_tok": 1, "moe_intermediate_size": 2048, "tie_word_embeddings": 1, "cca_time0": 2, "cca_time1": 2}},
}

// impliedText maps a wrapper's model_type to the language-model class that
// reads its text_config, whatever model_type that says or when it says none.
var impliedText = map[string]string{
	"gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text", "gemma4_unified": "gemma4_text",
	"llama4": "llama4_text", "qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text",
	"qwen3_vl": "qwen3_vl_text", "qwen3_vl_moe": "qwen3_vl_moe_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text",
	"qwen4_exp": "qwen4_exp_text", "glm4v": "glm4v_text", "glm4v_moe": "glm4v_moe_text", "glm5_next": "glm5_next_text",
	"muse_spark": "muse_spark_text", "step3p7": "step3p5", "kimi_k25": "deepseek_v3", "kimi_vl": "deepseek_v3", "kimi_k3": "kimi_linear",
	"qwen3_omni_moe": "qwen3_omni_moe_text", "mistral3": "mistral", "pixtral": "mistral", "llava": "llama",
}

// textFromTop are wrappers whose class builds the language model from the top
// level when the file has no text_config (transformers 4.5x files).
var textFromTop = map[string]bool{"qwen2_vl": true, "qwen2_5_vl": true}

// attributeNames maps attributes to the key under which a class stores them
// (attribute_map), for any model type: the file may use either.
var attributeNames = map[string]string{
	"num_experts": "num_local_experts", "num_local_experts": "num_experts",
	"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer",
	"max_position_embeddings": "n_positions", "num_experts_per_tok": "moe_topk",
}

func (d classDefault) attributes() map[string]int {
	m := make(map[string]int, 10+len(d.extra))
	for k, v := range map[string]int{
		"num_attention_heads": d.heads, "num_key_value_heads": d.kvHeads, "head_dim": d.headDim, "hidden_size": d.hidden,
		"intermediate_size": d.inter, "num_hidden_layers": d.layers, "vocab_size": d.vocab,
		"max_position_embeddings": d.positions, "sliding_window": d.window,
	} {
		if v != 0 {
			m[k] = v
		}
	}
	for k, v := range d.extra {
		m[k] = v
	}
	return m
}
