package planner

import (
	"fmt"
	"math"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// CodeOutOfRange is about values that argparse takes and the workers stop at.
var CodeOutOfRange = finding.Define("value-out-of-range",
	"no SGLang worker runs with this value",
	"SGLang's argument parser takes any number here and the start ends later with an assertion or an arithmetic error: a page of no tokens divides by zero, no running request is `max_running_request is zero`, a context of no tokens is `Memory pool size is too small`, a fraction that is no number cannot become a number of tokens.",
	"Give a value in the range that the finding names, or leave the flag out.")

// leastValues are the smallest values that the workers of every known release
// start with (tp_worker.py asserts on requests and context, the pool
// configurator on tokens and pages, the graph runner on its batch sizes).
var leastValues = []struct {
	field, flag string
	least       int64
	ends        string // how the start ends below it
}{
	{"page_size", "--page-size", 1, "pools are rounded down to whole pages, which cannot be done"},
	{"max_running_requests", "--max-running-requests", 1, "the worker stops with `max_running_request is zero`"},
	{"max_total_tokens", "--max-total-tokens", 1, "the pools stop with `Not enough memory`"},
	{"context_length", "--context-length", 2, "the worker stops with `Memory pool size is too small`"},
	{"cuda_graph_max_bs", "--cuda-graph-max-bs", 0, "no batch size is left to capture"},
}

// mostContext bounds a context: a request's row of the table that maps its
// positions to the pool takes 4 bytes a token, 4 TiB here.
const mostContext = 1 << 40

// outOfRange finds resolved values that no worker starts with. A share that is
// no finite number is taken out, so that nothing is computed from it.
func (j *job) outOfRange() []finding.Finding {
	var found []finding.Finding
	add := func(field, flag, detail string) {
		f := finding.New(CodeOutOfRange, finding.Error, flag, detail).
			With("leave "+flag+" out", finding.Edit{Flag: flag, Remove: true})
		f.Position = j.positionOf(field)
		found = append(found, f)
	}
	for _, l := range leastValues {
		if l.field == "cuda_graph_max_bs" && j.args.Bool("disable_cuda_graph") {
			continue
		}
		if v, ok := j.args.Get(l.field); ok && v.V != nil && isWhole(v.V) && j.args.Int(l.field) < l.least {
			add(l.field, l.flag, fmt.Sprintf("%s is %d; the smallest value that works is %d: %s.", l.flag, j.args.Int(l.field), l.least, l.ends))
		}
	}
	if n := j.args.Int("context_length"); n > mostContext {
		add("context_length", "--context-length", fmt.Sprintf("--context-length is %d; a row of the request table alone would take %d TiB.", n, n/(1<<38)))
	}
	for _, f := range j.shares() {
		v := j.args.Float(f.field)
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			continue
		}
		if f.counts {
			add(f.field, f.flag, fmt.Sprintf("%s is %v, from which no number of tokens follows.", f.flag, v))
		}
		j.args.Set(f.field, nil, args.Origin{Kind: args.FromDefault})
	}
	return found
}

// share is a real-valued argument that pools are sized by.
type share struct {
	field, flag string
	counts      bool // for this model
}

func (j *job) shares() []share {
	return []share{
		{"mem_fraction_static", fractionFlag, true},
		{"swa_full_tokens_ratio", "--swa-full-tokens-ratio", j.info != nil && j.info.IsHybridSWA},
		{"mamba_full_memory_ratio", "--mamba-full-memory-ratio", j.info != nil && j.info.Linear != nil},
	}
}

func isWhole(v any) bool {
	switch v.(type) {
	case int64, int:
		return true
	}
	return false
}

// bounded keeps a fraction where its arithmetic is far from overflow. Beyond
// these bounds every answer is the same: no pool at all below, far more than
// the card above.
func bounded(f float64) float64 { return min(max(f, -16), 16) }

// presentable replaces what JSON has no form for: Python's arguments may be
// infinite or no number.
func presentable(v any) any {
	switch t := v.(type) {
	case float64:
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return nil
		}
	case []any:
		out := make([]any, len(t))
		for i := range t {
			out[i] = presentable(t[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for k := range t {
			out[k] = presentable(t[k])
		}
		return out
	}
	return v
}
