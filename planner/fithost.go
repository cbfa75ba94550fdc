package planner

import (
	"cmp"
	"slices"

	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// hostAnswer is what is known of a machine's host memory.
type hostAnswer struct {
	headroom *units.Bytes
	need     units.Bytes // headroom less than what is available: need and reserve
	staging  units.Bytes
	reasons  []reason
}

func (a hostAnswer) sameReasons(b hostAnswer) bool { return slices.Equal(a.reasons, b.reasons) }

// hostShape is what two hosts must share to be compared by their figures
// alone: which of them are known, and how many parts they have.
type hostShape struct {
	known         [8]bool
	numa, cgroups int
	limit         machine.Limit
	cgroup        machine.CgroupLimit
	overcommit    int
	gib           int64 // size of the host: the reserve grows with it
}

func shapeOf(h *machine.Host) hostShape {
	s := hostShape{numa: len(h.NUMA), cgroups: len(h.Cgroups), limit: h.Limit, cgroup: h.CgroupLimit}
	for i, p := range hostFigures(h) {
		s.known[i] = *p != nil
	}
	if h.Overcommit != nil {
		s.overcommit = *h.Overcommit + 1
	}
	if h.TotalBytes != nil {
		s.gib = int64(*h.TotalBytes / units.GiB)
	}
	return s
}

// judgeHosts finds out how each member's host memory fares. A host with more
// memory never fares worse, and a larger device pool never needs less of it.
// So when the worst mixture of a set of machines and the best one get the same
// answer, all between them do; else the set is halved.
func (g *fitGroup) judgeHosts() {
	byShape := map[hostShape][]*fitMember{}
	for i := range g.members {
		m := &g.members[i]
		if m.memory == nil || m.memory.AvailableBytes == nil {
			continue
		}
		byShape[shapeOf(m.memory)] = append(byShape[shapeOf(m.memory)], m)
	}
	for _, ms := range byShape {
		g.divide(ms)
	}
}

func (g *fitGroup) divide(ms []*fitMember) {
	if len(ms) == 1 {
		ms[0].host = g.exact(ms[0].memory, ms[0])
		return
	}
	fewest := slices.MinFunc(ms, func(a, b *fitMember) int { return cmp.Compare(a.tokens, b.tokens) })
	largest := slices.MaxFunc(ms, func(a, b *fitMember) int { return cmp.Compare(a.tokens, b.tokens) })
	poorest, richest := mixture(ms, false), mixture(ms, true)
	worst, best := g.exact(poorest, largest), g.exact(richest, fewest)
	if worst.sameReasons(best) && worst.headroom != nil && best.headroom != nil {
		for _, m := range ms {
			m.host = between(worst, best, largest.tokens, fewest.tokens, m)
		}
		return
	}
	byRoom := spread(int64(*richest.AvailableBytes), int64(*poorest.AvailableBytes)) >= spread(largest.tokens, fewest.tokens)
	switch between := g.exact(poorest, fewest); {
	case between.sameReasons(worst): // whatever the device pool is
		byRoom = true
	case between.sameReasons(best): // however much memory there is
		byRoom = false
	}
	slices.SortFunc(ms, func(a, b *fitMember) int {
		room, tokens := cmp.Compare(*a.memory.AvailableBytes, *b.memory.AvailableBytes), cmp.Compare(a.tokens, b.tokens)
		if byRoom {
			return cmp.Or(room, tokens)
		}
		return cmp.Or(tokens, room)
	})
	g.divide(ms[:len(ms)/2])
	g.divide(ms[len(ms)/2:])
}

// spread is how far two figures are apart, in thousandths of the larger.
func spread(high, low int64) int64 {
	if high <= 0 {
		return 0
	}
	return int64(float64(high-low) / float64(high) * 1000)
}

// between gives a member what the two ends agree on, and its own headroom: the
// need grows evenly with the device pool.
func between(worst, best hostAnswer, most, fewest int64, m *fitMember) hostAnswer {
	need := worst.need
	if most > fewest {
		part := float64(m.tokens-fewest) / float64(most-fewest)
		need = best.need + units.Bytes(part*float64(worst.need-best.need))
	}
	room := *m.memory.AvailableBytes - need
	return hostAnswer{headroom: &room, need: need, staging: worst.staging, reasons: worst.reasons}
}

// exact judges a host as a single check does.
func (g *fitGroup) exact(h *machine.Host, m *fitMember) hostAnswer {
	j, gpu := *g.job, *g.job.gpu
	j.machine.Host, j.machine.GPUs, j.gpu, j.findings = h, m.gpus, &gpu, nil
	if gpu.pre != nil {
		pre := m.pre
		gpu.pre = &pre
	}
	q := j.hostRequest()
	q.Brief = true
	ledger, fs := hostledger.Build(q)
	if !j.refused {
		j.add(j.sure(fs)...)
		j.soften(0, decideHost)
	}
	a := hostAnswer{reasons: reasons(ignore(j.findings, j.req.Ignore))}
	if ledger != nil {
		room := ledger.HeadroomBytes
		a.headroom, a.need, a.staging = &room, ledger.AvailableBytes-room, ledger.StagingBytes
	}
	return a
}

// mixture is a host that has of every figure the least, or the most, that any
// of the members has.
func mixture(ms []*fitMember, most bool) *machine.Host {
	h := *ms[0].memory
	h.NUMA, h.Cgroups = slices.Clone(h.NUMA), slices.Clone(h.Cgroups)
	for _, m := range ms[1:] {
		o := *m.memory
		mine, others := hostFigures(&h), hostFigures(&o)
		for i := range mine {
			*mine[i] = pick(*mine[i], *others[i], most)
		}
		for i := range h.NUMA {
			n, on := &h.NUMA[i], o.NUMA[i]
			n.TotalBytes, n.FreeBytes, n.AvailableBytes = pick(n.TotalBytes, on.TotalBytes, most), pick(n.FreeBytes, on.FreeBytes, most), pick(n.AvailableBytes, on.AvailableBytes, most)
		}
		for i := range h.Cgroups {
			c, oc := &h.Cgroups[i], o.Cgroups[i]
			c.LimitBytes = *pick(&c.LimitBytes, &oc.LimitBytes, most)
			c.UsageBytes, c.CacheBytes = pick(c.UsageBytes, oc.UsageBytes, !most), pick(c.CacheBytes, oc.CacheBytes, most)
		}
	}
	return &h
}

func pick(a, b *units.Bytes, most bool) *units.Bytes {
	if a == nil || b == nil {
		return a
	}
	if (*b > *a) == most {
		v := *b
		return &v
	}
	return a
}

// hostFigures are the figures of a host of which more is better.
func hostFigures(h *machine.Host) [8]**units.Bytes {
	return [8]**units.Bytes{
		&h.AvailableBytes, &h.MemAvailableBytes, &h.TotalBytes, &h.LimitBytes,
		&h.SHMBytes, &h.MemlockBytes, &h.HugepagesFreeBytes, &h.CommitLeftBytes,
	}
}
