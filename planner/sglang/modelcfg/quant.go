package modelcfg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
)

// quantization names the method as SGLang does: from the checkpoint, unless a
// compatible --quantization asks for another (ModelConfig._verify_quantization).
func (d *deriver) quantization() {
	m := d.m
	asked := lower(d.opt.Quantization)
	if asked == "unquant" { // stands for none
		asked = ""
	}
	q := d.quantConfig()
	m.KVCacheQuantAlgo = d.kvCacheAlgo(q)
	if q == nil {
		m.Quantization = asked
		return
	}
	method := lower(q.Str("quant_method"))
	if method == "" {
		method = asked
	}
	method = d.converted(q, method, asked)
	switch {
	case strings.HasPrefix(method, "modelopt_") && asked != "nvfp4_online" && asked != "quark_mxfp4":
		m.Quantization = method // ModelOpt's own detection wins over any flag
	case asked == "" || asked == method:
		m.Quantization = method
	case slices.Contains(compatible[asked], method):
		m.Quantization = asked
	case d.m.IsDraft:
		m.Quantization = method
	case asked == "quark_mxfp4":
		m.Quantization = asked
	default:
		m.Quantization = method
		d.found = append(d.found, finding.New(CodeQuantizationMismatch, finding.Error, "--quantization",
			fmt.Sprintf("asked for %s, the checkpoint says %s", asked, method)).
			With("take the checkpoint's own", finding.Edit{Flag: "--quantization", Remove: true}))
	}
}

// compatible lists which methods of a checkpoint a flag may replace.
var compatible = map[string][]string{
	"modelopt_fp8":     {"modelopt"},
	"modelopt_fp4":     {"modelopt", "fp8"},
	"modelopt_mixed":   {"modelopt"},
	"nvfp4_online":     {"fp8", "modelopt_fp8"},
	"petit_nvfp4":      {"modelopt"},
	"w8a8_int8":        {"compressed-tensors", "compressed_tensors"},
	"w8a8_fp8":         {"compressed-tensors", "compressed_tensors"},
	"auto-round-int8":  {"compressed-tensors", "compressed_tensors"},
	"minimax_m3_nvfp4": {"mxfp8"},
	"modelopt":         {"modelopt_fp8", "modelopt_fp4"},
	"gptq":             {"gptq_marlin"},
	"awq":              {"awq_marlin"},
	"marlin":           {"gptq_marlin", "awq_marlin"},
	"moe_wna16":        {"gptq", "gptq_marlin", "awq", "awq_marlin"},
}

// quantConfig finds the quantization section: config.json's, else
// hf_quant_config.json's, with ModelOpt's own layout named as SGLang does.
func (d *deriver) quantConfig() model.Section {
	q := d.v.top.sub("quantization_config")
	if q == nil {
		q = d.v.top.sub("compression_config")
	}
	if q != nil {
		if m := q.Str("quant_method"); m == "" || m == "modelopt" {
			return d.modelopt(q, q)
		}
		return q
	}
	if d.cfg.Quant == nil {
		return nil
	}
	if p := d.modelopt(d.cfg.Quant, nil); p != nil {
		return p
	}
	return nil
}

// modelopt reads ModelOpt's quantization object; base is returned with the
// method filled in, or unchanged where the release does not recognise it.
func (d *deriver) modelopt(q, base model.Section) model.Section {
	in := q
	if s := q.Sub("quantization"); s != nil {
		in = s
		if s := in.Sub("quantization"); s != nil {
			in = s
		}
	}
	algo := strings.ToUpper(in.Str("quant_algo"))
	method := ""
	switch {
	case algo == "MIXED_PRECISION":
		method = "w4afp8"
		if d.mixedModelopt(in) {
			method = "modelopt_mixed"
		}
	case strings.Contains(algo, "FP4"):
		method = "modelopt_fp4"
	case algo == "FP8":
		method = "modelopt_fp8"
	case algo == "MXFP8":
		method = "mxfp8"
	}
	// Until 0.5.9 a flat section in config.json kept the name "modelopt".
	flat := q.Sub("quantization") == nil && base != nil
	if method == "" || (flat && base.Str("quant_method") == "modelopt" && d.r.Before("0.5.10")) {
		return base
	}
	out := model.Section{"quant_method": method}
	for k, v := range in {
		if k != "quant_method" {
			out[k] = v
		}
	}
	return out
}

// mixedModelopt tells ModelOpt's mixed precision from the older mix of int4
// experts and fp8 that has the same name: by family at first (0.5.10), by the
// formats of the layers since 0.5.15.
func (d *deriver) mixedModelopt(q model.Section) bool {
	if d.r.Before("0.5.15") {
		nemotron := d.v.modelType == "nemotron_h" || strings.HasPrefix(d.m.Arch, "NemotronH")
		return d.r.AtLeast("0.5.10") && nemotron
	}
	return hasNVFP4Layers(q)
}

func hasNVFP4Layers(s model.Section) bool {
	for _, v := range s.Sub("quantized_layers") {
		l, _ := v.(map[string]any)
		if a := strings.ToUpper(model.Section(l).Str("quant_algo")); a == "NVFP4" || a == "W4A16_NVFP4" {
			return true
		}
	}
	return false
}

// converted applies the overrides by which SGLang runs a checkpoint with
// another method's kernels: GPTQ and AWQ through Marlin.
func (d *deriver) converted(q model.Section, method, asked string) string {
	auto := asked == "" || asked == "marlin"
	bits := q.IntOr("bits", 0)
	switch method {
	case "gptq":
		if q.Str("checkpoint_format") == "marlin" {
			return "marlin"
		}
		if (auto || asked == "gptq_marlin") && gptqMarlin(q, bits) {
			return "gptq_marlin"
		}
	case "awq":
		if (auto || asked == "awq_marlin") && bits == 4 {
			return "awq_marlin"
		}
	}
	return method
}

func gptqMarlin(q model.Section, bits int64) bool {
	sym, _ := q.Bool("sym")
	g := q.IntOr("group_size", 0)
	return sym && (bits == 4 || bits == 8) && slices.Contains([]int64{-1, 32, 64, 128}, g)
}

// kvCacheAlgo is the KV-cache quantization the checkpoint asks for, which
// "auto" follows.
func (d *deriver) kvCacheAlgo(q model.Section) string {
	for _, s := range []model.Section{q, d.cfg.Quant, d.cfg.Quant.Sub("quantization")} {
		if a := s.Str("kv_cache_quant_algo"); a != "" {
			return strings.ToUpper(a)
		}
	}
	if s := q.Sub("kv_cache_scheme"); s != nil && s.Str("type") == "float" && s.IntOr("num_bits", 0) == 8 {
		d.m.KVCacheSchemeOnly = strings.HasPrefix(q.Str("quant_method"), "modelopt")
	}
	return ""
}
