package planner

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/units"
)

// maxNodes bounds the hosts that are looked at one by one; launches of more
// are alike for whole groups of hosts.
const maxNodes = 256

// Node is one host of a launch that spans several. All ranks get as many
// tokens as the tightest can hold.
type Node struct {
	Rank    int                `json:"node_rank"`
	Verdict Verdict            `json:"verdict"`
	GPU     *GPU               `json:"gpu"` // tokens here are those that this host could hold
	Host    *hostledger.Ledger `json:"host"`
}

// prepare does everything that does not depend on the fraction. A launch on
// several hosts is planned on each that is known; the tightest decides.
func prepare(req Request) *job {
	j := prepareHost(req)
	j.checkNodes()
	nodes := min(j.layout.Nodes, maxNodes)
	if nodes < 2 || len(req.Machines) < 2 {
		return j
	}
	jobs := []*job{}
	for rank := range nodes {
		jobs = append(jobs, prepareHost(j.onNode(rank)))
	}
	tightest := slices.MinFunc(jobs, func(a, b *job) int { return compareCapacity(a, b) })
	tightest.others = jobs
	tightest.checkNodes()
	tightest.compareNodes(jobs)
	return tightest
}

// onNode is the request of one host.
func (j *job) onNode(rank int) Request {
	req := j.req
	req.Machines = []machine.Machine{req.Machines[min(rank, len(req.Machines)-1)]}
	req.nodeRank = &rank
	return req
}

// capacity is the number of tokens that a host can hold, -1 where it is not
// known, which is as tight as can be.
func (j *job) capacity() int64 {
	if !j.gpu.canPlan() || !j.args.Has("mem_fraction_static") {
		return -1
	}
	return j.gpu.at(j.args.Float("mem_fraction_static")).tokens.Value
}

func compareCapacity(a, b *job) int {
	x, y := a.capacity(), b.capacity()
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// checkNodes compares how many hosts the launcher, the command and the
// machines given speak of.
func (j *job) checkNodes() {
	started, nodes := j.req.Launch.Nodes, j.layout.Nodes
	v, _ := j.given.Get("nnodes")
	if started > 0 && started != max(nodes, 1) && v.Origin.Kind != args.FromUnknown {
		f := finding.New(CodeNodesMismatch, finding.Warning, "--nnodes", fmt.Sprintf(
			"The launcher starts this command on %d hosts; --nnodes says %d.", started, max(nodes, 1)))
		f.Position = j.positionOf("nnodes")
		j.add(f.With(fmt.Sprintf("set --nnodes %d", started), finding.Edit{Flag: "--nnodes", Value: strconv.Itoa(started)}))
	}
	if given := len(j.req.Machines); nodes > 1 && given < nodes && j.others == nil {
		j.add(finding.New(CodeMultipleNodesOneMachine, finding.Info, "--nnodes", fmt.Sprintf(
			"The launch spans %d hosts and %d was given; the rest were taken to be like it.", nodes, max(given, 1))))
	}
}

// compareNodes names the hosts that differ from most others, and the one that
// decides the pool of all.
func (j *job) compareNodes(jobs []*job) {
	kinds := map[string]int{}
	for _, k := range jobs {
		kinds[k.kind()]++
	}
	most := jobs[0].kind()
	for _, k := range jobs {
		if kinds[k.kind()] > kinds[most] {
			most = k.kind()
		}
	}
	for rank, k := range jobs {
		if kind := k.kind(); kind != most {
			j.add(finding.New(CodeNodesDiffer, finding.Warning, "", fmt.Sprintf("Node %d has %s, where most have %s.", rank, kind, most)))
		}
	}
	roomiest := slices.MaxFunc(jobs, compareCapacity)
	if least, best := j.capacity(), roomiest.capacity(); least >= 0 && least*100 < best*98 {
		j.add(finding.New(CodeNodesDiffer, finding.Warning, "", fmt.Sprintf(
			"Node %d can hold %d tokens a rank, node %d %d: every rank gets what node %d can hold.",
			j.layout.NodeRank, least, roomiest.layout.NodeRank, best, j.layout.NodeRank)))
	}
}

// kind words what a host is, without how full it is.
func (j *job) kind() string {
	gpus := j.machine.GPUs
	if len(gpus) == 0 {
		return "no GPU"
	}
	total := units.Bytes(0)
	if t := gpus[0].TotalBytes; t != nil {
		total = *t
	}
	return fmt.Sprintf("%d x %s of %v", len(gpus), gpus[0].Name, total)
}

// nodes is the part of the plan about each host, with the findings that only
// some of them have. The tightest host memory becomes that of the plan.
func (j *job) nodes(p *Plan) {
	for rank, k := range j.others {
		if k != j {
			before := len(k.findings)
			n := Node{Rank: rank, Host: k.hostPart()}
			if n.Host != nil {
				k.gpu.staging = n.Host.StagingBytes
			}
			n.GPU = k.gpuPart()
			n.Verdict = verdict(k.findings, n.GPU == nil || n.GPU.MaxTotalNumTokens == nil)
			for _, f := range k.findings[before:] {
				f.Detail = fmt.Sprintf("Node %d: %s", rank, f.Detail)
				j.add(f)
			}
			if n.Host != nil && p.Host != nil && n.Host.HeadroomBytes < p.Host.HeadroomBytes {
				p.Host = n.Host
			}
			p.Nodes = append(p.Nodes, n)
			continue
		}
		p.Nodes = append(p.Nodes, Node{Rank: rank, GPU: p.GPU, Host: p.Host, Verdict: verdict(j.findings, p.GPU == nil)})
	}
}
