package capture

import (
	"slices"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// phase is the resolved configuration of one phase's graphs.
type phase struct {
	backend string // "disabled", "full", "breakable", "tc_piecewise"
	sizes   []int64
}

func (f phase) on() bool { return f.backend != "" && f.backend != "disabled" && len(f.sizes) > 0 }

// graphs reads the captured sizes: cuda_graph_config from 0.5.14, the fields
// of their own before.
func (p *plan) graphs() (prefill, decode phase) {
	if m, ok := p.config(); ok {
		prefill, decode = phaseOf(m["prefill"]), phaseOf(m["decode"])
		if prefill.on() && len(prefill.sizes) == 0 {
			prefill.backend = "disabled"
		}
		return prefill, decode
	}
	if !p.a.Bool("disable_cuda_graph") {
		decode = phase{"full", p.a.Ints("cuda_graph_bs")}
	}
	if p.piecewise() {
		prefill = phase{"tc_piecewise", p.a.Ints("piecewise_cuda_graph_tokens")}
	}
	return prefill, decode
}

// piecewise: opt-in to 0.5.9, on by default from 0.5.10.
func (p *plan) piecewise() bool {
	if p.r.Before("0.5.10") {
		return p.a.Bool("enable_piecewise_cuda_graph")
	}
	return !p.a.Bool("disable_piecewise_cuda_graph")
}

func (p *plan) config() (map[string]any, bool) {
	v, ok := p.a.Get("cuda_graph_config")
	if !ok {
		return nil, false
	}
	m, ok := v.V.(map[string]any)
	return m, ok
}

func phaseOf(v any) phase {
	m, _ := v.(map[string]any)
	f := phase{}
	f.backend, _ = m["backend"].(string)
	f.sizes = ints(m["bs"])
	return f
}

func ints(v any) []int64 {
	switch l := v.(type) {
	case []int64:
		return l
	case []any:
		out := make([]int64, 0, len(l))
		for _, x := range l {
			switch n := x.(type) {
			case int64:
				out = append(out, n)
			case int:
				out = append(out, int64(n))
			case float64:
				out = append(out, int64(n))
			}
		}
		return out
	}
	return nil
}

// gate: 0.5.16 and 0.5.17 leave automatic prefill graphs out when less than
// 4.00 GiB is free where their capture begins.
func (p *plan) gate() units.Bytes {
	if !p.r.Within("0.5.16", "0.5.17.post9") || p.lockedPrefill() {
		return 0
	}
	return 4 * units.GiB
}

// lockedPrefill: the user chose the prefill backend.
func (p *plan) lockedPrefill() bool {
	for _, f := range []string{"cuda_graph_backend_prefill", "disable_prefill_cuda_graph", "disable_cuda_graph"} {
		if p.a.Given(f) && p.a.Has(f) {
			return true
		}
	}
	return false
}

// prefill describes the prefill graphs.
func (p *plan) prefill() {
	f, _ := p.graphs()
	if !f.on() || !p.standard() {
		return
	}
	sizes := descending(f.sizes)
	c := &activation.Captures{Sizes: sizes}
	n := int64(len(sizes))
	segments := p.out.Body.Layers + 1
	c.Fixed = append(c.Fixed, p.firstCapture(sizes[0]), scaled("prefill graph objects", n*segments, p.rates().segment,
		"fitted on 7 launches of 0.5.17 on H200: CUDA's own share of a captured segment"))
	if k := p.collectives(sizes, true); k > 0 {
		c.Fixed = append(c.Fixed, scaled("NCCL in prefill graphs", k, ncclNode, "fitted on 2 launches with TP 2 on H200"))
	}
	if t := p.multimodalInput(sizes[0], f.backend); t > 0 {
		c.Fixed = append(c.Fixed, activation.Term{Name: "input embeddings of prefill graphs", Group: activation.Buffers,
			Bytes: figure.New(t, figure.Exact), Source: "SGLang PrefillInputBuffers: tokens x hidden for multimodal models"})
	}
	p.hybridCapture(c, sizes[0])
	p.out.SharedOutput = p.r.AtLeast("0.5.16")
	p.out.Prefill = c
	p.out.Gate = p.gate()
}

// standard reports whether SGLang finds an attention layer in every decoder
// layer, without which it captures no prefill graphs.
func (p *plan) standard() bool { return len(p.out.Body.Stack) > 0 }

func (p *plan) multimodalInput(tokens int64, backend string) units.Bytes {
	if !p.info.IsMultimodal || backend == "full" {
		return 0
	}
	return units.Bytes(tokens * p.out.Body.Hidden * 2)
}

// decode describes the decode graphs, or those of target verification with a
// draft.
func (p *plan) decode() {
	_, f := p.graphs()
	if !f.on() {
		return
	}
	sizes := p.poolBound(descending(f.sizes))
	c := &activation.Captures{Sizes: sizes}
	n, top := int64(len(sizes)), sizes[0]
	rows := top * p.spec.verifyTokens()
	c.Fixed = append(c.Fixed,
		activation.Term{Name: "logits shared by the graphs", Group: activation.Buffers,
			Bytes: figure.New(units.Bytes(rows*p.out.Body.Vocab*4), figure.Exact), Source: "SGLang: largest batch x vocabulary, fp32"},
		p.tables(sizes),
		scaled("decode graph objects", n*p.out.Body.Layers, p.rates().decode, "fitted on 8 launches of 0.5.17 on H200"),
		fixed("rest of the decode capture", activation.Graphs, 15, -15, 45, "fitted on 7 launches"),
	)
	if k := p.collectives(sizes, false); k > 0 {
		c.Fixed = append(c.Fixed, scaled("NCCL in decode graphs", k, ncclNode, "as in prefill graphs"))
	}
	if p.l.tp > 1 {
		c.Fixed = append(c.Fixed, fixed("more with several ranks", activation.Graphs, 115, 110, 120, "fitted on 2 launches with TP 2"))
	}
	p.out.Decode = c
	p.out.DecodeFirst = p.r.Before("0.5.14")
	p.out.DecodeAlone = []activation.Term{fixed("first captured forward", activation.Graphs, 35, 0, 110, "fitted on 9 launches")}
}

// poolBound drops the sizes above the request pool, whose size joins the list.
func (p *plan) poolBound(sizes []int64) []int64 {
	limit := p.a.Int("max_running_requests") / p.l.dp
	if limit <= 0 || len(sizes) == 0 || sizes[0] <= limit {
		return sizes
	}
	out := []int64{limit}
	for _, s := range sizes {
		if s < limit {
			out = append(out, s)
		}
	}
	return out
}

// collectives counts the NCCL operations recorded in graphs: two a layer and
// size. All-reduces that the custom kernel takes are not among them; those of
// DP attention are gathers and scatters, which it never takes.
func (p *plan) collectives(sizes []int64, prefill bool) int64 {
	if p.l.tp <= 1 {
		return 0
	}
	per := 2 * p.out.Body.Layers
	if p.l.dp > 1 {
		return int64(len(sizes)) * per
	}
	var k int64
	for _, s := range sizes {
		if !prefill {
			s *= p.spec.verifyTokens()
		}
		if s*p.out.Body.Hidden*2 > p.out.Body.ReduceMax {
			k += per
		}
	}
	return k
}

func descending(l []int64) []int64 {
	out := slices.Clone(l)
	slices.SortFunc(out, func(a, b int64) int { return int(b - a) })
	return slices.Compact(out)
}
