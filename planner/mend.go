package planner

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/loading"
	"github.com/sglplan/sglplan/planner/sglang/pool"
)

// notDividing are the refusals of a model that cannot be split over its ranks.
var notDividing = []finding.Code{pool.CodeHeads, pool.CodeStateHeads, loading.CodeShape}

// mend adds to the refusals of a split the nearest one that the release takes.
func (j *job) mend() {
	refused := func(f finding.Finding) bool {
		return f.Severity == finding.Error && slices.Contains(notDividing, f.Code) && len(f.Fixes) == 0
	}
	if !slices.ContainsFunc(j.findings, refused) {
		return
	}
	fix, ok := j.split()
	if !ok {
		return
	}
	for i := range j.findings {
		if refused(j.findings[i]) {
			j.findings[i].Fixes = []finding.Fix{fix}
		}
	}
}

// mostSplits bounds the splits that are tried.
const mostSplits = 8

// split finds a split that the release takes: whole experts on each GPU first,
// which keeps all of them, then fewer GPUs. One with room for a pool comes
// before one without.
func (j *job) split() (finding.Fix, bool) {
	var spare *finding.Fix
	for _, c := range j.splits() {
		other := j.with(c.Edits)
		if other.refused || slices.ContainsFunc(other.findings, func(f finding.Finding) bool {
			return f.Severity == finding.Error && slices.Contains(notDividing, f.Code)
		}) {
			continue
		}
		if other.gpu.canPlan() {
			if _, fits := other.gpu.best(); fits {
				return c, true
			}
		}
		if spare == nil {
			spare = &c
		}
	}
	if spare == nil {
		return finding.Fix{}, false
	}
	return *spare, true
}

func (j *job) splits() []finding.Fix {
	var out []finding.Fix
	set := func(title, flag string, n int64) {
		out = append(out, finding.Fix{Title: title, Edits: []finding.Edit{{Flag: flag, Value: strconv.FormatInt(n, 10)}}})
	}
	tp := j.args.Int("tp_size")
	if j.info.NumExperts > 0 && j.args.IntOr("ep_size", 1) == 1 && tp > 1 {
		set("keep whole experts on each GPU", "--ep-size", tp)
	}
	for n := min(tp-1, 64); n > 0 && len(out) < mostSplits; n-- {
		if n < 8 || n&(n-1) == 0 {
			set(fmt.Sprintf("split over %d of the GPUs", n), "--tp-size", n)
		}
	}
	return out
}

// with is the launch with some edits made.
func (j *job) with(edits []finding.Edit) *job {
	req := j.req
	req.Launch = edited(j.req.Launch, j.given, edits)
	return prepare(req)
}

// guesses are refusals whose fix guesses at what was meant: a person decides.
var guesses = []finding.Code{args.CodeUnknownFlag, args.CodeAmbiguousFlag, args.CodeValueInvalid}

// repairs are the edits that take the refusals away which neither another
// fraction nor another host size mends.
func (j *job) repairs() []finding.Edit {
	var out []finding.Edit
	for _, f := range j.findings {
		if f.Severity != finding.Error || len(f.Fixes) == 0 || slices.Contains(guesses, f.Code) {
			continue
		}
		if f.Flag == fractionFlag && f.Code != CodeOutOfRange {
			continue // the alternatives are offered, none is chosen
		}
		if sized(f.Fixes[0].Edits) {
			continue // recommendHost does that
		}
		for _, e := range f.Fixes[0].Edits {
			same := func(o finding.Edit) bool { return o.Flag == e.Flag }
			if !slices.ContainsFunc(out, same) {
				out = append(out, e)
			}
		}
	}
	return out
}

// sized reports edits that choose another host size.
func sized(edits []finding.Edit) bool {
	return slices.ContainsFunc(edits, func(e finding.Edit) bool { return e.Flag == "--hicache-size" && !e.Remove })
}

// mostRepairs bounds how often a repaired launch is repaired again.
const mostRepairs = 3

// repaired recommends for the launch with its refusals taken away; nil when
// that does not make it a launch that runs.
func (j *job) repaired() *Recommendation {
	edits := j.repairs()
	if len(edits) == 0 || j.req.repairs == mostRepairs {
		return nil
	}
	req := j.req
	req.Launch = edited(j.req.Launch, j.given, edits)
	req.repairs++
	p := Check(req)
	r := p.Recommend
	if len(r.Changed) > 0 {
		req.Launch = edited(req.Launch, j.given, r.Changed)
		p = Check(req)
	}
	if p.Verdict == Reject {
		return nil
	}
	edits = slices.DeleteFunc(edits, func(e finding.Edit) bool { // made anew
		return slices.ContainsFunc(r.Changed, func(later finding.Edit) bool { return later.Flag == e.Flag })
	})
	r.Changed = append(edits, r.Changed...)
	return r
}
