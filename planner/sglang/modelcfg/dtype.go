package modelcfg

import (
	"strings"

	"github.com/sglplan/sglplan/planner/model"
)

var dtypeNames = map[string]string{
	"half": "float16", "float16": "float16", "float": "float32", "float32": "float32", "bfloat16": "bfloat16",
}

// DTypeBytes is the size of an element in bytes by SGLang's dtype names, 0
// when unknown.
func DTypeBytes(name string) int {
	switch name {
	case "bfloat16", "bf16", "float16", "fp16", "half":
		return 2
	case "float32", "fp32", "float":
		return 4
	case "fp8_e4m3", "fp8_e5m2", "fp4_e2m1", "fp4_mx_block16", "nvfp4", "mxfp8":
		return 1
	}
	return 0
}

// dtype resolves --dtype auto: the file's, float16 for float32 or unknown
// files, bfloat16 for Gemma (_get_and_verify_dtype).
func (d *deriver) dtype() {
	m := d.m
	name := dtypeNames[lower(d.opt.DType)]
	if name == "" {
		name = d.fileDType()
	}
	m.DType, m.DTypeBytes = name, DTypeBytes(name)
}

func (d *deriver) fileDType() string {
	of := fileDType(d.v.text.sec)
	// Sub-configs without a dtype take the wrapper's (get_hf_text_config).
	if of == "" && d.v.nested && d.r.AtLeast("0.5.10") {
		of = fileDType(d.v.top.sec)
	}
	if of == "" && classDTypes[d.v.textType] {
		of = "bfloat16"
	}
	if of == "" || of == "float32" {
		if strings.HasPrefix(d.v.textType, "gemma") {
			return "bfloat16"
		}
		return "float16"
	}
	return of
}

// classDTypes are classes that state bfloat16 themselves.
var classDTypes = map[string]bool{"muse_spark_text": true, "beam": true, "iquest_q1": true}

func fileDType(s model.Section) string {
	for _, k := range []string{"dtype", "torch_dtype"} {
		if v := s.Str(k); v != "" {
			return dtypeNames[strings.TrimPrefix(v, "torch.")]
		}
	}
	return ""
}
