package planner

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/capture"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/units"
)

// FitResult is how a launch would fare on one of many machines.
type FitResult struct {
	Index   int     `json:"index"` // of the machine in the list given
	Verdict Verdict `json:"verdict"`
	Phase   string  `json:"phase,omitempty"` // where it would run out of GPU memory
	// Tokens is max_total_num_tokens; nil where it cannot be known.
	Tokens *figure.Tokens `json:"max_total_num_tokens"`
	// GPUHeadroom is what the tightest GPU has left above the high end of both
	// needs, HostHeadroom what the host has left above need and reserve; nil
	// where not known.
	GPUHeadroom  *units.Bytes `json:"gpu_headroom_bytes"`
	HostHeadroom *units.Bytes `json:"host_headroom_bytes"`
	// Reasons are the codes of the warnings and errors, errors first.
	Reasons []finding.Code `json:"reasons,omitempty"`
}

// Fit judges one launch on many machines, for schedulers: what a launch does
// to a kind of machine (cards, their number, the container's limits) is worked
// out once, and each machine of the kind costs microseconds. The results are
// ordered: the verdict first, then the headroom on the GPU, then that on the
// host. Each says what Check would say of that machine alone, less its advice;
// req.Machines is
// not looked at, and of a launch over several hosts each machine is judged as
// the first of them.
func Fit(req Request, machines []machine.Machine) []FitResult {
	kinds := map[fitKind]*fitGroup{}
	var order []*fitGroup
	for i := range machines {
		m := machines[i]
		if c := req.Launch.Container; c != nil {
			m = within(m, c)
		}
		m.GPUs = visible(m.GPUs, req.Launch)
		k := kindOf(m)
		g := kinds[k]
		if g == nil {
			g = &fitGroup{}
			kinds[k] = g
			order = append(order, g)
		}
		g.members = append(g.members, fitMember{index: i, gpus: m.GPUs, memory: m.Host})
	}
	results := make([]FitResult, len(machines))
	var wg sync.WaitGroup
	for _, g := range order {
		wg.Go(func() {
			one := req
			one.Machines = machines[g.members[0].index:][:1]
			g.prepare(one)
			g.judge(results)
		})
	}
	wg.Wait()
	return inOrder(results)
}

// inOrder sorts results from the roomiest machine to the one that fits least.
func inOrder(results []FitResult) []FitResult {
	by := make([]*FitResult, len(results))
	for i := range results {
		by[i] = &results[i]
	}
	slices.SortFunc(by, compareFit)
	out := make([]FitResult, len(by))
	for i, r := range by {
		out[i] = *r
	}
	return out
}

func compareFit(a, b *FitResult) int {
	if a.Verdict != b.Verdict {
		return cmp.Compare(verdictOrder[a.Verdict], verdictOrder[b.Verdict])
	}
	if c := compareRoom(b.GPUHeadroom, a.GPUHeadroom); c != 0 {
		return c
	}
	if c := compareRoom(b.HostHeadroom, a.HostHeadroom); c != 0 {
		return c
	}
	return cmp.Compare(a.Index, b.Index)
}

// compareRoom puts what is not known below everything.
func compareRoom(a, b *units.Bytes) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// fitKind is what the plan of a machine depends on apart from how full it is.
type fitKind struct {
	gpus       int
	name, cc   string
	total      units.Bytes
	mixed      string // all cards, where they are not alike
	host, free bool
}

func kindOf(m machine.Machine) fitKind {
	k := fitKind{gpus: len(m.GPUs), host: m.Host != nil && m.Host.AvailableBytes != nil}
	for i, g := range m.GPUs {
		total := units.Bytes(0)
		if g.TotalBytes != nil {
			total = *g.TotalBytes
		}
		if i == 0 {
			k.name, k.cc, k.total, k.free = g.Name, g.ComputeCapability, total, g.FreeBytes != nil
		} else if g.Name != k.name || total != k.total || g.ComputeCapability != k.cc {
			k.mixed += g.Name + "|" + g.ComputeCapability + "|" + total.String() + ";"
		}
	}
	return k
}

// fitMember is a machine of a group, with the limits of the launch's container
// over it.
type fitMember struct {
	index  int
	gpus   []machine.GPU
	memory *machine.Host
	pre    figure.Bytes // free when loading begins
	uneven bool         // its GPUs are not equally free
	tokens int64
	host   hostAnswer
}

// fitGroup is the launch on one kind of machine.
type fitGroup struct {
	job     *job
	cost    figure.Bytes // of contexts and process groups before loading
	base    []reason     // of every machine of the kind
	unknown bool         // the command leaves open what decides
	members []fitMember
}

// perMachine are findings about how full the one machine is that a group was
// prepared with.
var perMachine = []finding.Code{CodeUnevenGPUs, CodeHostUnknown, machine.CodeHostAssumed}

// prepare works out what all machines of the kind share.
func (g *fitGroup) prepare(req Request) {
	j := prepareHost(req)
	found := slices.DeleteFunc(slices.Clone(j.findings), func(f finding.Finding) bool { return slices.Contains(perMachine, f.Code) })
	if j.layout.Total > 0 && len(j.machine.GPUs) > 0 {
		found = append(found, ranks.CheckGPUs(j.layout, len(j.machine.GPUs))...)
	}
	g.base = reasons(ignore(found, j.req.Ignore))
	g.unknown = len(j.notKnown(decideGPU)) > 0
	g.job, g.cost = j, capture.PreLoad(j.rel, j.args, j.card)
}

