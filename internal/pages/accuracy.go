package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
)

// accuracyPage compares every figure of a plan with what the logs say.
func accuracyPage(rows []row) string {
	var b strings.Builder
	b.WriteString("# Accuracy\n\n" + generated)
	fmt.Fprintf(&b, `%d launches are embedded in the repository: %d from public logs and issue threads, %d measured on H200 cards with SGLang 0.5.17
([how they were measured](../testdata/launches/README.md)). Each is planned here from its command, its card and a config.json, without any weight file,
and every figure is set beside what the log or the sampled card memory says. Public rows whose fraction or flags were not recorded are planned and judged, not compared.
Nothing is left out because it misses. These launches were known while the tool was built: tokens, weights and host pools follow SGLang's own arithmetic and layouts and are fitted to none of them,
but the terms of what graphs and serving take were measured on the H200 launches, so their bands are tested on other launches of the same kinds only where public logs give such a figure.

![predicted against logged](accuracy.svg)

GiB are 2^30 bytes, the unit that SGLang's logs print as GB.

## Summary

`, len(rows), len(rows)-count(rows, isMeasured), count(rows, isMeasured))
	t := newTable("figure", "what the plan was given", "compared>", "median error>", "90 % within>", "worst>", "inside the band>")
	for _, m := range measures {
		summaryRow(t, m, pairs(rows, m))
	}
	b.WriteString(t.String())
	b.WriteString("Errors are predicted less logged, in percent of the logged figure for tokens and in GiB for the rest. A band is what the plan itself prints as low and high; a figure counts as inside within the rounding of the log's two decimals. With the weights given the token count is SGLang's own integer arithmetic, whose only error is the rounding of the readings, so it has no band.\n\n")
	b.WriteString(byGroup(rows, "family", row.family))
	b.WriteString(byGroup(rows, "release", func(r row) string { return r.Release }))
	b.WriteString("## Every case, worst first\n\n")
	for _, m := range []measure{tokensBegin, tokensBlind, weights, preLoad, poolEnd, needStart, needServing} {
		b.WriteString(casesTable(rows, m))
	}
	b.WriteString(longPrompts(rows))
	b.WriteString(verdicts(rows))
	b.WriteString(unexplained(rows))
	return b.String()
}

func isMeasured(r row) bool { return r.Measured }

func count(rows []row, f func(row) bool) int {
	n := 0
	for _, r := range rows {
		if f(r) {
			n++
		}
	}
	return n
}

func insideOf(ps []pair) string {
	n := 0
	for _, p := range ps {
		if p.inside() {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(ps))
}

func summaryRow(t *table, m measure, ps []pair) {
	e := errorsOf(ps, m)
	show := func(v float64) string {
		if m.relative {
			return size(v)
		}
		return fmt.Sprintf("%.2f GiB", v)
	}
	inside := insideOf(ps)
	if m.exact {
		inside = "no band"
	}
	t.row(m.name, m.known, fmt.Sprint(len(ps)), show(e.quantile(0.5)), show(e.quantile(0.9)), m.showErr(e.worst()), inside)
}

// byGroup summarises tokens and weights of the rows that share a property.
func byGroup(rows []row, name string, key func(row) string) string {
	groups := map[string][]row{}
	for _, r := range rows {
		groups[key(r)] = append(groups[key(r)], r)
	}
	t := newTable(name, "launches>", "tokens compared>", "median>", "worst>", "in band>", "weights compared>", "median, GiB>", "worst, GiB>")
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		tok, w := pairs(groups[k], tokensBegin), pairs(groups[k], weights)
		t.row(k, fmt.Sprint(len(groups[k])),
			fmt.Sprint(len(tok)), orDash(tok, func() string { return size(errorsOf(tok, tokensBegin).quantile(0.5)) }),
			orDash(tok, func() string { return percent(errorsOf(tok, tokensBegin).worst()) }), orDash(tok, func() string { return insideOf(tok) }),
			fmt.Sprint(len(w)), orDash(w, func() string { return gib(errorsOf(w, weights).quantile(0.5)) }),
			orDash(w, func() string { return weights.showErr(errorsOf(w, weights).worst()) }))
	}
	return fmt.Sprintf("## By %s\n\n%s", name, t)
}

func orDash(ps []pair, f func() string) string {
	if len(ps) == 0 {
		return "-"
	}
	return f()
}

