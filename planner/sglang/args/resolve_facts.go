package args

import (
	"slices"

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

// quantConfig is the quantization_config of the top level of config.json.
func (m facts) quantConfig() model.Section { return m.cfg.Top.Sub("quantization_config") }

// quantMethod is quantization_config.quant_method, "" when absent.
func (m facts) quantMethod() string { return m.quantConfig().Str("quant_method") }

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
