package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/units"
)

// fits is the request that a launch must have room for to be called fitting,
// in tokens, when people estimate by hand.
const fits = 4096

// comparisonPage sets the plan beside what people use instead.
func comparisonPage(rows []row) string {
	var b strings.Builder
	b.WriteString("# Beside what people use instead\n\n" + generated)
	b.WriteString(handTable(rows))
	b.WriteString(handVerdicts(rows))
	b.WriteString(publishedTools(rows))
	return b.String()
}

// estimates are the answers about one launch.
type estimates struct {
	row
	card, free, blind, begin float64 // tokens: by hand of the card, by hand of the free memory, planned
}

func (e estimates) rel(v float64) float64 { return v/float64(e.Observed.Tokens) - 1 }

// estimated are the launches that everybody can answer about: a known
// fraction, a pool in the log that no flag bounds.
func estimated(rows []row) []estimates {
	var out []estimates
	for _, r := range rows {
		if !r.comparable() || r.Draft != "" || slices.Contains(r.Argv, "--max-total-tokens") {
			continue
		}
		h, ok := byHand(r)
		if !ok || r.Note != "" {
			continue
		}
		f := r.begin.GPU.MemFraction
		e := estimates{row: r, card: h.tokens(units.Bytes(r.GPUMiB)*units.MiB, f), free: math.NaN(),
			blind: float64(r.blind.GPU.MaxTotalNumTokens.Value), begin: float64(r.begin.GPU.MaxTotalNumTokens.Value)}
		if r.Observed.LoadBegin > 0 {
			e.free = h.tokens(units.FromGiB(r.Observed.LoadBegin), f)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b estimates) int {
		return cmp.Compare(math.Abs(b.rel(b.card)), math.Abs(a.rel(a.card)))
	})
	return out
}

// ways are the ways to estimate that the page compares.
var ways = []struct {
	name string
	of   func(estimates) float64
}{
	{"by hand (a): f of the card", func(e estimates) float64 { return e.card }},
	{"by hand (b): f of what is free when loading begins", func(e estimates) float64 { return e.free }},
	{"sglplan, nothing given", func(e estimates) float64 { return e.blind }},
	{"sglplan, free memory given", func(e estimates) float64 {
		if math.IsNaN(e.free) {
			return e.free
		}
		return e.begin
	}},
}

// answered are the launches that a way has an answer about.
func answered(es []estimates, of func(estimates) float64) []estimates {
	return slices.DeleteFunc(slices.Clone(es), func(e estimates) bool { return math.IsNaN(of(e)) })
}

func handTable(rows []row) string {
	es := estimated(rows)
	s := newTable("estimate", "launches>", "setups>", "median error>", "90 % within>", "worst>", "launches within 5 %>")
	for _, w := range ways {
		have := answered(es, w.of)
		rel := func(e estimates) float64 { return e.rel(w.of(e)) }
		over := overSetups(have, func(e estimates) string { return e.setup() }, rel)
		var each stats
		for _, e := range have {
			each = append(each, rel(e))
		}
		s.row(w.name, fmt.Sprint(len(have)), fmt.Sprint(len(over)), size(over.quantile(0.5)), size(over.quantile(0.9)), percent(over.worst()),
			fmt.Sprintf("%d of %d", each.within(0.05), len(each)))
	}
	t := newTable("launch", "family", "GPUs>", "logged>", "by hand (a)>", "by hand (b)>", "sglplan, nothing given>", "sglplan, free memory given>")
	for _, e := range es {
		cells := []string{code(e.ID), e.family(), fmt.Sprint(e.GPUs), thousands(e.Observed.Tokens)}
		for _, w := range ways {
			if v := w.of(e); math.IsNaN(v) {
				cells = append(cells, "-")
			} else {
				cells = append(cells, percent(e.rel(v)))
			}
		}
		t.row(cells...)
	}
	return fmt.Sprintf(`## Even split by hand

What many do with a calculator: the checkpoint divided by the GPUs, keys and values as 2 x layers x key-value heads x head size x bytes, divided by the GPUs,
and the rest of the budget filled with tokens. `+"`--mem-fraction-static`"+` has two readings: (a) of the whole card, as other servers mean it; (b) of what is free when loading begins,
as SGLang means it, with that figure taken from the log. The checkpoint's size is given right. The launches are those of [accuracy](accuracy.md) with a known fraction and a pool that no flag bounds.
Medians are over setups (model, ranks, type of the cache), so that the fractions tried with one setup count once.

%sSigned errors of the token count, the worst of (a) first:

%s`, s, t)
}

// handVerdicts asks both whether a launch fits.
func handVerdicts(rows []row) string {
	t := newTable("how it ended", "launches>", "by hand (a): fits>", "sglplan: ok>", "warn>", "reject>")
	for _, o := range []cases.Outcome{cases.Ready, cases.OOMPool, cases.OOMGraph, cases.OOMServing, cases.HostOOM} {
		var n, fit int
		v := map[planner.Verdict]int{}
		for _, r := range rows {
			h, ok := byHand(r)
			if r.Outcome != o || !ok || r.begin.GPU == nil {
				continue
			}
			n++
			v[r.begin.Verdict]++
			if h.tokens(units.Bytes(r.GPUMiB)*units.MiB, r.begin.GPU.MemFraction) >= fits {
				fit++
			}
		}
		if n > 0 {
			t.row(outcomes[o], fmt.Sprint(n), fmt.Sprint(fit), fmt.Sprint(v[planner.OK]), fmt.Sprint(v[planner.Warn]), fmt.Sprint(v[planner.Reject]))
		}
	}
	return fmt.Sprintf("### Does it fit?\n\nBy hand a launch fits when a request of %s tokens does.\n\n%s", thousands(fits), t)
}

// ourVerdicts counts as the survey counts: served launches refused, then
// deaths called fitting, by phase.
func ourVerdicts(rows []row) [4]string {
	of := func(bad planner.Verdict, outs ...cases.Outcome) string {
		var n, total int
		for _, r := range rows {
			if slices.Contains(outs, r.Outcome) {
				total++
				if r.begin.Verdict == bad {
					n++
				}
			}
		}
		return fmt.Sprintf("%d of %d", n, total)
	}
	return [4]string{
		of(planner.Reject, cases.Ready), of(planner.OK, cases.OOMPool, cases.OOMWeights),
		of(planner.OK, cases.OOMGraph, cases.OOMServing), of(planner.OK, cases.HostOOM),
	}
}
