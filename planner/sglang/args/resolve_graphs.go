package args

import (
	"fmt"
	"slices"
)

// The backends of a graph phase.
const (
	graphFull      = "full"
	graphBreakable = "breakable"
	graphPiecewise = "tc_piecewise"
	graphDisabled  = "disabled"
)

// phase is the graph configuration of one phase while it is resolved.
type phase struct {
	backend string
	max     int64 // largest size, once hasMax
	hasMax  bool
	bs      []int64        // captured sizes, nil until decided
	other   map[string]any // further keys, as the user gave them
	user    map[string]bool
}

func (p *phase) setMax(n int64) { p.max, p.hasMax = n, true }

// locked reports that the user chose this key: no rule may change it.
func (p *phase) locked(key string) bool { return p.user[key] }

// take reads the two fields of the releases before cuda_graph_config.
func (p *phase) take(a *Args, top, list string) {
	if a.Has(top) {
		p.setMax(a.Int(top))
	}
	if a.Has(list) {
		p.bs = append([]int64{}, a.Ints(list)...)
	}
}

// set stores one key that the user gave.
func (p *phase) set(key string, v any) {
	if p.user == nil {
		p.user, p.other = map[string]bool{}, map[string]any{}
	}
	p.user[key] = true
	switch key {
	case "backend":
		p.backend, _ = v.(string)
	case "max_bs":
		if n, ok := v.(int64); ok {
			p.setMax(n)
		}
	case "bs":
		p.bs = wholeNumbers(v)
	default:
		p.other[key] = v
	}
}

func wholeNumbers(v any) []int64 {
	l, _ := v.([]any)
	out := []int64{}
	for _, e := range l {
		if n, ok := e.(int64); ok {
			out = append(out, n)
		}
	}
	return out
}

type graphs struct{ decode, prefill phase }

func (g *graphs) phases() map[string]*phase {
	return map[string]*phase{"decode": &g.decode, "prefill": &g.prefill}
}

// graphFlags are the flags that set one key of a phase, weakest first: the
// JSON of --cuda-graph-config overrides them all (parse_cuda_graph_config).
var graphFlags = []struct{ field, phase, key string }{
	{"cuda_graph_backend_decode", "decode", "backend"}, {"cuda_graph_backend_prefill", "prefill", "backend"},
	{"cuda_graph_max_bs_decode", "decode", "max_bs"}, {"cuda_graph_max_bs_prefill", "prefill", "max_bs"},
	{"cuda_graph_max_seq_len_prefill", "prefill", "max_seq_len"},
	{"cuda_graph_bs_decode", "decode", "bs"}, {"cuda_graph_bs_prefill", "prefill", "bs"},
	{"cuda_graph_tc_compiler", "decode", "tc_compiler"}, {"cuda_graph_tc_compiler", "prefill", "tc_compiler"},
	{"cuda_graph_prefill_max_context", "prefill", "max_context_size"},
}

// graphConfig is _handle_cuda_graph_config (0.5.14): what the user chose, then
// the rules that turn the default prefill graphs off.
func (x *resolver) graphConfig() {
	x.graphDefaults()
	x.g.decode.backend = graphFull
	x.g.prefill.backend = graphBreakable
	if x.r.Before("0.5.15") {
		x.g.prefill.backend = graphPiecewise
	}
	if x.Bool("disable_cuda_graph") {
		x.g.decode.set("backend", graphDisabled)
		x.g.prefill.set("backend", graphDisabled)
	}
	if x.Bool("disable_prefill_cuda_graph") {
		x.g.prefill.set("backend", graphDisabled)
	}
	if x.Bool("disable_decode_cuda_graph") {
		x.g.decode.set("backend", graphDisabled)
	}
	for _, f := range graphFlags {
		if v, ok := x.Get(f.field); ok && v.V != nil {
			x.g.phases()[f.phase].set(f.key, v.V)
		}
	}
	x.graphJSON()
	x.prefillGraphRules()
	x.alignForDeepEP()
	x.graphRoles()
	x.graphBackends()
}

// graphDefaults are the architectures with a default of their own, set before
// the configuration is read.
func (x *resolver) graphDefaults() {
	if x.r.AtLeast("0.5.16") && x.m.is("InklingForConditionalGeneration", "InklingForConditionalGenerationMTP") && !x.Bool("disable_prefill_cuda_graph") {
		x.fill("cuda_graph_backend_prefill", graphFull, "inkling-prefill-graph")
	}
	if x.r.AtLeast("0.5.18") && x.m.is("MuseGlimmerForCausalLM", "MuseGlimmerForConditionalGeneration") {
		x.fill("cuda_graph_max_bs_prefill", int64(512), "muse-glimmer-prefill-graph")
	}
}

func (x *resolver) graphJSON() {
	v, _ := x.Get("cuda_graph_config")
	m, _ := v.V.(map[string]any)
	for name, p := range x.g.phases() {
		keys, _ := m[name].(map[string]any)
		for k, val := range keys {
			p.set(k, val)
		}
	}
}

