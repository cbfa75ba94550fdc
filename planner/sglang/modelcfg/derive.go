package modelcfg

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

func jsonInt(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// Derive returns what release r makes of a config.json. Findings of severity
// error mean that the file cannot be used or that SGLang refuses it; the Info
// then holds what could be read and Supported is false. It never returns nil.
func Derive(r release.Release, cfg *model.Config, opt Options) (*Info, []finding.Finding) {
	if cfg == nil || cfg.Top == nil {
		m := &Info{Class: ClassUndecided, Reason: "no config.json"}
		return m, []finding.Finding{badConfig("", errors.New("there is no configuration"))}
	}
	v, err := newView(r, cfg, opt.Overrides)
	if err != nil {
		m := &Info{Class: ClassUndecided, Reason: "unreadable overrides"}
		return m, []finding.Finding{badConfig("--json-model-override-args", err)}
	}
	d := deriver{r: r, v: v, opt: opt, cfg: cfg, m: &Info{Arch: v.arch, ModelType: v.modelType, IsDraft: opt.IsDraft}}
	d.run()
	return d.m, d.found
}

// deriver fills one Info, step by step in SGLang's own order.
type deriver struct {
	r     release.Release
	v     *view
	opt   Options
	cfg   *model.Config
	m     *Info
	found []finding.Finding
}

func (d *deriver) run() {
	if d.m.Arch == "" {
		d.fail("architectures", errors.New("is missing: SGLang finds the model class by it"))
	}
	if opt := d.opt; opt.IsDraft {
		d.renameDraft()
	}
	d.sizes()
	if !d.sane() {
		d.m.Class, d.m.Supported = ClassUndecided, false
		return
	}
	d.dtype()
	d.contextLength()
	d.shapes()
	d.multimodal()
	d.hybrid()
	d.quantization()
	d.classify()
}

// sizes reads the plain numbers.
func (d *deriver) sizes() {
	m, t := d.m, d.v.text
	m.NumHiddenLayers = t.or("num_hidden_layers", d.layersFromLists())
	m.NumAttentionHeads = t.or("num_attention_heads", 0)
	m.HiddenSize = t.or("hidden_size", 0)
	m.IntermediateSize = t.or("intermediate_size", 0)
	m.VocabSize = t.or("vocab_size", 0)
	m.MoEIntermediateSize = t.or("moe_intermediate_size", 0)
	m.NumExperts, _ = t.first("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
	m.NumExpertsPerTok, _ = t.first("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "top_k_experts", "moe_k", "moe_topk")
	m.NumSharedExperts, _ = t.first("n_shared_experts", "num_shared_experts")
	m.FirstKDenseReplace = t.or("first_k_dense_replace", 0)
	m.MaxPositionEmbeddings = t.or("max_position_embeddings", 0)
	m.TieWordEmbeddings = d.tied()
	m.HCMult = max(1, t.or("hc_mult", 1))
	m.NumNextN, m.HasNumNextN = t.int("num_nextn_predict_layers")
	if d.v.textType == "nemotron_h" && d.r.Before("0.5.10") && !t.sec.Has("num_nextn_predict_layers") {
		m.NumNextN, m.HasNumNextN = 0, false // the class had no such field yet
	}
	if d.m.IsDraft {
		d.draftDepth()
	}
}

// tied reports whether embedding and head share one tensor.
func (d *deriver) tied() bool {
	for _, a := range []*attrs{d.v.top, d.v.text} {
		if b, ok := a.sec.Bool("tie_word_embeddings"); ok {
			return b
		}
	}
	return d.v.text.defaults["tie_word_embeddings"] == 1
}

// layersFromLists counts layers where a class derives their number from a
// list (Nemotron-H's pattern).
func (d *deriver) layersFromLists() int {
	t := d.v.text
	if p := t.str("hybrid_override_pattern"); p != "" {
		return len(p)
	}
	return len(t.strs("layers_block_type"))
}

// heads counts KV heads in SGLang's order of attributes (get_total_num_kv_heads).
func (d *deriver) kvHeads() int {
	t := d.v.text
	falcon := slices.Contains([]string{"falcon", "RefinedWeb", "RefinedWebModel"}, d.v.modelType)
	newDecoder := falcon && d.v.top.bool("new_decoder_architecture")
	multiQuery := t.bool("multi_query") || (!t.sec.Has("multi_query") && t.defaults["multi_query"] == 1)
	if !newDecoder && multiQuery {
		return 1
	}
	switch d.v.modelType {
	case "mpt", "dbrx":
		if c := d.v.top.sub("attn_config"); c != nil {
			if n, ok := c.Int("kv_n_heads"); ok {
				return clampInt(n)
			}
		}
		return d.m.NumAttentionHeads
	case "nemotron-nas":
		return d.nasHeads()
	}
	keys := []string{"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num"}
	if d.r.AtLeast("0.4.10") {
		keys = append(keys, "num_attention_groups")
	}
	if n, ok := t.first(keys...); ok {
		return n
	}
	if d.m.AttentionArch == SSM {
		return 0
	}
	return d.m.NumAttentionHeads
}

// nasHeads reads the one number of KV heads that all attention blocks of a
// nemotron-nas model share.
func (d *deriver) nasHeads() int {
	n := 0
	for _, b := range d.v.top.sec.List("block_configs") {
		block, _ := b.(map[string]any)
		att := model.Section(block).Sub("attention")
		if off, _ := att.Bool("no_op"); off || att == nil {
			continue
		}
		group := clampInt(att.IntOr("n_heads_in_group", 0))
		if group <= 0 {
			continue
		}
		h := d.m.NumAttentionHeads / group
		if n != 0 && h != n {
			d.fail("block_configs", errors.New("layers differ in their number of KV heads, which SGLang does not serve"))
		}
		n = h
	}
	return n
}

// multimodal decides what the release calls a multimodal model.
func (d *deriver) multimodal() {
	m, arch := d.m, d.m.Arch
	on := true
	switch {
	case d.opt.EnableMultimodal != nil:
		on = *d.opt.EnableMultimodal
	case multimodalOff.has(d.r, arch):
		on = false
	case arch == "MiMoV2ForCausalLM" && d.r.AtLeast("0.5.11"):
		on = d.v.top.sec.Has("vision_config") && d.v.top.sec.Has("audio_config")
	}
	if d.r.AtLeast("0.5.18") && (d.opt.LanguageModelOnly || d.v.top.bool("language_model_only")) {
		on = false
	}
	listed := multimodalArchs.has(d.r, arch)
	// From 0.5.10 a language model nested in a wrapper counts by itself.
	nested := d.r.AtLeast("0.5.10") && d.v.nested
	v41 := d.v.modelType == "deepseek_v41" && d.v.top.or("vision_n_layers", 0) > 0
	m.IsMultimodal = on && (listed || nested || v41)
	m.IsEncoderDecoder = encoderDecoderArchs.has(d.r, arch)
	m.Vision = d.vision()
}

// fail records a field that makes the file unusable.
func (d *deriver) fail(field string, err error) { d.found = append(d.found, badConfig(field, err)) }

func (d *deriver) failf(field, format string, a ...any) { d.fail(field, fmt.Errorf(format, a...)) }

func lower(s string) string { return strings.ToLower(s) }
