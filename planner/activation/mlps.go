package activation

import "github.com/sglplan/sglplan/planner/caching"

// Dense is a gated feed-forward part.
type Dense struct {
	Inter   int64 // intermediate width on this rank
	InBytes int64 // as in Attention
}

func (d Dense) run(p *pass, mixed caching.Block) caching.Block { return p.exchanged(mixed, d.local) }

func (d Dense) local(p *pass, mixed caching.Block) caching.Block {
	p.quantise(d.InBytes, p.tokens*p.body.Hidden)
	gateUp := p.alloc(2 * d.Inter)
	act := p.alloc(d.Inter)
	p.quantise(d.InBytes, p.tokens*d.Inter)
	down := p.reduce(p.alloc(p.body.Hidden))
	p.free(gateUp, act, mixed)
	return down
}

// Runner is the kernel family of the routed experts.
type Runner int

// The runners that differ in what they allocate.
const (
	Triton        Runner = iota // fused_moe: three intermediates, the second freed before the third
	TritonKernels               // mxfp4 on Hopper: gate and up fused into one intermediate
	Marlin                      // weight-only int4 and int8: the first and last intermediate share one buffer
)

// MoE is a layer of routed experts.
type MoE struct {
	Runner  Runner
	Experts int64 // router outputs
	TopK    int64
	Inter   int64 // width of an expert on this rank
	Shared  int64 // width of the shared expert on this rank, 0 when none or fused
	InBytes int64 // as in Attention
}

// blockRows pads the sorted token list: each expert to a whole block.
const blockRows = 63

func (m MoE) run(p *pass, mixed caching.Block) caching.Block { return p.exchanged(mixed, m.local) }

func (m MoE) local(p *pass, mixed caching.Block) caching.Block {
	shared := m.shared(p)
	t, h := p.tokens, p.body.Hidden
	small := [...]caching.Block{
		p.alloc(m.Experts), p.graph.Alloc(t * m.TopK * 4), p.graph.Alloc(t * m.TopK * 4),
		p.graph.Alloc((t*m.TopK + m.Experts*blockRows) * 4),
	}
	out := mixed
	switch m.Runner {
	case TritonKernels:
		inter := p.alloc(m.TopK * ((m.Inter + 63) / 64 * 64))
		out = p.alloc(h)
		scattered := p.alloc(m.TopK * h)
		p.free(scattered, inter, mixed)
	case Marlin:
		second := p.alloc(m.TopK * m.Inter)
		first := p.alloc(m.TopK * max(2*m.Inter, h))
		out = p.alloc(h) // never in place
		p.free(second, first, mixed)
	default:
		p.quantise(m.InBytes, t*h)
		first := p.alloc(m.TopK * 2 * m.Inter)
		second := p.alloc(m.TopK * m.Inter)
		p.free(first)
		p.quantise(m.InBytes, t*m.TopK*m.Inter)
		third := p.alloc(m.TopK * h)
		p.free(second, third)
	}
	p.free(small[:]...)
	p.free(shared)
	return p.reduce(out)
}

// shared runs the shared expert and returns its output.
func (m MoE) shared(p *pass) caching.Block {
	if m.Shared == 0 {
		return 0
	}
	gateUp, act := p.alloc(2*m.Shared), p.alloc(m.Shared)
	out := p.alloc(p.body.Hidden)
	p.free(gateUp, act)
	return out
}
