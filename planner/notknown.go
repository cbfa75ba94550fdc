package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// Fields that decide whether a launch fits. When the command sets one to what
// is known only at run time, the default stands in for it: good enough for
// figures, not for a refusal.
var (
	decideGPU = []string{
		"tp_size", "pp_size", "dp_size", "ep_size", "nnodes", "attn_cp_size", "moe_dp_size", "attn_dp_size",
		"mem_fraction_static", "quantization", "dtype", "kv_cache_dtype", "max_total_tokens",
	}
	decideHost = []string{"hicache_size", "hicache_ratio"}
)

// notKnown returns those of the fields that the command sets to something not
// known.
func (j *job) notKnown(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool {
		v, ok := j.given.Get(f)
		return !ok || v.Origin.Kind != args.FromUnknown
	})
}

// soften makes warnings of the errors found since a point that rest on fields
// which are not known.
func (j *job) soften(from int, fields []string) {
	unknown := j.notKnown(fields)
	if len(unknown) == 0 {
		return
	}
	for i := range j.findings[from:] {
		if f := &j.findings[from+i]; f.Severity == finding.Error {
			f.Severity = finding.Warning
			f.Detail += fmt.Sprintf(" Judged with the default of %s, which is known only when the launch runs.", strings.Join(unknown, ", "))
		}
	}
}
