package args

import (
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// facts are what the rules ask of a model. The zero value is an unknown model,
// for which no model rule applies.
type facts struct {
	*modelcfg.Info
	known bool
	cfg   *model.Config
}

var noInfo = &modelcfg.Info{}

func newFacts(_ release.Release, info *modelcfg.Info, cfg *model.Config) facts {
	if cfg == nil {
		cfg = &model.Config{Top: model.Section{}}
	}
	if info == nil {
		return facts{Info: noInfo, cfg: cfg}
	}
	return facts{Info: info, known: true, cfg: cfg}
}

// is reports whether the model has one of the architectures.
func (m facts) is(archs ...string) bool { return slices.Contains(archs, m.Arch) }

func (m facts) mla() bool { return m.AttentionArch == modelcfg.MLA }

// asymmetric reports key and value rows of different width (MiMo-V2), which
// has_asymmetric_kv tests.
func (m facts) asymmetric() bool {
	return !m.mla() && (m.HeadDim != m.VHeadDim || m.SWAHeadDim != m.SWAVHeadDim)
}

// quantConfig is the quantization_config of the model's configuration: that of
// the top level, or of the text model where the class lifts it up.
func (m facts) quantConfig() model.Section {
	q := m.cfg.Top.Sub("quantization_config")
	if q == nil && (m.ModelType == "kimi_k25" || m.ModelType == "kimi_k3") {
		q = m.cfg.Top.Sub("text_config").Sub("quantization_config")
	}
	return q
}

// quantMethod is the method that quantization_config names, "" when absent.
// ModelConfig writes the method that it makes of ModelOpt's layout back there
// before any rule reads it.
func (m facts) quantMethod() string {
	q := m.quantConfig()
	method := q.Str("quant_method")
	if q != nil && (method == "" || method == "modelopt") &&
		(strings.HasPrefix(m.Quantization, "modelopt_") || m.Quantization == "w4afp8") {
		return m.Quantization
	}
	return method
}

// mixedNVFP4 reports an fp8 checkpoint whose routed experts are NVFP4
// (nvfp4_moe_meta).
func (m facts) mixedNVFP4() bool {
	q := m.quantConfig()
	return strings.EqualFold(q.Str("quant_algo"), "MIXED_PRECISION") && strings.EqualFold(q.Str("moe_quant_algo"), "NVFP4") && q.Has("group_size")
}

// weightOnlyExperts reports ModelOpt checkpoints whose experts keep 16-bit
// activations (W4A16_NVFP4).
func (m facts) weightOnlyExperts() bool {
	for name, l := range m.quantConfig().Sub("quantized_layers") {
		layer, _ := l.(map[string]any)
		if strings.Contains(name, ".experts") && strings.EqualFold(model.Section(layer).Str("quant_algo"), "W4A16_NVFP4") {
			return true
		}
	}
	return false
}

// kda reports Kimi-style delta attention (uses_kda_attention): a
// linear_attn_config with kda_layers, or linear layers with their own heads.
func (m facts) kda() bool {
	for _, s := range []model.Section{m.cfg.Top, m.cfg.Text()} {
		if len(s.Sub("linear_attn_config").List("kda_layers")) > 0 {
			return true
		}
		if slices.Contains(s.Strs("layer_types"), "linear_attention") && s.Has("linear_num_heads") && s.Has("linear_head_dim") {
			return true
		}
	}
	return false
}

// kimiInt4 reports the int4 group scheme of Kimi-K2-Thinking and K2.5, for
// which the DeepSeek rule picks a runner on SM100.
func (m facts) kimiInt4() bool {
	w := m.quantConfig().Sub("config_groups").Sub("group_0").Sub("weights")
	bits, _ := w.Int("num_bits")
	group, _ := w.Int("group_size")
	return m.quantMethod() == "compressed-tensors" && bits == 4 && group == 32 && w.Str("strategy") == "group" && w.Str("type") == "int"
}
