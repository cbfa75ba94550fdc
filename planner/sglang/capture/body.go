package capture

import (
	"math"
	"strings"

	"github.com/sglplan/sglplan/planner/activation"
)

// depth is how many of the layers a replay needs: enough to reach its steady
// state, and as many more as keep the place in its cycle, because where the
// last layer's output lands decides what stays (the cycles seen are of two and
// three layers; a hybrid's own is its interval of full attention).
func (p *plan) depth(layers, firstMoE int64) int64 {
	cycle := int64(6)
	switch {
	case p.hasLinear():
		cycle = 8
	case p.spec.auxiliary() > 0:
		cycle = 12
	}
	if layers <= 2*cycle {
		return layers
	}
	d := cycle + layers%cycle
	for d < firstMoE+4 {
		d += cycle
	}
	return min(d, layers)
}

func (p *plan) latent() bool { return p.info.KVLoraRank > 0 }

func (p *plan) hasLinear() bool { return p.int("linear_num_value_heads") > 0 }

func (p *plan) int(key string) int64 { n, _ := p.text.Int(key); return n }

// body describes the stack of a rank of the target model.
func (p *plan) body() activation.Body {
	m := p.info
	b := activation.Body{
		Hidden: int64(m.HiddenSize), Vocab: int64(m.VocabSize), TP: p.l.tp,
		Layers:     (int64(m.NumHiddenLayers) + p.l.pp - 1) / p.l.pp,
		HoldOutput: p.r.AtLeast("0.5.11") && p.r.Before("0.5.23"),
		Extra:      p.spec.auxiliary(),
	}
	if p.l.pp > 1 { // a stage hands on hidden states and residual
		b.Extra++
	}
	if p.info.HCMult > 1 { // residual streams, read and written by every layer
		b.Lead = 2 * int64(p.info.HCMult)
	}
	if p.l.dp > 1 && !p.exchanged() {
		b.Gather = p.l.dp
	}
	if p.l.dp == 1 && p.l.tp > 1 && p.customReduce() {
		b.ReduceMax = reduceMax
	}
	firstMoE := int64(m.FirstKDenseReplace)
	routed := m.NumExperts > 0 && m.NumExpertsPerTok > 0
	for i := range p.depth(b.Layers, firstMoE) {
		l := activation.Layer{Mixer: p.mixer(i), MLP: p.dense()}
		if routed && i >= firstMoE {
			l.MLP = p.experts()
		}
		b.Stack = append(b.Stack, l)
	}
	return b
}

// exchanged reports experts whose tokens travel by an all-to-all instead of a
// gather of all ranks' batches.
func (p *plan) exchanged() bool {
	a2a := p.a.Str("moe_a2a_backend")
	return a2a != "" && a2a != "none"
}

// reduceMax is the largest message of the custom all-reduce.
const reduceMax = 16 << 20

// customReduce reports whether small all-reduces go through SGLang's own
// kernel: not when switched off, and not between more than two cards without
// NVLink.
func (p *plan) customReduce() bool {
	if p.a.Bool("disable_custom_all_reduce") {
		return false
	}
	return p.l.tp <= 2 || p.nvlink()
}

// pcieOnly are names of cards that have no NVLink.
var pcieOnly = []string{"RTX PRO", "RTX 50", "RTX 40", "GeForce", "L40", "L4", "A10", "T4", "A2", "RTX 6000", "RTX 5000", "RTX 4000", "H100 PCIe"}

func (p *plan) nvlink() bool {
	for _, s := range pcieOnly {
		if strings.Contains(p.card.Name, s) {
			return strings.Contains(p.card.Name, "A100")
		}
	}
	return p.card.Major != 12
}

func (p *plan) inBytes() int64 {
	switch p.quantization() {
	case "fp8", "compressed-tensors", "w8a8_fp8", "w8a8_int8", "modelopt_fp8":
		return 1
	}
	return 0
}

func (p *plan) quantization() string {
	if q := p.a.Str("quantization"); q != "" {
		return q
	}
	return p.info.Quantization
}

