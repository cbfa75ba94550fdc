package args

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

// graphKey is a setting that --cuda-graph-config accepts (ALLOWED_KEYS_PER_PHASE
// in cuda_graph_config.py, from 0.5.14).
type graphKey struct {
	name        string
	prefillOnly bool
	since       string
	until       string // first release without it, "" while it is there
}

var graphKeys = []graphKey{
	{name: "backend", since: "0.5.14"},
	{name: "max_bs", since: "0.5.14"},
	{name: "bs", since: "0.5.14"},
	{name: "tc_compiler", since: "0.5.14", until: "0.5.22"},
	{name: "full_prefill_max_req", prefillOnly: true, since: "0.5.15"},
	{name: "full_prefill_prefix_chunk_tokens", prefillOnly: true, since: "0.5.17"},
	{name: "max_context_size", prefillOnly: true, since: "0.5.21"},
	{name: "max_seq_len", prefillOnly: true, since: "0.5.21"},
}

// graphConfig is SGLang's parse_cuda_graph_config_arg: a JSON object keyed by
// phase, each phase an object of known settings.
func graphConfig(text string, r release.Release) (any, string) {
	v, why := fromJSON(text)
	if why != "" {
		return nil, why
	}
	phases, ok := v.(map[string]any)
	if !ok {
		return nil, "not a JSON object"
	}
	for phase, settings := range phases {
		if phase != "decode" && phase != "prefill" {
			return nil, fmt.Sprintf("phase %q is neither decode nor prefill", phase)
		}
		m, ok := settings.(map[string]any)
		if !ok {
			return nil, fmt.Sprintf("the settings of %s are not a JSON object", phase)
		}
		if why := graphPhase(phase, m, r); why != "" {
			return nil, why
		}
	}
	return v, ""
}

func graphPhase(phase string, settings map[string]any, r release.Release) string {
	var known []string
	for _, k := range graphKeys {
		if r.AtLeast(k.since) && (k.until == "" || r.Before(k.until)) && (phase == "prefill" || !k.prefillOnly) {
			known = append(known, k.name)
		}
	}
	for key := range settings {
		if !slices.Contains(known, key) {
			return fmt.Sprintf("%s has no setting %q (only %s)", phase, key, strings.Join(known, ", "))
		}
	}
	if settings["backend"] == "tc_piecewise" && r.AtLeast("0.5.22") {
		return "tc_piecewise was removed in 0.5.22 (breakable, full or disabled)"
	}
	return ""
}
