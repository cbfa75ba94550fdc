package planner

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/units"
)

// Check judges a launch as it stands: its tokens, what every byte is used for,
// where it would fail, and what to type instead. It never fails: what cannot be
// known is nil in the plan and named by a finding.
func Check(req Request) *Plan { return prepare(req).check() }

func (j *job) check() *Plan {
	p := &Plan{Schema: Schema, Launch: j.launchInfo(), Source: sourceOf(j.req)}
	refusals := len(j.findings)
	if j.layout.Total > 0 {
		p.Ranks = &Ranks{Total: j.layout.Total, OnThisHost: j.layout.OnThisHost, AttentionTP: j.layout.AttentionTP}
		if len(j.machine.GPUs) > 0 {
			j.add(ranks.CheckGPUs(j.layout, len(j.machine.GPUs))...)
		}
	}
	n := len(j.findings)
	p.Host = j.hostPart()
	j.soften(n, decideHost)
	if p.Host != nil {
		j.gpu.staging = p.Host.StagingBytes
	}
	n = len(j.findings)
	p.GPU = j.gpuPart()
	j.soften(n, decideGPU)
	j.nodes(p)
	j.mend(refusals)
	j.locate()
	p.Recommend = j.recommendation(p)
	p.Findings = ignore(order(j.findings), j.req.Ignore)
	p.Verdict = verdict(p.Findings, j.undecided(p))
	return p
}

// undecided reports that a part that decides could not be known.
func (j *job) undecided(p *Plan) bool {
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil || len(j.notKnown(decideGPU)) > 0 || j.draftUnknown() {
		return true
	}
	return j.wantsHostPools() && (p.Host == nil || len(j.notKnown(decideHost)) > 0)
}

// wantsHostPools reports a launch that asks for host memory.
func (j *job) wantsHostPools() bool {
	return j.args.Bool("enable_hierarchical_cache") || j.args.Bool("disaggregation_decode_enable_offload_kvcache")
}

func sourceOf(r Request) *Source {
	s := r.Launch.Source
	if s.File == "" {
		return nil
	}
	return &Source{File: s.File, Line: s.Line, Container: s.Container}
}

func (j *job) launchInfo() LaunchInfo {
	l := LaunchInfo{
		SGLangVersion: j.rel.String(), ModelPath: j.args.Str("model_path"), Argv: j.req.Launch.Argv(),
		Resolved: make(map[string]any), Origins: make(map[string]args.Origin),
	}
	for _, f := range j.args.Fields() {
		v, _ := j.args.Get(f)
		l.Resolved[f] = presentable(v.V)
		if v.Origin.Kind != args.FromDefault && v.Origin.Kind != "" {
			l.Origins[f] = v.Origin
		}
	}
	return l
}

// order puts the worst findings first and keeps the order of discovery within
// a severity; the same finding said twice is said once.
func order(fs []finding.Finding) []finding.Finding {
	out := make([]finding.Finding, 0, len(fs))
	for _, f := range fs {
		twice := slices.ContainsFunc(out, func(g finding.Finding) bool {
			return g.Code == f.Code && g.Detail == f.Detail && g.Flag == f.Flag
		})
		if !twice {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b finding.Finding) int { return int(b.Severity) - int(a.Severity) })
	return out
}

// gpuPart is the GPU ledger and its findings, nil when not even the cards are
// known.
func (j *job) gpuPart() *GPU {
	m := j.gpu
	if m.pre == nil && m.weights == nil && m.sizer == nil {
		return nil
	}
	f := j.args.Float("mem_fraction_static")
	g := &GPU{Name: m.name, Count: len(j.layout.GPUs()), TotalBytes: m.total, MemFraction: f, Ledger: []figure.Entry{}}
	if m.pre != nil {
		g.PreLoad, g.PreLoadFreeBytes = *m.pre, m.pre.Value
	}
	if m.weights != nil {
		g.WeightsBytes = *m.weights
	}
	if m.sizer != nil {
		g.KVBytesPerToken = m.sizer.KVBytesPerToken()
	}
	if !m.canPlan() || !j.args.Has("mem_fraction_static") {
		return g
	}
	pt := m.at(f)
	j.fillGPU(g, pt)
	j.gpuFindings(g, pt)
	return g
}