// graphRoles turns off the graphs that a disaggregated role never replays.
func (x *resolver) graphRoles() {
	if x.r.Before("0.5.16") {
		return
	}
	switch x.Str("disaggregation_mode") {
	case "prefill":
		if !x.g.decode.locked("backend") {
			x.g.decode.backend = graphDisabled
		}
	case "decode":
		if !x.g.prefill.locked("backend") {
			x.g.prefill.backend = graphDisabled
		}
	}
}

func (x *resolver) graphBackends() {
	for _, name := range []string{"decode", "prefill"} {
		allowed := []string{graphBreakable, graphDisabled}
		if name == "decode" || x.r.AtLeast("0.5.15") {
			allowed = append(allowed, graphFull)
		}
		if x.r.Before("0.5.22") {
			allowed = append(allowed, graphPiecewise)
		}
		if b := x.g.phases()[name].backend; !slices.Contains(allowed, b) {
			x.refuse(CodeGraphBackend, "--cuda-graph-config", fmt.Sprintf("The %s graph backend is %q; SGLang %s takes %s.", name, b, x.r, quoted(allowed)))
		}
	}
}

// alignForDeepEP makes the sizes of breakable prefill graphs multiples of 8
// (0.5.17), because other sizes can hang the capture of DeepEP.
func (x *resolver) alignForDeepEP() {
	p := &x.g.prefill
	if x.r.Before("0.5.17") || x.Str("moe_a2a_backend") != "deepep" || p.backend != graphBreakable {
		return
	}
	sizes := p.bs
	if sizes == nil {
		top := p.max
		if top == 0 {
			top = 2048
		}
		sizes = x.prefillList(top)
	}
	aligned := make([]int64, 0, len(sizes))
	for _, n := range sizes {
		aligned = append(aligned, (n+7)/8*8)
	}
	slices.Sort(aligned)
	aligned = slices.Compact(aligned)
	before := slices.Sorted(slices.Values(sizes))
	if len(aligned) == 0 || slices.Equal(aligned, before) {
		return
	}
	p.bs = aligned
	p.setMax(aligned[len(aligned)-1])
}

// trtllmPrefillGraph turns prefill graphs off for DeepSeek-V3 on trtllm_mla
// (0.5.15): a captured prefill would fall back to FlashAttention.
func (x *resolver) trtllmPrefillGraph() {
	p := &x.g.prefill
	if !p.locked("backend") && x.m.is("DeepseekV3ForCausalLM") && x.prefillBackend() == "trtllm_mla" {
		p.backend = graphDisabled
	}
}

// graphContext aligns --cuda-graph-prefill-max-context to pages (0.5.22).
func (x *resolver) graphContext() {
	asked, ok := x.g.prefill.other["max_context_size"].(int64)
	if !ok {
		return
	}
	page := max(x.Int("page_size"), 1)
	if asked <= 0 {
		x.refuse(CodeGraphContext, "--cuda-graph-prefill-max-context", "The largest context of prefill graphs must be positive.")
		return
	}
	aligned := (asked + page - 1) / page * page
	if n := int64(x.m.ContextLen); n > 0 && aligned > n {
		x.refuse(CodeGraphContext, "--cuda-graph-prefill-max-context", fmt.Sprintf("%d tokens rounded up to pages of %d are %d, beyond the model's context of %d.", asked, page, aligned, n))
		return
	}
	x.g.prefill.other["max_context_size"] = aligned
}

// disableGraphs turns off both phases, in the way the release writes it down.
func (x *resolver) disableGraphs(id string) {
	if x.r.Before("0.5.14") {
		x.rule("disable_cuda_graph", true, id)
		return
	}
	x.g.decode.backend = graphDisabled
	x.g.prefill.backend = graphDisabled
}

// store writes the graph configuration into the arguments: two flat fields a
// phase before 0.5.14, one object since.
func (x *resolver) store() {
	if x.r.Before("0.5.3") {
		return
	}
	if x.r.Before("0.5.14") {
		x.rule("cuda_graph_max_bs", x.g.decode.max, "decode-graph-sizes")
		x.rule("cuda_graph_bs", listOf(x.g.decode.bs), "decode-graph-sizes")
		if x.r.AtLeast("0.5.3.post3") {
			x.rule("piecewise_cuda_graph_max_tokens", x.g.prefill.max, "prefill-graph-sizes")
			x.rule("piecewise_cuda_graph_tokens", listOf(x.g.prefill.bs), "prefill-graph-sizes")
		}
		return
	}
	x.rule("cuda_graph_config", map[string]any{"decode": x.g.decode.object(), "prefill": x.g.prefill.object()}, "graph-config")
}

func (p *phase) object() map[string]any {
	out := map[string]any{"backend": p.backend, "max_bs": p.max, "bs": listOf(p.bs)}
	for k, v := range p.other {
		out[k] = v
	}
	return out
}

func listOf(l []int64) []any {
	out := make([]any, len(l))
	for i, n := range l {
		out[i] = n
	}
	return out
}
