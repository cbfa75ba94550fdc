package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The figures of other tools are published ones: of a survey in which each was
// run as installed on 30 November 2026, on public and measured launches of
// which those of this repository are a part. They are dated facts, not figures
// that this repository can make again.
const surveyed = "30 November 2026"

// tool is what the survey found of one tool: the error of its token counts and
// of its weights, over setups, and its verdicts.
type tool struct {
	name, version     string
	answers           string // launches with a token count that it answered about
	median, p90       string // of the error of tokens
	within            string // launches within five percent
	weightsMedian     string
	weightsP90        string
	refused, poolSeen string // served launches that it refuses; deaths in pool sizing that it calls fitting
	lateSeen, host    string // deaths in graphs or serving, and on the host, that it calls fitting
}

var tools = []tool{
	{"kvfit", "0.3.0", "44 of 49", "35.8 %", "813 %", "27 of 44", "1.0 %", "9.3 %", "1 of 55", "5 of 8", "6 of 7", "6 of 7"},
	{"vramscout", "0.7.0", "49 of 49", "52.7 %", "501 %", "24 of 49", "1.4 %", "21.3 %", "5 of 66", "6 of 12", "7 of 8", "7 of 8"},
	{"aiconfigurator", "0.12.0", "44 of 49", "34.6 %", "545 %", "12 of 44", "2.5 %", "36.7 %", "10 of 60", "4 of 10", "6 of 8", "6 of 8"},
	{"llm-d planner", "0.3.3", "44 of 49", "46.9 %", "375 %", "20 of 44", "1.2 %", "21.3 %", "1 of 55", "6 of 10", "8 of 8", "6 of 7"},
	{"hf-mem", "0.5.6", "42 of 49", "46.6 %", "132 %", "23 of 42", "1.0 %", "9.3 %", "1 of 55", "7 of 10", "8 of 8", "7 of 8"},
	{"modelinfo-cli", "1.4.4", "37 of 49", "71.3 %", "1155 %", "16 of 37", "1.4 %", "21.3 %", "0 of 45", "5 of 7", "6 of 6", "6 of 7"},
	{"llm-mem-planner", "0.2.2", "1 of 49", "1.7 %", "1.7 %", "1 of 1", "17.0 %", "18.3 %", "0 of 2", "0 of 1", "1 of 1", "3 of 3"},
	{"GPUStack", "2.3.0", "-", "-", "-", "-", "25.5 %", "85.8 %", "12 of 66", "3 of 12", "6 of 8", "7 of 8"},
	{"accelerate", "1.15.0", "-", "-", "-", "-", "6.1 %", "17.9 %", "0 of 58", "5 of 7", "5 of 5", "3 of 4"},
}

// simulated is aisimulate, run apart on 67 launches.
var simulated = []struct{ class, rows, plain, helped string }{
	{"dense, on a card it has", "22", "22 answers, median 1.8 %, worst -4.6 %", "22 answers, median 2.3 %, worst -5.2 %"},
	{"mixture of experts, on a card it has", "5", "5 answers, median 2.1 %, worst +92 %", "5 answers, median 2.9 %, worst -9.0 %"},
	{"MLA, on a card it has", "5", "1 answer, +96 %", "1 answer, -2.4 %"},
	{"sliding window", "11", "3 answers, median 83 %", "8 answers, median 166 %"},
	{"linear hybrids", "11", "1 answer, 83 %", "7 answers, median 707 %"},
	{"all", "67", "33 answers, 25 within 5 %", "48 answers, 26 within 5 %"},
}

// worked are two launches whose truth is public, with what tools answered.
var worked = []struct {
	id, name string
	answers  []answer
}{
	{"kimi-k25-8xrtxpro6000-f0.85-hicache48", "Kimi-K2.5 int4, TP 8, 8 x RTX PRO 6000, f 0.85", []answer{
		{"aiconfigurator (21 August 2026)", 39896}, {"llm-d planner (27 April 2026)", 421060}, {"gguf-parser-go (13 July 2026), header in MLA form", 561403}, {"hf-mem (22 June 2026), divided by hand", 52308},
	}},
	{"qwen3-30b-a3b-fp8-h100-main-2026-08", "Qwen3-30B-A3B FP8, TP 1, H100, f 0.83", []answer{
		{"aiconfigurator (21 August 2026)", 693386}, {"llm-d planner (27 April 2026)", 319158}, {"gguf-parser-go (13 July 2026)", 356605}, {"hf-mem (22 June 2026), by hand", 788722},
	}},
}

type answer struct {
	tool   string
	tokens int64
}

