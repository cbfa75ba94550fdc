package planner

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/capture"
	"github.com/sglplan/sglplan/planner/sglang/loading"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/units"
)

// gpuModel is what a rank's GPU memory depends on, all but the fraction. Each
// part is nil when it could not be known.
type gpuModel struct {
	name    string
	total   units.Bytes
	pre     *figure.Bytes // free when loading begins, on the tightest rank
	weights *figure.Bytes // what loading takes until the pools are sized
	peak    *figure.Bytes // the worst moment of loading, nil where a measured load lived through it
	earlier units.Bytes   // that SGLang may have read more before the load than its log says
	late    units.Bytes   // given back after the pools: the draft's own embedding and head
	staging units.Bytes   // taken for transfers to the host pools, after graph capture
	sizer   *pool.Sizer
	needs   *activation.Result
	target  *weights.Result
	draft   *weights.Result
	// afterPool is what a draft takes after the target's pool, in releases
	// that load it then.
	afterPool figure.Bytes

	alternatives []finding.Fix // once sought
	sought       bool
}

// canPlan reports whether everything that decides the pool is known.
func (g *gpuModel) canPlan() bool { return g.sizer != nil && g.pre != nil && g.weights != nil }

// newGPUModel gathers what the pools depend on.
func (j *job) newGPUModel() *gpuModel {
	g := &gpuModel{}
	j.checkCalibration()
	j.preLoad(g)
	if j.info == nil || !j.info.Supported {
		j.loads(g)
		return g
	}
	sizer, fs := pool.New(j.rel, j.args, j.info, j.charged, j.card, j.env)
	j.add(fs...)
	g.sizer = sizer
	if j.layout.TP*j.layout.PP == 1 && j.req.Calibration == nil {
		g.earlier = oneRankEarlier
	}
	j.loads(g)
	if sizer != nil {
		j.need(g)
	}
	return g
}

// preLoad decides what is free when loading begins: given, measured earlier,
// or what is free now less what context and process groups take.
func (j *job) preLoad(g *gpuModel) {
	tight, fs := j.tightest()
	j.add(fs...)
	if tight != nil {
		g.name = tight.Name
		if tight.TotalBytes != nil {
			g.total = *tight.TotalBytes
		}
	}
	switch c := j.req.Calibration; {
	case j.req.GPUFree != nil:
		f := measured(*j.req.GPUFree)
		g.pre = &f
	case c != nil && c.PreLoadFree != nil:
		f := measured(*c.PreLoadFree)
		g.pre = &f
	case tight != nil:
		if free := unheld(tight); free > 0 {
			f := figure.New(free, figure.Measured).Minus(capture.PreLoad(j.rel, j.args, j.card))
			g.pre = &f
			return
		}
		j.add(finding.New(CodeGPUsUnknown, finding.Warning, "", fmt.Sprintf(
			"The memory of GPU %d is not known, so nothing can be said about what fits on it.", tight.Index)).
			With("describe the card with --gpus (for example --gpus 8xH200), or give its total_bytes in the machine file"))
	}
}

// unheld is what nobody holds of a card: what NVML says is free, and the
// driver's own reserve, which the cost of a context counts again. Without a
// reading the whole card is free.
func unheld(g *machine.GPU) units.Bytes {
	switch {
	case g.FreeBytes != nil && g.ReservedBytes != nil:
		return *g.FreeBytes + *g.ReservedBytes
	case g.FreeBytes != nil:
		return *g.FreeBytes
	case g.TotalBytes != nil && g.UsedBytes != nil:
		return *g.TotalBytes - *g.UsedBytes
	case g.TotalBytes != nil:
		return *g.TotalBytes
	}
	return 0
}

// loads decides what loading takes: given, measured earlier, or counted from
// the model's files; the draft's share included where the release has loaded
// it before it sizes the pools.
func (j *job) loads(g *gpuModel) {
	if j.req.Model != nil && j.info != nil {
		res, fs := loading.Estimate(j.rel, j.args, j.req.Model, j.card, loading.Options{Env: j.env, Files: j.req.Checkpoint})
		g.target = res
		if j.req.GPUWeights == nil {
			j.add(fs...)
		} else {
			j.add(errorsOf(fs)...)
		}
		j.add(loading.CheckFiles(j.rel, j.env, j.req.Checkpoint)...)
		j.draftLoads(g)
	}
	estimate := j.estimatedLoad(g)
	switch c := j.req.Calibration; {
	case j.req.GPUWeights != nil:
		j.measuredLoad(g, *j.req.GPUWeights, estimate, "--gpu-weights")
	case c != nil && c.Weights != nil:
		j.measuredLoad(g, g.calibratedWeights(c), estimate, "--calibrate")
	default:
		g.weights = estimate
		if g.target != nil {
			g.peak = &g.target.Peak
		}
	}
}

