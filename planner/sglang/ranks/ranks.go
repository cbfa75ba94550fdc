// Package ranks lays the processes of a launch out over one host: how many
// scheduler ranks it starts there, which GPU each of them takes, and which
// other processes stand beside them. It follows SGLang's own loops, release by
// release, including their quirks.
package ranks

import (
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Rank is one scheduler process on this host. Every rank drives one GPU.
type Rank struct {
	DP int `json:"dp"` // data-parallel replica, or the attention group under DP attention
	PP int `json:"pp"`
	TP int `json:"tp"`
	// GPU is the index among the devices that the process can see
	// (after CUDA_VISIBLE_DEVICES).
	GPU int `json:"gpu"`
}

// Layout is where the ranks of a launch go.
type Layout struct {
	Total       int `json:"total"`        // ranks of the whole launch, all hosts
	OnThisHost  int `json:"on_this_host"` // ranks (= GPUs) on the host with this node rank
	AttentionTP int `json:"attention_tp"` // ranks that share the attention heads of one request
	AttentionDP int `json:"attention_dp"` // independent attention groups under DP attention, else 1
	AttentionCP int `json:"attention_cp"` // ranks that share one prompt's tokens, else 1

	TP       int `json:"tp"`
	PP       int `json:"pp"`
	Replicas int `json:"replicas"` // whole copies of the model (plain data parallelism), else 1
	Nodes    int `json:"nodes"`
	NodeRank int `json:"node_rank"`

	Ranks     []Rank    `json:"ranks,omitempty"`
	Processes Processes `json:"processes"`
}

// PerReplica is the number of ranks of one replica that one host holds by
// SGLang's own division, max(tp x pp / nnodes, 1): what its host guard divides
// by from 0.5.19 on, and what plain data parallelism makes too small.
func (l Layout) PerReplica() int { return max(l.TP*l.PP/max(l.Nodes, 1), 1) }

// Stages returns how many ranks of each pipeline stage are on this host.
func (l Layout) Stages() map[int]int {
	n := make(map[int]int, l.PP)
	for _, r := range l.Ranks {
		n[r.PP]++
	}
	return n
}

// GPUs returns the device index of every rank in rank order.
func (l Layout) GPUs() []int {
	out := make([]int, len(l.Ranks))
	for i, r := range l.Ranks {
		out[i] = r.GPU
	}
	return out
}

// Of lays a launch out from its arguments. Sizes that cannot be laid out give
// an error finding; the layout then holds what could be made of them and is
// never empty.
func Of(r release.Release, a *args.Args) (Layout, []finding.Finding) {
	s, found := sizesOf(r, a)
	l := Layout{
		TP: s.tp, PP: s.pp, Nodes: s.nodes, NodeRank: s.node, Replicas: s.replicas,
		AttentionDP: s.attentionDP, AttentionCP: s.attentionCP,
		AttentionTP: max(s.tp/s.attentionDP/s.attentionCP, 1),
		Total:       s.tp * s.pp * s.replicas,
	}
	l.Ranks = place(r, s, l)
	l.OnThisHost = len(l.Ranks)
	l.Processes = processes(r, a, s, l)
	return l, append(found, collisions(r, s, l)...)
}

// place walks the loops of SGLang's launcher. The pipeline term of the GPU
// index is not multiplied by --gpu-id-step, and before 0.5.3 the offset of a
// replica leaves the pipeline size out: both as in SGLang, so that the
// collisions they cause show.
func place(r release.Release, s sizes, l Layout) []Rank {
	stagesPerNode := max(s.pp/s.nodes, 1)
	nodesPerStage := max(s.nodes/s.pp, 1)
	tpPerNode := max(s.tp/nodesPerStage, 1)
	firstPP := stagesPerNode * (s.node / nodesPerStage)
	firstTP := tpPerNode * (s.node % nodesPerStage)
	replicaStep := s.tp * s.gpuStep
	if r.AtLeast("0.5.3") {
		replicaStep *= s.pp
	}
	out := make([]Rank, 0, s.replicas*stagesPerNode*tpPerNode)
	for replica := range s.replicas {
		for pp := firstPP; pp < firstPP+stagesPerNode; pp++ {
			for tp := firstTP; tp < firstTP+tpPerNode; tp++ {
				dp := replica
				if s.attentionDP > 1 {
					dp = tp / (l.AttentionTP * s.attentionCP)
				}
				gpu := s.gpuBase + replica*replicaStep + pp%stagesPerNode*tpPerNode + tp%tpPerNode*s.gpuStep
				out = append(out, Rank{DP: dp, PP: pp, TP: tp, GPU: gpu})
			}
		}
	}
	return out
}
