package modelcfg

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// view is one config.json as SGLang's two configuration objects: the top level
// and the language model's, which are the same for plain text models.
type view struct {
	arch      string
	modelType string
	top       *attrs
	text      *attrs
	nested    bool // text is a sub-config
	textType  string
}

// newView applies the overrides and finds the objects.
func newView(r release.Release, cfg *model.Config, overrides string) (*view, error) {
	top, err := override(cfg.Top, overrides)
	if err != nil {
		return nil, err
	}
	v := &view{arch: (&model.Config{Top: top}).Arch(), modelType: top.Str("model_type")}
	if v.modelType == "deepseek_v41" || v.arch == "DeepseekV41ForCausalLM" {
		top = flattenV41(top)
		v.modelType, v.arch = "deepseek_v41", "DeepseekV4ForCausalLM"
	}
	if v.modelType == "" && v.arch == "" && top.Has("d_model") && top.Has("ssm_cfg") {
		top = rawMamba(top)
		v.modelType, v.arch = "mamba", "MambaForCausalLM"
	}
	if a, ok := longcatNames[v.arch]; ok {
		v.arch, v.modelType = a, "longcat_flash"
	}
	sec, textType := v.findText(top)
	if v.modelType == "step3p7" && r.Before("0.5.13") {
		textType = "step3p7_text" // read by transformers' class until SGLang had one
	}
	v.textType = textType
	v.text = &attrs{sec: sec, defaults: textDefaults[textType].attributes(), aliases: attributeNames}
	if v.nested {
		// Attributes that the wrapper lacks are copied from the text config
		// (HfModelConfigParser), so the top level falls back to it.
		v.top = &attrs{sec: top, up: v.text}
	} else {
		v.top = v.text
	}
	return v, nil
}

var longcatNames = map[string]string{
	"LongcatCausalLM": "LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM": "LongcatFlashForCausalLM",
}

// findText returns the language model's section and the class that reads it.
func (v *view) findText(top model.Section) (model.Section, string) {
	if topLevelText(v.arch) {
		return top, v.modelType
	}
	sec := (&model.Config{Top: top}).Text()
	implied := impliedText[v.modelType]
	if sameSection(sec, top) {
		if implied == "" || textFromTop[v.modelType] {
			if implied != "" {
				return top, implied
			}
			return top, v.modelType
		}
		v.nested = true // the class makes a language model of its own defaults
		return model.Section{}, implied
	}
	v.nested = true
	t := sec.Str("model_type")
	if _, known := textDefaults[t]; !known && implied != "" {
		t = implied
	}
	return sec, t
}

func sameSection(a, b model.Section) bool { return len(a) == len(b) && maps.EqualFunc(a, b, sameValue) }

// sameValue compares identities cheaply: two sections are the same only when
// they are the same object, and then every value is.
func sameValue(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		_, ok := y.(map[string]any)
		return ok
	case []any:
		l, ok := y.([]any)
		return ok && len(l) == len(x)
	default:
		return x == y
	}
}

// override applies --json-model-override-args: dictionaries meant for a
// sub-config and for rope scaling are merged, everything else replaced.
func override(top model.Section, overrides string) (model.Section, error) {
	if overrides == "" || overrides == "{}" {
		return top, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(overrides)))
	d.UseNumber()
	var over map[string]any
	if err := d.Decode(&over); err != nil {
		return nil, &model.ConfigError{File: "--json-model-override-args", Err: err}
	}
	out := maps.Clone(top)
	for k, val := range over {
		sub, isMap := val.(map[string]any)
		cur := out.Sub(k)
		if isMap && cur != nil {
			merged := maps.Clone(cur)
			maps.Copy(merged, sub)
			out[k] = map[string]any(merged)
			continue
		}
		out[k] = val
	}
	return out, nil
}

// flattenV41 merges the text config of a DeepSeek-V4.1 file into the top level
// and names the vision fields as the runtime reads them.
func flattenV41(top model.Section) model.Section {
	out := model.Section{}
	if t := top.Sub("text_config"); t != nil {
		maps.Copy(out, t)
	}
	maps.Copy(out, top)
	delete(out, "text_config")
	if vis := top.Sub("vision_config"); vis != nil {
		if n, ok := vis["num_hidden_layers"]; ok && !out.Has("vision_n_layers") {
			out["vision_n_layers"] = n
		}
		if n, ok := vis["hidden_size"]; ok && !out.Has("vision_dim") {
			out["vision_dim"] = n
		}
		delete(out, "vision_config")
	}
	return out
}

// rawMamba reads the original state-spaces files, which have neither
// model_type nor architectures.
func rawMamba(top model.Section) model.Section {
	out := maps.Clone(top)
	vocab := top.IntOr("vocab_size", 50280)
	if pad := top.IntOr("pad_vocab_size_multiple", 1); pad > 1 {
		vocab = (vocab + pad - 1) / pad * pad
	}
	out["vocab_size"] = jsonInt(vocab)
	out["hidden_size"] = top["d_model"]
	out["num_hidden_layers"] = top["n_layer"]
	if ssm := top.Sub("ssm_cfg"); ssm != nil {
		out["state_size"] = jsonInt(ssm.IntOr("d_state", 16))
	}
	return out
}
