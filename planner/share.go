package planner

import (
	"fmt"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/launch"
)

// ShareHost judges launches that start on one host together: those of one
// file that its reader did not put on different hosts. Their host pools and
// processes are added up, inside a container they share against its limit and
// over all containers against the host, and a GPU that two of them take is
// named. Findings and verdicts of the plans are brought up to date. Launches
// of different files are left alone.
func ShareHost(plans []*Plan, reqs []Request) {
	type host struct{ file, name string }
	byHost := map[host][]int{}
	var order []host
	for i, r := range reqs {
		h := host{r.Launch.Source.File, r.Launch.Host}
		if byHost[h] == nil {
			order = append(order, h)
		}
		byHost[h] = append(byHost[h], i)
	}
	for _, h := range order {
		if group := byHost[h]; len(group) > 1 {
			shareMemory(plans, reqs, group)
			shareGPUs(plans, reqs, group)
		}
	}
}

// shareMemory adds up host memory. Launches in one container share its limit;
// those in several share what the host has, whatever each may take.
func shareMemory(plans []*Plan, reqs []Request, group []int) {
	byContainer := map[*launch.Container][]int{}
	for _, i := range group {
		byContainer[reqs[i].Launch.Container] = append(byContainer[reqs[i].Launch.Container], i)
	}
	for c, inside := range byContainer {
		if len(inside) > 1 && c != nil {
			addUp(plans, reqs, inside, func(i int) *hostledger.Ledger { return plans[i].Host })
		}
	}
	if len(byContainer) == 1 && byContainer[nil] == nil {
		return
	}
	addUp(plans, reqs, group, func(i int) *hostledger.Ledger { return onWholeHost(plans[i].Host, reqs[i]) })
}

func addUp(plans []*Plan, reqs []Request, group []int, ledger func(int) *hostledger.Ledger) {
	var ledgers []*hostledger.Ledger
	for _, i := range group {
		ledgers = append(ledgers, ledger(i))
	}
	_, fs := hostledger.Share(ledgers)
	for i := range fs {
		fs[i].Detail += " SGLang's own check looks at one launch at a time and does not see this."
	}
	for _, i := range group {
		plans[i].addLate(reqs[i], fs...)
	}
}

// onWholeHost is a ledger against what the host has, without the limit of the
// launch's own container; nil where the host is not known.
func onWholeHost(l *hostledger.Ledger, r Request) *hostledger.Ledger {
	if l == nil || r.Launch.Container == nil {
		return l
	}
	if len(r.Machines) == 0 || r.Machines[0].Host == nil || r.Machines[0].Host.AvailableBytes == nil {
		return nil
	}
	out := *l
	out.AvailableBytes = *r.Machines[0].Host.AvailableBytes
	return &out
}

// shareGPUs names GPUs that two launches of a host take. A scheduler gives
// each container GPUs of its own, so that those of different containers are
// different ones.
func shareGPUs(plans []*Plan, reqs []Request, group []int) {
	taken := map[string]int{}
	granted := map[*launch.Container]int{} // first GPU of each container, when they are handed out
	next := 0
	for _, i := range group {
		j := prepareLayout(reqs[i])
		c := reqs[i].Launch.Container
		first, seen := granted[c]
		if exclusive(c) && !seen {
			first = next
			granted[c] = next
			next += *c.GPUs
		}
		var twice []string
		other := -1
		for _, k := range j.layout.GPUs() {
			name := fmt.Sprint(k)
			switch {
			case exclusive(c):
				name = fmt.Sprint("granted ", first+k)
			case k < len(j.machine.GPUs):
				g := j.machine.GPUs[k]
				name = firstOf(g.UUID, fmt.Sprint(g.Index))
			}
			if o, dup := taken[name]; dup && o != i {
				twice, other = append(twice, fmt.Sprint(k)), o
				continue
			}
			taken[name] = i
		}
		if other >= 0 {
			slices.Sort(twice)
			plans[i].addLate(reqs[i], gpusTwice(reqs[other].Launch, twice))
		}
		if have := gpusOf(reqs[i]); exclusive(c) && have > 0 && next > have && first+*c.GPUs > have && first > 0 {
			plans[i].addLate(reqs[i], finding.New(CodeGPUsGranted, finding.Error, "", fmt.Sprintf(
				"The containers of this host ask for %d GPUs together; it has %d.", next, have)))
		}
	}
}

// exclusive reports a container whose GPUs a scheduler hands out.
func exclusive(c *launch.Container) bool { return c != nil && c.Exclusive && c.GPUs != nil }

func gpusOf(r Request) int {
	if len(r.Machines) == 0 {
		return 0
	}
	return len(r.Machines[0].GPUs)
}

func gpusTwice(other *launch.Command, gpus []string) finding.Finding {
	where := "another launch"
	if s := other.Source; s.Line > 0 {
		where = fmt.Sprintf("the one at line %d", s.Line)
		if s.Container != "" {
			where += " (" + s.Container + ")"
		}
	}
	return finding.New(CodeConflictingGPUs, finding.Warning, "--base-gpu-id", fmt.Sprintf(
		"This launch and %s both take GPU %v of one host.", where, gpus)).
		With("give each launch its own GPUs with --base-gpu-id or CUDA_VISIBLE_DEVICES")
}

// addLate adds findings to a finished plan.
func (p *Plan) addLate(r Request, fs ...finding.Finding) {
	if len(fs) == 0 {
		return
	}
	p.Findings = ignore(order(append(p.Findings, fs...)), r.Ignore)
	p.Verdict = verdict(p.Findings, p.Verdict == Undecided)
}