// estimatedLoad is what loading takes by the model's files, nil where that is
// not known.
func (j *job) estimatedLoad(g *gpuModel) *figure.Bytes {
	if g.target == nil {
		return nil
	}
	f := g.target.Load
	f.Low, f.High = f.Low-unlogged, f.High+unlogged
	if g.draft != nil && j.draftChargedToPool() {
		f = f.Plus(g.draft.Load)
	}
	return &f
}

func (j *job) measuredLoad(g *gpuModel, b units.Bytes, estimate *figure.Bytes, flag string) {
	f := measured(b)
	g.weights = &f
	if estimate != nil {
		j.checkWeights(f, *estimate, flag)
	}
}

func errorsOf(fs []finding.Finding) []finding.Finding {
	var out []finding.Finding
	for _, f := range fs {
		if f.Severity == finding.Error {
			out = append(out, f)
		}
	}
	return out
}

// draftLoads counts the draft's weights and where they are charged.
func (j *job) draftLoads(g *gpuModel) {
	cfg := j.draftConfig()
	if cfg == nil || j.draft == nil {
		return
	}
	res, fs := loading.Estimate(j.rel, j.args, cfg, j.card, loading.Options{Draft: true, Target: j.req.Model, Env: j.env})
	if res == nil {
		j.add(fs...)
		return
	}
	g.draft = res
	shared := max(0, res.Resident.Value-res.AfterSharing.Value)
	if j.draftChargedToPool() {
		g.late = shared
		return
	}
	g.afterPool = res.Load.Minus(figure.New(shared, figure.Estimated))
}

// draftChargedToPool reports a release that loads the draft before it sizes the
// pools.
func (j *job) draftChargedToPool() bool { return loading.DraftBeforePools(j.rel) }

// need computes what start and serving take after the pools.
func (j *job) need(g *gpuModel) {
	tokens := int64(0)
	if g.canPlan() {
		tokens = g.sizer.At(bounded(j.args.Float("mem_fraction_static")), g.pre.Value.GiB(), (g.pre.Value - g.weights.Value).GiB()).MaxTotalTokens
	}
	l, found := capture.Plan(j.rel, j.args, j.info, j.req.Model, j.draft, j.card, max(tokens, 0))
	j.add(graded(found, l)...)
	res := calibrateNeeds(activation.Needs(l), j.req.Calibration)
	g.needs = &res
}

// unmodelled is the share of the need above which a class counts as not
// modelled at all rather than as a neighbour of a measured one.
const unmodelled = 0.5

// graded raises what is said about an unmeasured class to a warning where the
// layers themselves have no model.
func graded(fs []finding.Finding, l activation.Launch) []finding.Finding {
	for _, u := range l.Unmeasured {
		if u.Part < unmodelled {
			continue
		}
		for i := range fs {
			if fs[i].Code == capture.CodeUnmeasured {
				fs[i].Severity = finding.Warning
			}
		}
	}
	return fs
}

// unlogged is the most that was seen between SGLang's load-end line and the
// reading that sizes the pools, on cards that nobody else used.
const unlogged = 30 * units.MiB

// oneRankEarlier is how much more than the load-begin line a single rank reads
// as its free memory before the load: kernels of the first communicator are
// loaded between the two. 0.07 GiB on H200 (0.5.17), 0.09 on H100; with more
// ranks the readings agree.
const oneRankEarlier = 80 * units.MiB

// point is everything that the fraction decides.
type point struct {
	tokens   figure.Tokens
	kv       figure.Bytes // the pools that hold tokens and states
	poolEnd  figure.Bytes
	start    figure.Bytes
	serving  figure.Bytes
	safe     units.Bytes // with more than this free after the pools the launch surely lives
	result   pool.Result
	phase    string
	severity finding.Severity
	peaked   bool // the weights fit, the worst moment of loading them does not
}