func casesTable(rows []row, m measure) string {
	t := newTable("case", "release", "source", "predicted>", "logged>", "error>", "band>", "basis", "inside")
	for _, p := range pairs(rows, m) {
		in := "yes"
		if !p.inside() {
			in = "**no**"
		}
		t.row(code(p.ID), p.releaseText(), p.source(), m.show(p.value), m.show(p.logged), m.showErr(p.err(m)),
			m.show(p.low)+" to "+m.show(p.high), string(p.basis), in)
	}
	return fmt.Sprintf("### %s\n\nThe plan was given: %s.\n\n%s", title(m.name), strings.TrimPrefix(m.known, "and "), t)
}

// releaseText marks a release that was taken from the log's date.
func (r row) releaseText() string {
	if r.ReleaseFromDate {
		return r.Release + " (by date)"
	}
	return r.Release
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// longPrompts says what prompts and prefixes of 100,000 tokens and more took,
// which no single figure of the plan stands for.
func longPrompts(rows []row) string {
	t := newTable("case", "outcome", "free after the pools>", "serving predicted>", "one-chunk prompts>", "long prompts and prefixes>", "verdict")
	for _, r := range rows {
		if r.Observed.NeedLong == 0 {
			continue
		}
		n := r.begin.GPU.NeedServingBytes
		t.row(code(r.ID), string(r.Outcome), gib(r.Observed.PoolEnd), fmt.Sprintf("%s to %s", gib(n.Low.GiB()), gib(n.High.GiB())),
			gib(r.Observed.NeedServing), gib(r.Observed.NeedLong), string(r.begin.Verdict))
	}
	return "### Long prompts and prefixes\n\n" +
		"In these launches prompts of 120,000 tokens and cached prefixes of 100,000 followed. With multi-head latent attention each chunk projects its cached prefix up to keys and values, " +
		"so what serving takes grows with the prefix, and PyTorch's allocator keeps what it once had while memory lasts: the last column but one is what was reserved, not what was needed. GiB.\n\n" + t.String()
}

func verdicts(rows []row) string {
	var b strings.Builder
	b.WriteString("## Verdicts\n\nEach launch judged before it starts, beside how it ended.\n\n")
	all := []planner.Verdict{planner.OK, planner.Warn, planner.Undecided, planner.Reject}
	t := newTable("how it ended", "launches>", "ok>", "warn>", "undecided>", "reject>")
	for _, o := range []cases.Outcome{cases.Ready, cases.OOMWeights, cases.OOMPool, cases.OOMGraph, cases.OOMServing, cases.HostOOM, cases.ConfigError} {
		n := map[planner.Verdict]int{}
		total := 0
		for _, r := range rows {
			if r.Outcome == o {
				total++
				n[r.begin.Verdict]++
			}
		}
		if total == 0 {
			continue
		}
		cells := []string{outcomes[o], fmt.Sprint(total)}
		for _, v := range all {
			cells = append(cells, fmt.Sprint(n[v]))
		}
		t.row(cells...)
	}
	b.WriteString(t.String())
	return b.String()
}

var outcomes = map[cases.Outcome]string{
	cases.Ready:       "served",
	cases.OOMWeights:  "out of GPU memory while loading",
	cases.OOMPool:     "no room for the pools",
	cases.OOMGraph:    "out of GPU memory in graph capture",
	cases.OOMServing:  "out of GPU memory while serving",
	cases.HostOOM:     "killed for host memory",
	cases.ConfigError: "ended for a reason that is not memory",
}

// unexplained lists what lies outside its band, and what nobody has measured.
func unexplained(rows []row) string {
	var b strings.Builder
	b.WriteString("## What remains unexplained\n\nFigures outside the band that the plan gave for them:\n\n")
	t := newTable("figure", "case", "predicted>", "band>", "logged>", "not measured about the launch")
	n := 0
	for _, m := range measures {
		for _, p := range pairs(rows, m) {
			if m.exact || p.inside() {
				continue
			}
			n++
			t.row(m.name, code(p.ID), m.show(p.value), m.show(p.low)+" to "+m.show(p.high), m.show(p.logged), strings.Join(p.begin.GPU.Unmeasured, ", "))
		}
	}
	if n == 0 {
		b.WriteString("None.\n\n")
	} else {
		b.WriteString(t.String())
	}
	b.WriteString(notCompared(rows))
	return b.String()
}

// notCompared lists the public rows whose log cannot be held against a plan.
func notCompared(rows []row) string {
	var ids []string
	for _, r := range rows {
		if r.Observed.Tokens > 0 && !r.comparable() {
			ids = append(ids, code(r.ID))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "Rows with a token count whose fraction or flags were not recorded, so that it is not compared: " + strings.Join(ids, ", ") + ".\n"
}
