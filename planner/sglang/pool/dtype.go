package pool

import (
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// KVType is how keys and values are stored.
type KVType struct {
	Name  string // "bfloat16", "fp8_e4m3", "fp4_e2m1", "nvfp4", "mxfp8", ...
	Bytes int64  // size of an element of the tensors; 1 for packed fp4
	FP4   bool
	MXFP8 bool
}

// FP8 reports an 8-bit float type.
func (t KVType) FP8() bool { return strings.HasPrefix(t.Name, "fp8") }

// kvType resolves --kv-cache-dtype (configure_kv_cache_dtype): "auto" is the
// checkpoint's request for FP8, else the model's own dtype.
func kvType(r release.Release, name string, m *modelcfg.Info) KVType {
	switch name {
	case "", "auto":
		if r.AtLeast("0.5.3") && m.KVCacheQuantAlgo == "FP8" {
			return KVType{Name: "fp8_e4m3", Bytes: 1}
		}
		return KVType{Name: m.DType, Bytes: int64(m.DTypeBytes)}
	case "bf16", "bfloat16":
		return KVType{Name: "bfloat16", Bytes: 2}
	case "mxfp8":
		return KVType{Name: name, Bytes: 1, MXFP8: true}
	case "fp4_e2m1", "nvfp4", "fp4_mx_block16":
		return KVType{Name: name, Bytes: 1, FP4: true}
	}
	if n := modelcfg.DTypeBytes(name); n > 0 {
		return KVType{Name: name, Bytes: int64(n)}
	}
	return KVType{Name: name, Bytes: int64(m.DTypeBytes)}
}
