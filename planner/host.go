package planner

import (
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/mirror"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/units"
)

// hostPart is the host ledger and its findings, nil when the host is not known.
func (j *job) hostPart() *hostledger.Ledger {
	if j.machine.Host == nil {
		return nil
	}
	ledger, fs := hostledger.Build(j.hostRequest())
	if !j.refused {
		j.add(j.sure(fs)...)
	}
	return ledger
}

// sure keeps an error that rests on the size of the device pool for pools that
// are known. While the weights are an estimate so is the pool, and the launch
// is warned instead.
func (j *job) sure(fs []finding.Finding) []finding.Finding {
	if m := j.gpu; m.canPlan() && m.weights.Basis == figure.Measured {
		return fs
	}
	for i, f := range fs {
		if f.Code == hicache.CodeBelowDevice && f.Severity == finding.Error {
			fs[i].Severity = finding.Warning
			fs[i].Detail += " The size of the device pool is an estimate; with --gpu-weights or --calibrate it is known."
		}
	}
	return fs
}

func (j *job) hostRequest() hostledger.Request {
	q := hostledger.Request{
		Release: j.rel, Args: j.args, Layout: j.layout, Env: j.env,
		Host: *j.machine.Host, GPUs: j.machine.GPUs, Container: j.req.Launch.Container != nil,
		Draft: j.draft != nil,
	}
	if j.info != nil {
		q.MaxContext, q.Multimodal = int64(j.info.ContextLen), j.info.IsMultimodal
		q.FourBit = strings.Contains(j.info.Quantization, "fp4")
	}
	if m := j.gpu; m.target != nil {
		q.RankWeights = m.target.Load.Value
	}
	q.Checkpoint = j.files(q.RankWeights)
	q.Stages = j.mirroredPools()
	return q
}

// files are the weight files on disk: as found, else as large as the weights of
// all ranks together, their number unknown.
func (j *job) files(rank units.Bytes) hostledger.Checkpoint {
	if c := j.req.Checkpoint; c != nil && c.Bytes > 0 {
		return hostledger.Checkpoint{Bytes: max(c.Bytes, c.TotalSize), LargestFile: c.LargestFile, Pickled: c.Format.Pickled()}
	}
	return hostledger.Checkpoint{Bytes: rank * units.Bytes(j.layout.TP*j.layout.PP)}
}

// mirroredPools are the device pools that host pools are made of. With a size
// the geometry is enough, so that the host can be judged where the GPUs are
// not known.
func (j *job) mirroredPools() [][]hicache.DevicePool {
	m := j.gpu
	if m.sizer == nil {
		return nil
	}
	var r pool.Result
	if m.canPlan() {
		r = m.at(j.args.Float("mem_fraction_static")).result
	}
	if r.MaxTotalTokens <= 0 && j.args.Int("hicache_size") <= 0 {
		return nil
	}
	stages := mirror.Stages(mirror.Source{Release: j.rel, Args: j.args, Model: j.info, Draft: j.draft, Sizer: m.sizer, Env: j.env}, r)
	if r.MaxTotalTokens <= 0 && hicache.SharesSize(stages[0]) {
		return nil
	}
	return stages
}

// recommendHost takes the size that the host ledger advises where the launch
// has a host cache.
func (j *job) recommendHost(r *Recommendation, p *Plan) []finding.Edit {
	a, given := p.Host.Advice, j.given.Int("hicache_size")
	if !j.args.Bool("enable_hierarchical_cache") {
		return nil
	}
	if a == nil && p.Host.Guard == nil && given > 0 && p.Host.HeadroomBytes >= 0 {
		r.HicacheSize = &given // the pools are not known; at its word it fits
		return nil
	}
	if a == nil || a.Size == nil {
		return nil
	}
	size := *a.Size
	if j.given.Given("hicache_size") && given > 0 && given <= a.Fits {
		size = given // what was asked for fits
	}
	r.HicacheSize = &size
	if given == size {
		return nil
	}
	return []finding.Edit{{Flag: "--hicache-size", Value: strconv.FormatInt(size, 10)}}
}
