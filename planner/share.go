package planner

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
)

// ShareHost judges launches that start on one host together: those of one
// file. Their host pools and processes are added up, and a GPU that two of
// them take is named. Findings and verdicts of the plans are brought up to
// date. Launches that stand in different files are left alone.
func ShareHost(plans []*Plan, reqs []Request) {
	byFile := map[string][]int{}
	for i, r := range reqs {
		byFile[r.Launch.Source.File] = append(byFile[r.Launch.Source.File], i)
	}
	for _, group := range byFile {
		if len(group) < 2 {
			continue
		}
		shareMemory(plans, reqs, group)
		shareGPUs(plans, reqs, group)
	}
}

func shareMemory(plans []*Plan, reqs []Request, group []int) {
	var ledgers []*hostledger.Ledger
	for _, i := range group {
		ledgers = append(ledgers, plans[i].Host)
	}
	_, fs := hostledger.Share(ledgers)
	for _, i := range group {
		plans[i].addLate(reqs[i], fs...)
	}
}

// shareGPUs names GPUs that two launches of a file take.
func shareGPUs(plans []*Plan, reqs []Request, group []int) {
	taken := map[string]int{}
	for _, i := range group {
		j := prepareLayout(reqs[i])
		var twice []string
		other := -1
		for _, k := range j.layout.GPUs() {
			name := fmt.Sprint(k)
			if k < len(j.machine.GPUs) {
				g := j.machine.GPUs[k]
				name = firstOf(g.UUID, fmt.Sprint(g.Index))
			}
			if o, dup := taken[name]; dup && o != i {
				twice, other = append(twice, fmt.Sprint(k)), o
				continue
			}
			taken[name] = i
		}
		if other < 0 {
			continue
		}
		slices.Sort(twice)
		f := finding.New(CodeConflictingGPUs, finding.Warning, "--base-gpu-id", fmt.Sprintf(
			"This launch and the one of %s at line %d both take GPU %v of one host.", reqs[other].Launch.Source.File, reqs[other].Launch.Source.Line, twice)).
			With("give each launch its own GPUs with --base-gpu-id or CUDA_VISIBLE_DEVICES")
		plans[i].addLate(reqs[i], f)
	}
}

// addLate adds findings to a finished plan.
func (p *Plan) addLate(r Request, fs ...finding.Finding) {
	if len(fs) == 0 {
		return
	}
	p.Findings = ignore(order(append(p.Findings, fs...)), r.Ignore)
	p.Verdict = verdict(p.Findings, p.Verdict == Undecided)
}
