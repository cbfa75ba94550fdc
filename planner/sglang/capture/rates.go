package capture

import (
	"math"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// rate is a fitted figure in MiB with the spread of its measurements.
type rate struct{ value, low, high float64 }

// family is what the fitted figures were told apart by.
type family int

const (
	dense family = iota
	moe
	mla
	hybrid
)

// familyRates are what CUDA itself takes for graph objects. They were fitted
// on launches of 0.5.17 on an H200 (torch 2.11, CUDA 13.0).
type familyRates struct {
	segment rate // per captured prefill size and segment
	decode  rate // per captured decode size and layer
}

var ratesByFamily = [...]familyRates{
	dense:  {rate{0.142, 0.135, 0.165}, rate{0.05, 0.045, 0.06}},
	moe:    {rate{0.142, 0.135, 0.165}, rate{0.065, 0.058, 0.078}},
	mla:    {rate{0.142, 0.135, 0.165}, rate{0.085, 0.076, 0.102}},
	hybrid: {rate{0.30, 0.27, 0.36}, rate{0.12, 0.108, 0.144}},
}

// ncclNode is what one NCCL collective takes in a graph.
var ncclNode = rate{0.17, 0.163, 0.18}

func (p *plan) family() family {
	switch {
	case p.hasLinear():
		return hybrid
	case p.latent():
		return mla
	case p.info.NumExperts > 0 && p.info.NumExpertsPerTok > 0:
		return moe
	}
	return dense
}

func (p *plan) rates() familyRates { return ratesByFamily[p.family()] }

// scaled is a term of so many times a rate.
func scaled(name string, n int64, r rate, source string) activation.Term {
	at := func(v float64) units.Bytes { return units.Bytes(math.Round(v * float64(n) * float64(mib))) }
	return activation.Term{Name: name, Group: activation.Graphs,
		Bytes: figure.Band(at(r.value), at(r.low), at(r.high), figure.Estimated), Source: source}
}

// fixed is a term of a fitted size in MiB.
func fixed(name string, g activation.Group, value, low, high float64, source string) activation.Term {
	t := scaled(name, 1, rate{value, low, high}, source)
	t.Group = g
	return t
}

// firstCapture is what the first captured forward takes beside its tensors:
// modules and the base of the graph. It grows with the size to 8192 tokens.
func (p *plan) firstCapture(top int64) activation.Term {
	k := min(1, max(0.25, float64(top)/8192))
	return fixed("first captured forward", activation.Graphs, 135*k, 90*k, 175*k, "fitted on 7 launches of 0.5.17 on H200")
}

// captureWorkspace is the cuBLAS workspace of the capture stream: torch's
// default is 32 MiB on Hopper and about 8 MiB elsewhere (:4096:2:16:8).
func (p *plan) captureWorkspace() units.Bytes {
	if p.card.Major == 9 || p.card.Major == 0 {
		return 32 * mib
	}
	return 8256 * units.KiB
}

// hybridCapture is what linear attention takes beyond the replay.
func (p *plan) hybridCapture(c *activation.Captures, top int64) {
	if !p.hasLinear() {
		return
	}
	c.Extra = append(c.Extra,
		fixed("Triton's autotuner", activation.Workspace, 256, 200, 300, "flush buffer of the autotuner; fitted on 1 launch"),
		p.hybridEager(top))
}

func (p *plan) hybridEager(tokens int64) activation.Term {
	k := float64(tokens) / 8192
	return fixed("linear attention beyond the replay", activation.Activations, 154*k, 50*k, 250*k, "fitted on 1 launch")
}

// ready are the terms between capture and the first load.
func (p *plan) ready() {
	p.out.AtReady = []activation.Term{fixed("first request", activation.Workspace, 40, 30, 60, "fitted on 9 launches")}
	if p.hasLinear() {
		p.out.AtReady = append(p.out.AtReady, fixed("first request, linear attention", activation.Workspace, 120, 60, 180, "fitted on 1 launch"))
	}
	if p.l.tp > 1 {
		p.out.Late = []activation.Term{fixed("NCCL channels", activation.Workspace, 560, 550, 590, "appear between capture and ready; fitted on 2 launches with TP 2")}
	}
	if p.l.pp > 1 {
		p.out.Late = append(p.out.Late, fixed("NCCL between stages", activation.Workspace, 450, 300, 650, "324 and 580 MiB at the first send and receive of two ranks, measured on H200 without SGLang"))
	}
}
