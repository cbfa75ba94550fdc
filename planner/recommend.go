package planner

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// Recommend judges the same launch with safe, best values filled in: the
// fraction and the host cache size are chosen anew, everything else stays. The
// plan is that of the recommended launch; Recommend.Argv is the command to run
// and Recommend.Changed what differs from the one given.
func Recommend(req Request) *Plan {
	first := prepare(req)
	p := first.check()
	r := p.Recommend
	p.Recommended = true
	if r == nil || len(r.Changed) == 0 {
		return p
	}
	req.Launch = edited(req.Launch, first.given, r.Changed)
	second := Check(req)
	// What was recommended is kept: the second look only shows what it gives.
	second.Recommend, second.Recommended = r, true
	return second
}

// recommendation fills in safe, best values for the launch.
func (j *job) recommendation(p *Plan) *Recommendation {
	if r := j.repaired(); r != nil {
		return r
	}
	r := &Recommendation{}
	var edits []finding.Edit
	if m := j.gpu; m.canPlan() && !j.refused {
		edits = append(edits, j.recommendFraction(r)...)
	}
	if p.Host != nil {
		edits = append(edits, j.recommendHost(r, p)...)
	}
	r.Changed = edits
	r.Argv = edited(j.req.Launch, j.given, edits).Argv()
	return r
}

// recommendFraction chooses the largest fraction on the grid that leaves more
// than both needs at their high ends. A fraction that the command gives and
// that is safe stays as it is.
func (j *job) recommendFraction(r *Recommendation) []finding.Edit {
	m := j.gpu
	best, ok := m.best()
	if !ok {
		r.Alternatives = j.alternatives()
		return nil
	}
	r.MemFractionStatic = &best
	tokens := m.at(best).tokens
	r.MaxTotalNumTokens = &tokens
	if gated, ok := m.bestGated(best); ok {
		r.LivesThroughGate = &gated
	}
	if f, ok := j.defaultFraction(); ok {
		n := max(m.at(f).tokens.Value, 0)
		r.DefaultTokens = &n
	}
	if j.args.Float("mem_fraction_static") == best {
		return nil
	}
	return []finding.Edit{setFraction(best)}
}

// defaultFraction is what the release would choose by itself.
func (j *job) defaultFraction() (float64, bool) {
	if !j.given.Given("mem_fraction_static") {
		return j.args.Float("mem_fraction_static"), j.args.Has("mem_fraction_static")
	}
	a := j.resolveWithout("mem_fraction_static")
	return a.Float("mem_fraction_static"), a.Has("mem_fraction_static")
}

// alternatives are other changes with which some fraction works, the mildest
// first. Each is tried for real; a larger machine is named last, where nothing
// else works on this one.
func (j *job) alternatives() []finding.Fix {
	g := j.gpu
	if g.sought {
		return g.alternatives
	}
	g.sought = true
	if _, ok := g.best(); ok {
		return nil
	}
	for _, c := range j.candidates() {
		if best, tokens, ok := j.with(c.Edits).lives(); ok {
			c.Title += fmt.Sprintf(" and %s %.3g: %d tokens", fractionFlag, best, tokens)
			c.Edits = append(slices.Clone(c.Edits), setFraction(best))
			g.alternatives = append(g.alternatives, c)
		}
	}
	if len(g.alternatives) == 0 {
		g.alternatives = j.moreGPUs()
	}
	return g.alternatives
}

// lives finds the fraction with which a launch lives, and its tokens.
func (j *job) lives() (fraction float64, tokens int64, ok bool) {
	if j.refused || !j.gpu.canPlan() {
		return 0, 0, false
	}
	fraction, ok = j.gpu.best()
	if !ok {
		return 0, 0, false
	}
	return fraction, j.gpu.at(fraction).tokens.Value, true
}

// mostGPUs bounds the machines that moreGPUs imagines.
const mostGPUs = 64

// moreGPUs is how many such GPUs a replica would live on, where this machine
// has fewer.
func (j *job) moreGPUs() []finding.Fix {
	have := int64(len(j.machine.GPUs))
	for n := j.args.Int("tp_size") * 2; have > 0 && n > 0 && n <= mostGPUs; n *= 2 {
		if n <= have {
			continue
		}
		_, tokens, ok := j.with([]finding.Edit{{Flag: "--tp-size", Value: strconv.FormatInt(n, 10)}}).lives()
		if ok {
			return []finding.Fix{{Title: fmt.Sprintf(
				"use %d such GPUs for a replica with --tp-size %d (here: %d), for %d tokens; or larger ones, or a smaller or quantised model", n, n, have, tokens)}}
		}
	}
	return nil
}

// candidates are the changes that alternatives tries.
func (j *job) candidates() []finding.Fix {
	var out []finding.Fix
	set := func(title, flag string, v int64) {
		out = append(out, finding.Fix{Title: title, Edits: []finding.Edit{{Flag: flag, Value: strconv.FormatInt(v, 10)}}})
	}
	most, flag := args.DecodeGraphs(j.args)
	for _, n := range []int64{128, 32, 8} {
		if n < most {
			set(fmt.Sprintf("capture decode graphs to %d requests only", n), flag, n)
		}
	}
	if c := j.args.Int("chunked_prefill_size"); c > 2048 {
		for _, n := range []int64{4096, 2048} {
			if n < c {
				set(fmt.Sprintf("prefill in chunks of %d tokens", n), "--chunked-prefill-size", n)
			}
		}
	}
	tp := j.args.Int("tp_size")
	for n := tp * 2; tp > 0 && n <= int64(len(j.machine.GPUs)); n *= 2 {
		set(fmt.Sprintf("use %d GPUs for a replica", n), "--tp-size", n)
	}
	if v := j.args.Str("kv_cache_dtype"); v == "auto" || v == "bfloat16" || v == "" {
		out = append(out, finding.Fix{Title: "keep the KV cache in fp8 (half the bytes a token; it changes the model's answers a little)",
			Edits: []finding.Edit{{Flag: "--kv-cache-dtype", Value: "fp8_e4m3"}}})
	}
	if c := int64(j.info.ContextLen); c > 0 {
		for _, n := range []int64{131072, 32768} {
			if n < c {
				set(fmt.Sprintf("allow a context of %d tokens only", n), "--context-length", n)
			}
		}
	}
	return out
}

// resolveWithout is the release's own answer for the launch without a flag.
func (j *job) resolveWithout(field string) *args.Args {
	a := j.given.Clone()
	a.Set(field, nil, args.Origin{Kind: args.FromDefault})
	r, _ := args.Resolve(j.rel, a, j.info, j.req.Model, j.card, len(j.machine.GPUs), args.Env(j.env))
	return r
}