func (p *plan) mixer(layer int64) activation.Mixer {
	m := p.info
	if p.hasLinear() && p.linear(layer) {
		at := p.l.attention
		return activation.DeltaNet{
			K:     p.int("linear_num_key_heads") * p.int("linear_key_head_dim") / at,
			V:     p.int("linear_num_value_heads") * p.int("linear_value_head_dim") / at,
			Heads: p.int("linear_num_value_heads") / at,
		}
	}
	if p.latent() {
		return activation.MLA{
			Heads: p.heads(), Nope: int64(m.QKNopeHeadDim), Rope: int64(m.QKRopeHeadDim), Val: int64(m.VHeadDim),
			Latent: int64(m.KVLoraRank), QLatent: int64(m.QLoraRank), InBytes: p.inBytes(),
			AbsorbBelow: p.absorbBelow(), Joined: p.back.has("triton"),
		}
	}
	copies := int64(1)
	switch {
	case p.back.has("flashinfer"):
		copies = 2
	case p.back.only("triton"):
		copies = 0
		if p.hasLinear() {
			copies = 1
		}
	}
	return activation.Attention{
		Q: p.heads() * int64(m.HeadDim), KV: int64(m.KVHeads(int(p.l.attention))) * int64(m.HeadDim), Heads: p.heads(),
		Gated: p.hasLinear(), Copies: copies, Narrow: strings.Contains(p.a.Str("kv_cache_dtype"), "fp8"), InBytes: p.inBytes(),
	}
}

// absorbBelow is the cached prefix from which an eager MLA chunk is projected
// up to full heads again (attention_backend_handler): 8192 tokens
// (SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD); triton never does, the trtllm
// kernels always, and --disable-chunked-prefix-cache never.
func (p *plan) absorbBelow() int64 {
	switch {
	case p.back.has("triton") || p.a.Bool("disable_chunked_prefix_cache"):
		return math.MaxInt64
	case p.back.has("trtllm_mla"), p.back.has("tokenspeed_mla"):
		return 0
	}
	return 8192
}

// linear reports whether a layer of a hybrid has linear attention.
func (p *plan) linear(layer int64) bool {
	if types := p.text.Strs("layer_types"); int64(len(types)) > layer {
		return types[layer] == "linear_attention"
	}
	return (layer+1)%max(1, p.text.IntOr("full_attention_interval", 4)) != 0
}

func (p *plan) dense() activation.MLP {
	return activation.Dense{Inter: int64(p.info.IntermediateSize) / p.l.tp, InBytes: p.inBytes()}
}

func (p *plan) experts() activation.MLP {
	m := p.info
	e := activation.MoE{
		Experts: int64(m.NumExperts), TopK: int64(m.NumExpertsPerTok),
		Inter: p.expertWidth() / p.l.experts, Shared: p.sharedWidth() / p.l.tp, InBytes: p.inBytes(),
	}
	switch {
	case p.tritonKernels():
		e.Runner = activation.TritonKernels
	case p.marlin():
		e.Runner, e.InBytes = activation.Marlin, 0
	}
	if p.fusedShared() {
		e.Experts, e.TopK, e.Shared = e.Experts+1, e.TopK+1, 0
	}
	if p.hasLinear() && e.Shared > 0 { // fused as one more expert (Qwen3-Next, Qwen3.5)
		e.Experts, e.TopK, e.Shared = e.Experts+1, e.TopK+1, 0
	}
	return e
}

// fusedShared: DeepSeek V3 and R1 run their shared expert as one more routed
// one, unless the experts alone are of 4 bits or are spread over ranks.
func (p *plan) fusedShared() bool {
	return p.info.Arch == "DeepseekV3ForCausalLM" && p.info.NumExperts == 256 && p.info.NumSharedExperts == 1 &&
		!p.a.Bool("disable_shared_experts_fusion") && p.l.ep == 1 && !p.marlin() && p.quantization() != "w4afp8"
}

func (p *plan) expertWidth() int64 {
	if w := int64(p.info.MoEIntermediateSize); w > 0 {
		return w
	}
	return int64(p.info.IntermediateSize)
}

func (p *plan) sharedWidth() int64 {
	if w := p.int("shared_expert_intermediate_size"); w > 0 {
		return w
	}
	return int64(p.info.NumSharedExperts) * p.expertWidth()
}

// tritonKernels: mxfp4 experts through the triton_kernels package, SGLang's
// choice on Hopper.
func (p *plan) tritonKernels() bool {
	return p.quantization() == "mxfp4" && p.info.NumExperts > 0 && !p.info.IsDeepseekV4
}

// marlin: weight-only quantised experts.
func (p *plan) marlin() bool {
	switch q := p.quantization(); q {
	case "awq", "gptq", "awq_marlin", "gptq_marlin", "moe_wna16":
		return true
	case "compressed-tensors":
		return p.weightOnly()
	}
	return false
}

// weightOnly reports whether compressed-tensors leaves activations as they are.
func (p *plan) weightOnly() bool {
	if p.cfg == nil {
		return false
	}
	q := p.text.Sub("quantization_config")
	if q == nil {
		q = p.cfg.Top.Sub("quantization_config")
	}
	groups, _ := q["config_groups"].(map[string]any)
	for _, g := range groups {
		if m, ok := g.(map[string]any); ok && m["input_activations"] == nil {
			return true
		}
	}
	return false
}
