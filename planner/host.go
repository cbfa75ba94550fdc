package planner

import (
	"strconv"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
)

// hostPart is the host ledger and its findings, nil when the host is not known.
func (j *job) hostPart(g *GPU) *hostledger.Ledger {
	if j.machine.Host == nil {
		return nil
	}
	ledger, fs := hostledger.Build(j.hostRequest(g))
	if !j.refused {
		j.add(fs...)
	}
	return ledger
}

func (j *job) hostRequest(*GPU) hostledger.Request {
	q := hostledger.Request{
		Release: j.rel, Args: j.args, Layout: j.layout, Env: j.env,
		Host: *j.machine.Host, GPUs: j.machine.GPUs, Container: j.req.Launch.Container != nil,
		Draft: j.draft != nil,
	}
	if j.info != nil {
		q.MaxContext, q.Multimodal = int64(j.info.ContextLen), j.info.IsMultimodal
	}
	if m := j.gpu; m.target != nil {
		q.RankWeights = m.target.Load.Value
	}
	if m := j.gpu; m.canPlan() {
		r := m.at(j.args.Float("mem_fraction_static")).result
		if r.MaxTotalTokens > 0 {
			q.Stages = [][]hicache.DevicePool{mirrored(m.sizer, r)}
		}
	}
	return q
}

// recommendHost takes the size that the host ledger advises where the launch
// has a host cache.
func (j *job) recommendHost(r *Recommendation, p *Plan) []finding.Edit {
	a := p.Host.Advice
	if a == nil || a.Size == nil || !j.args.Bool("enable_hierarchical_cache") {
		return nil
	}
	size := *a.Size
	if given := j.given.Int("hicache_size"); j.given.Given("hicache_size") && given > 0 && given <= a.Fits {
		size = given // what was asked for fits
	}
	r.HicacheSize = &size
	if j.given.Int("hicache_size") == size {
		return nil
	}
	return []finding.Edit{{Flag: "--hicache-size", Value: strconv.FormatInt(size, 10)}}
}