func (j *job) fillGPU(g *GPU, pt point) {
	m := j.gpu
	g.MaxTotalNumTokens, g.PoolEndFreeBytes = &pt.tokens, &pt.poolEnd
	g.MaxRunningRequests = pt.result.MaxRunningRequests
	g.MinimumMemFraction = m.minimum()
	g.Phase = pt.phase
	if pt.tokens.Value > 0 {
		rest := m.pre.Value - m.weights.Value - units.Bytes(float64(m.pre.Value)*(1-g.MemFraction))
		if rest > 0 {
			g.TokensPerWeightsPct = float64(m.weights.Value) / float64(rest)
		}
	}
	g.Pools = devicePools(m.sizer, pt.result)
	if m.needs != nil {
		g.NeedStartBytes, g.NeedServingBytes = &pt.start, &pt.serving
		g.Unmeasured = m.needs.Unmeasured
	}
	if n := j.req.TokensPerRequest; n > 0 {
		c := m.sizer.Concurrent(&pt.result, n)
		g.Concurrency = &Concurrency{TokensPerRequest: n, Requests: c.Requests, Bound: c.Bound, TooLong: c.TooLong}
	}
	g.Ledger = j.ledger(pt)
}

// ledger says what every byte of the tightest GPU is used for. The lines add
// up to what is free before the load.
func (j *job) ledger(pt point) []figure.Entry {
	m := j.gpu
	out := []figure.Entry{figure.Line("weights", *m.weights, "")}
	if m.afterPool.Value > 0 {
		out = append(out, figure.Line("draft", m.afterPool, "loaded after the pools in this release"))
	}
	out = append(out, figure.Line("kv_pool", pt.kv, ""))
	if rest := pt.result.Bytes.Total() - pt.kv.Value - m.late; rest != 0 {
		out = append(out, figure.Line("buffers", figure.New(rest, figure.Estimated), "request table, free lists and what the budget does not count"))
	}
	left := pt.poolEnd
	if m.needs != nil {
		// What stays of the graphs, and the rest of the worst moment.
		need := pt.serving
		if pt.start.Value > need.Value {
			need = pt.start
		}
		graphs := groupOf(m.needs, "graphs")
		graphs.Value = min(graphs.Value, need.Value)
		graphs.Low = min(graphs.Low, graphs.Value)
		act := need.Minus(graphs)
		out = append(out, figure.Line("cuda_graphs", graphs, ""), figure.Line("activations", act, "the rest of the worst moment of start and serving"))
		left = left.Minus(need)
	}
	return append(out, figure.Line("headroom", left, ""))
}

func (j *job) gpuFindings(g *GPU, pt point) {
	if j.refused {
		return // the launch does not come that far
	}
	j.loadingPeak(pt)
	switch pt.phase {
	case phaseWeights, phasePool:
		if pt.peaked {
			break // said already
		}
		if pt.overfull() {
			j.afterPools(CodePoolsExceed, "", pt, pt.start)
		} else {
			j.noRoom(g, pt)
		}
	case "graph capture":
		j.afterPools(CodeDiesInCapture, "graph capture", pt, pt.start)
	case "serving":
		j.afterPools(CodeDiesServing, "serving", pt, pt.serving)
	}
	if c := int64(j.info.ContextLen); c > 0 && pt.tokens.Value > 0 && pt.tokens.High < c {
		j.add(finding.New(CodeSmallContext, finding.Info, "--context-length", fmt.Sprintf(
			"The pool holds %d tokens, the context length is %d: a longer request is refused, and one long request can fill the pool.", pt.tokens.Value, c)))
	}
}

// fractionFlag is the flag that most findings about the GPU are about.
const fractionFlag = "--mem-fraction-static"

// setFraction is the edit that most fixes make.
func setFraction(f float64) finding.Edit {
	return finding.Edit{Flag: fractionFlag, Value: fmt.Sprintf("%.3g", f)}
}