// judge fills in the results of the group's machines.
func (g *fitGroup) judge(out []FitResult) {
	canPlan := g.job.gpu.canPlan() && g.job.args.Has("mem_fraction_static")
	g.inParallel(func(m *fitMember) {
		m.pre = g.preLoad(m)
		if canPlan {
			m.tokens = g.at(m, 0).tokens.Value
		}
	})
	g.judgeHosts()
	g.inParallel(func(m *fitMember) { out[m.index] = g.result(m, canPlan) })
}

// inParallel visits every member, on as many cores as there are.
func (g *fitGroup) inParallel(visit func(*fitMember)) {
	workers := min(runtime.GOMAXPROCS(0), 1+len(g.members)/256)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(g.members); i += workers {
				visit(&g.members[i])
			}
		})
	}
	wg.Wait()
}

// preLoad is what is free on the tightest GPU of a machine when loading
// begins, in the order in which a single check decides it.
func (g *fitGroup) preLoad(m *fitMember) figure.Bytes {
	least, most := units.Bytes(-1), units.Bytes(-1)
	for _, r := range g.job.layout.Ranks {
		if r.GPU >= len(m.gpus) {
			continue
		}
		free := unheld(&m.gpus[r.GPU])
		if least < 0 || free < least {
			least = free
		}
		most = max(most, free)
	}
	m.uneven = uneven(least, most)
	if q := g.job.req; q.GPUFree != nil || q.Calibration != nil && q.Calibration.PreLoadFree != nil {
		return *g.job.gpu.pre
	}
	return figure.New(max(least, 0), figure.Measured).Minus(g.cost)
}

// at evaluates the fraction on one machine.
func (g *fitGroup) at(m *fitMember, staging units.Bytes) point {
	gpu := *g.job.gpu
	gpu.pre, gpu.staging = &m.pre, staging
	return gpu.at(g.job.args.Float("mem_fraction_static"))
}

// tightLoad reports a machine on which the worst moment of loading may not fit.
func (g *fitGroup) tightLoad(m *fitMember, pt point) bool {
	gpu := *g.job.gpu
	gpu.pre = &m.pre
	return gpu.loadingSeverity(pt) == finding.Warning
}

func (g *fitGroup) result(m *fitMember, canPlan bool) FitResult {
	r := FitResult{Index: m.index, HostHeadroom: m.host.headroom}
	all := g.base
	if canPlan {
		pt := g.at(m, m.host.staging)
		room := pt.headroom()
		r.Tokens, r.GPUHeadroom = &pt.tokens, &room
		if code, ok := phaseCode(pt); ok && !g.job.refused {
			r.Phase = pt.phase
			found := reason{code, pt.severity}.unless(g.job.req.Ignore)
			if g.unknown {
				found.severity = min(found.severity, finding.Warning)
			}
			all = append(slices.Clip(all), found)
		}
		if g.tightLoad(m, pt) && !g.job.refused {
			all = append(slices.Clip(all), reason{CodeDiesLoading, finding.Warning})
		}
	}
	if m.uneven {
		all = append(slices.Clip(all), reason{CodeUnevenGPUs, finding.Warning})
	}
	if len(m.host.reasons) > 0 {
		all = append(slices.Clip(all), m.host.reasons...)
	}
	worst := finding.Info
	for _, c := range all {
		worst = max(worst, c.severity)
	}
	r.Reasons = codesOf(all)
	hostUnknown := m.host.headroom == nil || len(g.job.notKnown(decideHost)) > 0
	r.Verdict = verdictOf(worst, !canPlan || g.unknown || g.job.draftUnknown() || g.job.wantsHostPools() && hostUnknown)
	return r
}

// reason is a finding without its words.
type reason struct {
	code     finding.Code
	severity finding.Severity
}

func (r reason) unless(ignored []finding.Code) reason {
	if r.severity == finding.Error && slices.Contains(ignored, r.code) {
		r.severity = finding.Warning
	}
	return r
}

// reasons are the warnings and errors among findings.
func reasons(fs []finding.Finding) []reason {
	var out []reason
	for _, f := range fs {
		if f.Severity > finding.Info {
			out = append(out, reason{f.Code, f.Severity})
		}
	}
	return out
}

// codesOf lists codes, errors first, each once.
func codesOf(rs []reason) []finding.Code {
	var out []finding.Code
	for _, sev := range []finding.Severity{finding.Error, finding.Warning} {
		for _, r := range rs {
			if r.severity == sev && !slices.Contains(out, r.code) {
				out = append(out, r.code)
			}
		}
	}
	return out
}

// phaseCode is the code of the finding that a single check makes of a point.
func phaseCode(pt point) (finding.Code, bool) {
	switch phase, sev := pt.phase, pt.severity; {
	case phase == "":
		return "", false
	case pt.peaked:
		return CodeDiesLoading, true
	case pt.overfull():
		return CodePoolsExceed, true
	case phase == phaseWeights || phase == phasePool:
		if sev == finding.Warning {
			return CodeMayHaveNoRoom, true
		}
		return CodeNoRoom, true
	case sev == finding.Warning:
		return CodeTight, true
	case strings.Contains(phase, "capture"):
		return CodeDiesInCapture, true
	}
	return CodeDiesServing, true
}
