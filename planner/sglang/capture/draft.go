package capture

import (
	"strings"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/units"
)

// speculation is what speculative decoding changes.
type speculation struct {
	algorithm string // "" when off
	tokens    int64  // draft tokens verified for each request
	steps     int64
	topK      int64
}

func speculationOf(a *args.Args, draft *modelcfg.Info) speculation {
	s := speculation{algorithm: strings.ToUpper(a.Str("speculative_algorithm")),
		tokens: a.Int("speculative_num_draft_tokens"), steps: a.Int("speculative_num_steps"), topK: a.Int("speculative_eagle_topk")}
	if s.algorithm == "" && draft != nil {
		s.algorithm = "EAGLE"
	}
	return s
}

func (s speculation) on() bool { return s.algorithm != "" }

// eagle: algorithms whose draft reads the target's hidden states.
func (s speculation) eagle() bool {
	return strings.HasPrefix(s.algorithm, "EAGLE") || s.algorithm == "NEXTN" || s.algorithm == "MTP"
}

// verifyTokens is how many rows a request has in the target's decode graphs.
func (s speculation) verifyTokens() int64 {
	if !s.on() {
		return 1
	}
	return max(1, s.tokens)
}

// auxiliary is how many further hidden states the target returns.
func (s speculation) auxiliary() int64 {
	switch {
	case s.algorithm == "EAGLE3":
		return 3
	case strings.HasPrefix(s.algorithm, "DFLASH"):
		return 5
	}
	return 0
}

// draftInfo is the draft's configuration; one layer like the target's where it
// is not known or is a part of the target's own checkpoint.
func (p *plan) draftInfo() *modelcfg.Info {
	if p.draft != nil && p.draft.HiddenSize > 0 {
		return p.draft
	}
	m := *p.info
	m.NumHiddenLayers, m.NumAttentionLayers, m.FirstKDenseReplace, m.HasNumNextN = 1, 1, 0, false
	return &m
}

// shared is what comes back when the target's embedding, and without EAGLE3 its
// output head, replace the draft's own after the pools were sized (from 0.5.14,
// where drafts are loaded before that).
func (p *plan) shared() {
	if !p.spec.eagle() || p.r.Before("0.5.14") {
		return
	}
	d := p.draftInfo()
	n := int64(d.VocabSize) * int64(d.HiddenSize) * 2 / p.l.tp
	if d.VocabSize != p.info.VocabSize || d.HiddenSize != p.info.HiddenSize {
		return
	}
	if p.spec.algorithm != "EAGLE3" {
		n *= 2
	}
	p.out.Before = append(p.out.Before, activation.Term{Name: "draft weights replaced by the target's", Group: activation.Buffers,
		Bytes: figure.Band(units.Bytes(-n), units.Bytes(-n), 0, figure.Estimated), Source: "seen on 1 launch of EAGLE3 on an 8B model: 1.0 GiB comes back before the capture"})
}

// drafts describes the graphs of the draft model.
func (p *plan) drafts() {
	if !p.spec.on() || p.spec.algorithm == "NGRAM" {
		return
	}
	d := *p
	d.info, d.draft = p.draftInfo(), nil
	d.text = nil // recurrent layers are the target's alone
	d.spec = speculation{}
	st := activation.Stage{Name: "draft", Body: d.body()}
	layers := max(1, int64(d.info.DraftLayers()))
	st.Body.Layers = layers
	st.Body.Stack = st.Body.Stack[:min(int64(len(st.Body.Stack)), layers)]
	st.Body.Lead, st.Body.Extra = 2, 1
	_, decode := p.graphs()
	if t := p.out.Prefill; t != nil && p.spec.eagle() {
		top := t.Sizes[0]
		width := int64(p.info.HiddenSize) * max(1, p.spec.auxiliary())
		st.Before = append(st.Before, activation.Term{Name: "draft: hidden states of the target", Group: activation.Buffers,
			Bytes:  figure.New(units.Bytes(top*width*2), figure.Exact),
			Source: "SGLang PrefillCudaGraphRunner: static input of the draft, tokens x width"})
		n := int64(len(t.Sizes)) * (layers + 1)
		st.Prefill = &activation.Captures{Sizes: t.Sizes, Fixed: []activation.Term{
			scaled("draft: prefill graph objects", n, p.rates().segment, "as for the target")}}
	}
	if decode.on() {
		st.After = append(st.After, fixed("draft: decode and extend graphs", activation.Graphs, 450, 250, 700,
			"0.25 GiB for the first of two, seen on 1 launch of EAGLE3 on an 8B model"))
	}
	p.out.Drafts = append(p.out.Drafts, st)
}