func publishedTools(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Other tools

Figures of other tools as of %s, each tool installed from PyPI that day in the version named, given every launch's config.json, a weight file of the checkpoint's size, the card and the fraction.
The set: 49 launches (29 setups) with a known fraction for tokens, 70 for weights. Medians and 90th percentiles are over setups there. Later versions may do better.
The last line is this tool on the launches embedded here, which overlap with that set but are not the same: over its own setups, without any weight file, with the free memory at load begin where the log has it.

`, surveyed)
	t := newTable("tool", "version", "token answers>", "median>", "90 % within>", "launches within 5 %>", "weights median>", "90 % within>",
		"served, refused>", "died at the pools, called fitting>", "died later, called fitting>", "killed on the host, called fitting>")
	for _, x := range tools {
		t.row(x.name, x.version, x.answers, x.median, x.p90, x.within, x.weightsMedian, x.weightsP90, x.refused, x.poolSeen, x.lateSeen, x.host)
	}
	t.row(ourLine(rows)...)
	b.WriteString(t.String())
	b.WriteString(classTable(rows))
	b.WriteString(simulatedTable())
	b.WriteString(workedTables(rows))
	b.WriteString(`What separates them: multi-head latent attention taken as heads, its latent divided by TP, the KV type inferred from the weights' type, key-value heads not replicated below TP,
hybrids and window pools, and the fraction taken of the card. This tool's authors had seen the launches of its line; those of the survey were given to the others as they are. At the time of the survey none of them sized host pools, followed SGLang's releases, or said what must stay free for serving.
`)
	return b.String()
}

// ourLine is this tool in the table's terms.
func ourLine(rows []row) []string {
	tok, w := pairs(rows, tokensBegin), pairs(rows, weights)
	each := errorsOf(tok, tokensBegin)
	te, we := overSetups(tok, pair.setup, pair.rel), overSetups(w, pair.setup, pair.rel)
	v := ourVerdicts(rows)
	return []string{
		"**sglplan**", "this one", fmt.Sprintf("%d of %d", len(tok), len(tok)), size(te.quantile(0.5)), size(te.quantile(0.9)),
		fmt.Sprintf("%d of %d", each.within(0.05), len(each)), size(we.quantile(0.5)), size(we.quantile(0.9)), v[0], v[1], v[2], v[3],
	}
}

// classes are the survey's classes of launches.
var classes = []string{"GQA, 16 bit, one GPU", "GQA, several GPUs", "GQA, fp8 weights or cache", "MLA", "window layers", "hybrid"}

// byClass are signed errors of the survey, lowest to highest setup, in percent.
var byClass = []struct {
	tool   string
	ranges []string
}{
	{"kvfit", []string{"+1 to +47", "+2 to +36", "+1 to +3", "+1 to +2", "+80 to +12956", "+91 to +830"}},
	{"vramscout", []string{"-1 to +9", "-1 to +6", "0", "-99 to -81", "-8 to +143", "-100 to +861"}},
	{"aiconfigurator", []string{"-100 to -3", "-5 to +68", "-6 to +76", "-8 to +19", "-100 to +79", "-100 to +822"}},
	{"llm-d planner", []string{"-100 to -1", "+10 to +98", "-51 to -1", "-2 to +297", "-2 to +239", "-54 to +375"}},
	{"hf-mem", []string{"+1 to +47", "+2 to +36", "+1 to +106", "-92 to -71", "-58 to +2", "-100 to +144"}},
	{"modelinfo-cli", []string{"+1 to +193", "-1 to +14", "-49 to +106", "-96 to -71", "+32", "-3"}},
	{"llm-mem-planner", []string{"-", "-", "-", "+2", "-", "-"}},
}

// class is the survey's class of a launch.
func (r row) class() string {
	fp8 := r.info.Quantization == "fp8" || strings.HasPrefix(fmt.Sprint(r.begin.Launch.Resolved["kv_cache_dtype"]), "fp8")
	switch a := r.info.Attention; {
	case a == "mla":
		return classes[3]
	case a == "swa":
		return classes[4]
	case a == "hybrid":
		return classes[5]
	case fp8:
		return classes[2]
	case r.GPUs > 1:
		return classes[1]
	}
	return classes[0]
}

func classTable(rows []row) string {
	t := newTable(append([]string{"tool"}, classes...)...)
	for _, x := range byClass {
		t.row(append([]string{x.tool}, x.ranges...)...)
	}
	cells := []string{"**sglplan**"}
	for _, c := range classes {
		ps := slices.DeleteFunc(pairs(rows, tokensBegin), func(p pair) bool { return p.class() != c })
		e := overSetups(ps, pair.setup, pair.rel)
		if len(e) == 0 {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, fmt.Sprintf("%+.1f to %+.1f (%s)", 100*slices.Min(e), 100*slices.Max(e), plural(len(e), "setup")))
	}
	t.row(cells...)
	return "Signed errors of the token count by class, lowest to highest setup, in percent:\n\n" + t.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func simulatedTable() string {
	t := newTable("class", "launches>", "flags passed on one to one", "KV type, card size and nearest card set by hand")
	for _, s := range simulated {
		t.row(s.class, s.rows, s.plain, s.helped)
	}
	return "aisimulate (nightly wheel 0.13.0.dev202610270000000085, 27 October 2026), on 67 launches with a pool that no flag bounds:\n\n" + t.String()
}

// workedTables sets the answers about two launches beside the log and the plan.
func workedTables(rows []row) string {
	var b strings.Builder
	for _, w := range worked {
		for _, r := range rows {
			if r.ID != w.id {
				continue
			}
			t := newTable("answer", "tokens>", "error>")
			truth := float64(r.Observed.Tokens)
			t.row("**the log**", thousands(r.Observed.Tokens), "")
			m := r.begin.GPU.MaxTotalNumTokens
			t.row("sglplan, "+thousands(m.Low)+" to "+thousands(m.High), thousands(m.Value), percent(float64(m.Value)/truth-1))
			for _, a := range w.answers {
				t.row(a.tool, thousands(a.tokens), percent(float64(a.tokens)/truth-1))
			}
			if h, ok := byHand(r); ok {
				v := h.tokens(r.begin.GPU.PreLoadFreeBytes, r.begin.GPU.MemFraction)
				t.row("by hand (b)", thousands(int64(math.Round(v))), percent(v/truth-1))
			}
			fmt.Fprintf(&b, "**%s.** Snapshots of the dates named:\n\n%s", w.name, t)
		}
	}
	return b.String()
}
