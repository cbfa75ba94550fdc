package hostledger

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/units"
)

// CodeNode is raised for one memory node.
var CodeNode = finding.Define("numa-node-exceeded",
	"The ranks of one NUMA node need more than the node has",
	"SGLang binds a rank's memory hard to the NUMA node of its GPU: with --numa-node from 0.5.6, by itself from 0.5.10 where numactl is installed and the memory policy may be set. The host pools of the ranks on a node must then fit that node, however much is free elsewhere; the kernel kills with CONSTRAINT_MEMORY_POLICY.",
	"Lower --hicache-size, spread the ranks over the nodes with --base-gpu-id and --gpu-id-step, or switch the binding off with SGLANG_AUTO_NUMA_BIND=0 (0.5.18 on).")

// nodeLoad is what the ranks bound to one node take of it.
type nodeLoad struct {
	node  int
	ranks int
	bytes units.Bytes
	free  units.Bytes
}

// nodeOf is the node that a rank is bound to, -1 when not known.
func nodeOf(q Request, k ranks.Rank) int {
	if nodes := q.Args.Ints("numa_node"); len(nodes) > 0 {
		if k.GPU < len(nodes) {
			return int(nodes[k.GPU])
		}
		return -1
	}
	if k.GPU < len(q.GPUs) && q.GPUs[k.GPU].NUMANode != nil {
		return *q.GPUs[k.GPU].NUMANode
	}
	return -1
}

// nodeLoads adds up what bound ranks take on each node.
func nodeLoads(q Request, h hicache.HostPools) []nodeLoad {
	if len(q.Host.NUMA) < 2 || !ranks.BindsMemory(q.Release, q.Args, q.Env) {
		return nil
	}
	b := q.Baseline
	if b == (Baseline{}) {
		b = DefaultBaseline()
	}
	loads := map[int]*nodeLoad{}
	for _, k := range q.Layout.Ranks {
		n := nodeOf(q, k)
		if n < 0 {
			continue
		}
		if loads[n] == nil {
			loads[n] = &nodeLoad{node: n}
		}
		loads[n].ranks++
		loads[n].bytes += h.RankBytes(k) + b.Scheduler.Value
	}
	var out []nodeLoad
	for _, node := range q.Host.NUMA {
		l := loads[node.Node]
		if l == nil {
			continue
		}
		if free, ok := nodeFree(q, node); ok {
			l.free = free
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b nodeLoad) int { return a.node - b.node })
	return out
}

// nodeFree is what a node offers: its free memory, or where only its size is
// known the same part of it that the whole host has available.
func nodeFree(q Request, n machine.NUMANode) (units.Bytes, bool) {
	if n.FreeBytes != nil {
		return *n.FreeBytes, true
	}
	if n.TotalBytes == nil {
		return 0, false
	}
	if t := q.Host.TotalBytes; t != nil && *t > 0 && q.Host.AvailableBytes != nil {
		part := min(float64(*q.Host.AvailableBytes)/float64(*t), 1)
		return units.Bytes(float64(*n.TotalBytes) * part), true
	}
	return *n.TotalBytes, true
}

// nodesHold reports whether every node holds the pools of its ranks.
func nodesHold(q Request, h hicache.HostPools) bool {
	for _, l := range nodeLoads(q, h) {
		if l.bytes > l.free {
			return false
		}
	}
	return true
}

func numaFindings(q Request, l *Ledger) []finding.Finding {
	if l.TotalBytes <= 0 {
		return nil
	}
	for _, n := range nodeLoads(q, l.plan) {
		if n.bytes <= n.free {
			continue
		}
		sev := finding.Error
		if q.Container && !q.Args.Has("numa_node") {
			sev = finding.Warning // the usual seccomp profile forbids the memory policy, and then nothing is bound
		}
		f := finding.New(CodeNode, sev, sizeFlag(l), fmt.Sprintf("%d ranks on node %d need %s; the node has %s.", n.ranks, n.node, gb(n.bytes), gb(n.free)))
		f.Figures = map[string]int64{"node": int64(n.node), "ranks": int64(n.ranks), "need_bytes": int64(n.bytes), "free_bytes": int64(n.free)}
		return []finding.Finding{withFix(f, l)}
	}
	return nil
}