// headroom is what is left above the high end of every need.
func (p point) headroom() units.Bytes { return p.poolEnd.Value - p.safe }

// Phases in which a launch runs out of GPU memory.
const (
	phaseWeights = "weights"
	phasePool    = "pool"
)

// overfull reports pools that ask for more than loading left of the card: they
// are sized from the fraction and fail when they are allocated.
func (p point) overfull() bool {
	return p.phase == phasePool && p.severity == finding.Error && p.tokens.High > 0
}

// at evaluates a fraction. It allocates nothing.
func (g *gpuModel) at(f float64) point {
	var p point
	f = bounded(f)
	mid := g.sizer.At(f, g.pre.Value.GiB(), (g.pre.Value - g.weights.Value).GiB())
	low := g.sizer.At(f, (g.pre.Low + g.earlier).GiB(), (g.pre.Low - g.weights.High).GiB())
	high := g.sizer.At(f, g.pre.High.GiB(), (g.pre.High - g.weights.Low).GiB())
	basis := figure.Worse(g.pre.Basis, g.weights.Basis)
	p.result = mid
	p.tokens = figure.Band(max(mid.MaxTotalTokens, 0), max(low.MaxTotalTokens, 0), max(high.MaxTotalTokens, 0), basis)
	p.kv = figure.Band(heldBy(mid), heldBy(low), heldBy(high), basis)
	p.poolEnd = g.poolEnd(mid, low, high, basis)
	switch {
	case g.weights.Low > g.pre.High:
		p.phase, p.severity = phaseWeights, finding.Error
	case g.peak != nil && g.peak.Low > g.pre.High:
		p.phase, p.severity, p.peaked = phaseWeights, finding.Error, true
	case high.MaxTotalTokens <= 0:
		p.phase, p.severity = phasePool, finding.Error
	case p.poolEnd.High < 0:
		p.phase, p.severity = phasePool, finding.Error
	case low.MaxTotalTokens <= 0:
		p.phase, p.severity = phasePool, finding.Warning
	}
	if g.needs == nil {
		return p
	}
	n := g.needs.At(p.tokens.Value).Staying(g.staging)
	here := n.With(p.poolEnd)
	p.start, p.serving, p.safe = here.Start, here.Serving, here.Safe()
	if p.severity == finding.Error || mid.MaxTotalTokens <= 0 {
		return p
	}
	if phase, sev := activation.Judge(n, p.poolEnd); sev > p.severity {
		p.phase, p.severity = string(phase), sev
	}
	return p
}

// heldBy is what the pools of tokens and states take.
func heldBy(r pool.Result) units.Bytes { return r.Bytes.KV + r.Bytes.States + r.Bytes.Draft }

// How far the pool-end lines of measured launches lie below and above the
// pools' tensors as the allocator rounds them.
const (
	poolBelow = 50 * units.MiB
	poolAbove = 15 * units.MiB
)

// poolEnd is what is free once the pools are allocated, with its band.
func (g *gpuModel) poolEnd(mid, low, high pool.Result, basis figure.Basis) figure.Bytes {
	left := func(pre, w units.Bytes, r pool.Result) units.Bytes {
		return pre - w - r.Bytes.Total() + g.late - g.afterPool.Value
	}
	m := left(g.pre.Value, g.weights.Value, mid)
	a := left(g.pre.Low, g.weights.High, low) - (g.afterPool.High - g.afterPool.Value)
	b := left(g.pre.High, g.weights.Low, high) + (g.afterPool.Value - g.afterPool.Low)
	return figure.Band(m, min(a, b)-poolBelow, max(a, b)+poolAbove, figure.Worse(basis, figure.Estimated))
}

// minimum is the smallest fraction that leaves any room for a pool.
func (g *gpuModel) minimum() float64 {
	if g.pre.Value <= 0 {
		return 1
	}
	return pool.MinFraction(g.pre.Value.GiB(), (g.pre.Value - g.weights.Value).GiB())
}

// groupOf sums the terms of the needs that belong to a ledger line.
func groupOf(r *activation.Result, groups ...activation.Group) figure.Bytes {
	sum := figure.New(units.Bytes(0), figure.Exact)
	for _, t := range r.Terms {
		for _, g := range groups {
			if t.Group == g {
				sum = sum.Plus(t.Bytes)
			}
		}
	}
	return sum
}
