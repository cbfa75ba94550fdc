package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/loading"
	"github.com/sglplan/sglplan/planner/sglang/pool"
)

// notDividing are the refusals of a model that cannot be split over its ranks.
var notDividing = []finding.Code{pool.CodeHeads, pool.CodeStateHeads, loading.CodeShape}

// mend adds to the refusals among the first n findings, those of arguments and
// sizes, the nearest change that the release takes. Each is tried for real.
func (j *job) mend(n int) {
	for i := range j.findings[:n] {
		f := &j.findings[i]
		if f.Severity != finding.Error || len(f.Fixes) > 0 || f.Flag == fractionFlag {
			continue
		}
		if said := j.fixOf(f.Flag, n); said != nil {
			f.Fixes = []finding.Fix{*said}
		} else if fix, ok := j.way(*f); ok {
			f.Fixes = []finding.Fix{fix}
		}
	}
}

// fixOf is a way that was found for another refusal about the same flag.
func (j *job) fixOf(flag string, n int) *finding.Fix {
	for _, f := range j.findings[:n] {
		if f.Flag == flag && flag != "" && f.Severity == finding.Error && len(f.Fixes) > 0 {
			return &f.Fixes[0]
		}
	}
	return nil
}

// way finds a change after which nothing of the kind is refused. One that
// leaves room for a pool comes before one that does not.
func (j *job) way(f finding.Finding) (finding.Fix, bool) {
	var spare *finding.Fix
	for _, c := range j.ways(f) {
		other := j.with(c.Edits)
		if slices.ContainsFunc(other.findings, func(g finding.Finding) bool { return g.Severity == finding.Error && alike(f, g) }) {
			continue
		}
		if _, _, ok := other.lives(); ok {
			return c, true
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

// alike reports refusals for the same reason: of a split, or of one flag.
func alike(f, g finding.Finding) bool {
	if slices.Contains(notDividing, f.Code) {
		return slices.Contains(notDividing, g.Code)
	}
	return f.Flag == g.Flag || f.Code == g.Code
}

// identity are the arguments that say what is served and to whom: a change of
// one is never proposed, since another server would come of it.
var identity = map[string]bool{
	"model_path": true, "tokenizer_path": true, "revision": true, "json_model_override_args": true,
	"served_model_name": true, "api_key": true, "admin_api_key": true, "lora_paths": true, "chat_template": true,
}

// mostWays bounds the changes that are tried for a refusal.
const mostWays = 8

// ways are the changes to try: for a split, whole experts on each GPU, which
// keeps all of them, then fewer GPUs; for attention groups, fewer of them; for
// any other flag that the command gives, the release's own value.
func (j *job) ways(f finding.Finding) []finding.Fix {
	var out []finding.Fix
	add := func(title string, e finding.Edit) {
		if len(out) < mostWays {
			out = append(out, finding.Fix{Title: title, Edits: []finding.Edit{e}})
		}
	}
	below := func(title, flag string, size int64) {
		for n := min(size-1, 64); n > 0; n-- {
			if n < 8 || n&(n-1) == 0 {
				add(fmt.Sprintf(title, n), finding.Edit{Flag: flag, Value: strconv.FormatInt(n, 10)})
			}
		}
	}
	switch {
	case slices.Contains(notDividing, f.Code):
		tp := j.args.Int("tp_size")
		if j.info.NumExperts > 0 && j.args.IntOr("ep_size", 1) == 1 && tp > 1 {
			add("keep whole experts on each GPU", finding.Edit{Flag: "--ep-size", Value: strconv.FormatInt(tp, 10)})
		}
		below("split over %d of the GPUs", "--tp-size", tp)
	case f.Flag == "--dp-size" && j.given.Given("dp_size"):
		below("make %d attention groups", "--dp-size", j.given.Int("dp_size"))
	case f.Flag != "" && !identity[field(f.Flag)] && j.stands(f.Flag):
		add("leave "+f.Flag+" out", finding.Edit{Flag: f.Flag, Remove: true})
	}
	return out
}

// stands reports a flag that the command gives, whether the release knows it
// or not.
func (j *job) stands(flag string) bool {
	return j.given.Given(field(flag)) || slices.ContainsFunc(j.req.Launch.Flags, func(w launch.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return name == flag
	})
}

// with is the launch with some edits made.
func (j *job) with(edits []finding.Edit) *job {
	req := j.req
	req.Launch = edited(j.req.Launch, j.given, edits)
	return prepare(req)
}

// guesses are refusals whose fix guesses at what was meant: a person decides.
var guesses = []finding.Code{args.CodeUnknownFlag, args.CodeValueInvalid, args.CodeValueMissing}

// repairs are the edits that take the refusals away which neither another
// fraction nor another host size mends.
func (j *job) repairs() []finding.Edit {
	var out []finding.Edit
	for _, f := range j.findings {
		if f.Severity != finding.Error || len(f.Fixes) == 0 || slices.Contains(guesses, f.Code) {
			continue
		}
		if f.Code == args.CodeAmbiguousFlag && len(f.Fixes) > 1 {
			continue // several are meant as likely; one is the release's own successor
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