func (j *job) noRoom(g *GPU, pt point) {
	m := j.gpu
	code, what := CodeNoRoom, "nothing"
	if pt.severity == finding.Warning {
		code, what = CodeMayHaveNoRoom, "nothing at the high end of the weights' band"
	}
	f := finding.New(code, pt.severity, fractionFlag, fmt.Sprintf(
		"%.2f GiB are free before the load and %s GiB are taken by it; at %.4g the pool gets what is free after it less %.2f GiB, which leaves %s. %s",
		m.pre.Value.GiB(), gibBand(*m.weights), g.MemFraction, m.pre.Value.GiB()*(1-g.MemFraction), what, smallestFraction(m.minimum())))
	f.Position = j.positionOf("mem_fraction_static")
	if best, ok := m.best(); ok {
		f = f.With(fmt.Sprintf("set %s %.3g", fractionFlag, best), setFraction(best))
	} else if f.Fixes = j.alternatives(); len(f.Fixes) == 0 {
		f = f.With("use more GPUs for a replica (--tp-size), or a smaller or quantised model")
	}
	j.add(f)
}

// smallestFraction says from where on there is a pool.
func smallestFraction(f float64) string {
	if f >= 1 {
		return "No fraction leaves a pool."
	}
	return fmt.Sprintf("The smallest fraction with a pool is %.3f.", f)
}

// gibBand prints a figure in GiB with its band.
func gibBand(f figure.Bytes) string {
	if f.Low == f.High {
		return fmt.Sprintf("%.2f", f.Value.GiB())
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", f.Value.GiB(), f.Low.GiB(), f.High.GiB())
}

func (j *job) afterPools(code finding.Code, what string, pt point, need figure.Bytes) {
	if pt.severity == finding.Warning {
		code = CodeTight
	}
	fraction := j.args.Float("mem_fraction_static")
	detail := fmt.Sprintf("%s GiB are left after the pools at %.4g; %s takes %s GiB.", gibBand(pt.poolEnd), fraction, what, gibBand(need))
	if pt.overfull() {
		detail = j.overfullDetail(pt)
	}
	f := finding.New(code, pt.severity, fractionFlag, detail)
	if most := max(pt.start.High, pt.serving.High); pt.severity == finding.Warning && pt.safe > most {
		f.Detail += fmt.Sprintf(" A prompt as long as the context takes up to %.2f GiB more.", (pt.safe - pt.serving.High).GiB())
	}
	f.Position = j.positionOf("mem_fraction_static")
	if best, ok := j.gpu.best(); ok {
		f = f.With(fmt.Sprintf("set %s %.3g", fractionFlag, best), setFraction(best))
	}
	f.Fixes = append(f.Fixes, j.alternatives()...)
	j.add(f)
}

// overfullDetail says how much too large the pools are, and names the table of
// requests where it is the larger part of the excess.
func (j *job) overfullDetail(pt point) string {
	over := -pt.poolEnd.Value
	detail := fmt.Sprintf("At %.4g the pools alone are %.2f GiB more than what loading leaves of the card.",
		j.args.Float("mem_fraction_static"), over.GiB())
	if table := pt.result.Bytes.Requests; table > over/2 {
		detail += fmt.Sprintf(" The table of %d requests x %d tokens of context takes %.2f GiB, which the fraction does not count.",
			pt.result.RequestRows, j.info.ContextLen, table.GiB())
	}
	return detail
}

// positionOf is where the command gives a field, nil where it does not.
func (j *job) positionOf(field string) *finding.Position {
	v, _ := j.given.Get(field)
	if !j.given.Given(field) || v.Origin.Pos == (finding.Position{}) {
		return nil
	}
	pos := v.Origin.Pos
	return &pos
}

// locate points the findings about a flag to the word that gives it.
func (j *job) locate() {
	for i := range j.findings {
		if f := &j.findings[i]; f.Position == nil && f.Flag != "" {
			f.Position = j.positionOf(field(f.Flag))
		}
	}
}
