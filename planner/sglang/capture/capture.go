// Package capture describes, release by release, what SGLang does on the GPU
// after its pools are allocated: which prefill and decode graphs it captures,
// in which order, what its attention backends and eager buffers take, and how
// well each class of launch has been measured. It turns a resolved launch into
// the terms of planner/activation, which knows no release.
package capture

import (
	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

const mib = units.MiB

// CodeUnmeasured is raised when a part of the launch's class was never
// measured, so that its needs have a wide band.
var CodeUnmeasured = finding.Define("need-not-measured",
	"what start and serving take on the GPU is estimated for a class that was not measured",
	"CUDA graphs and activations follow no formula of SGLang's. They are computed by replaying the tensors of a few layers through the caching allocator's rules; the result was compared with measured launches of the common classes. For the parts named here no measurement exists, so the band is wider.",
	"Leave more room, or give the startup log of an earlier launch of the same model and layout with --calibrate.")

// plan is one launch being described.
type plan struct {
	r     release.Release
	a     *args.Args
	info  *modelcfg.Info
	draft *modelcfg.Info
	cfg   *model.Config
	text  model.Section
	card  machine.Card
	l     ranks
	spec  speculation
	back  backends
	out   activation.Launch
}

// Plan describes what follows the pools of a launch whose arguments are
// resolved. draft is nil without a draft model. tokens is
// max_total_num_tokens, which the eager buffers depend on; the result can be
// evaluated at another number with activation.Result.At.
func Plan(r release.Release, a *args.Args, info *modelcfg.Info, cfg *model.Config, draft *modelcfg.Info, card machine.Card, tokens int64) (activation.Launch, []finding.Finding) {
	p := &plan{r: r, a: a, info: info, draft: draft, cfg: cfg, card: card, l: ranksOf(a)}
	if cfg != nil {
		p.text = cfg.Text()
	}
	p.spec = speculationOf(a, draft)
	p.back = backendsOf(a)
	p.out.Tokens = tokens
	p.out.Body = p.body()
	p.out.CaptureWorkspace = p.captureWorkspace()
	p.before()
	p.communication()
	p.shared()
	p.prefill()
	p.decode()
	p.drafts()
	p.ready()
	p.serving()
	p.out.Spread = p.spread()
	p.out.Unmeasured = p.unmeasured()
	return p.out, p.findings()
}

// ranks is the layout that the tensors depend on.
type ranks struct {
	tp, dp, ep, pp int64
	attention      int64 // ranks that share attention
	experts        int64 // ranks that share the width of an expert
}

func ranksOf(a *args.Args) ranks {
	l := ranks{tp: max(1, a.Int("tp_size")), dp: 1, ep: max(1, a.Int("ep_size")), pp: max(1, a.Int("pp_size"))}
	switch {
	case a.Int("attn_dp_size") > 1: // from 0.5.23
		l.dp = a.Int("attn_dp_size")
	case a.Bool("enable_dp_attention"):
		l.dp = max(1, a.Int("dp_size"))
	}
	l.attention = max(1, l.tp/l.dp)
	l.experts = max(1, l.tp/l.ep)
	return l
}

// chunk is the number of new tokens of the largest prefill batch.
func (p *plan) chunk() int64 {
	c := p.a.Int("chunked_prefill_size")
	most := p.a.IntOr("max_prefill_tokens", 16384)
	if c <= 0 { // chunking is off
		return max(most, 1)
	}
	return max(1, min(c, max(most, 1)))
}

func (p *plan) findings() []finding.Finding {
	if len(p.out.Unmeasured) == 0 {
		return nil
	}
	what := ""
	for i, u := range p.out.Unmeasured {
		if i > 0 {
			what += ", "
		}
		what += u.What
	}
	return []finding.Finding{finding.New(CodeUnmeasured, finding.Info, "", "not measured: "+what)}
}
