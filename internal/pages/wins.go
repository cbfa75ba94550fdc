package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/units"
)

// What a failed start costs where nobody timed it. The measured launches have
// random weights, so reading the checkpoint is added to theirs too.
const (
	readRate     = 2 * units.GB // a second, the checkpoint from local NVMe or a page cache that is half warm
	startSeconds = 60.0         // imports, process groups, pools and graphs without the reading
)

// winsPage says what the tool is worth on launches that were really made.
func winsPage(rows []row) string {
	var b strings.Builder
	b.WriteString("# What it wins\n\n" + generated)
	b.WriteString("Launches that were really made, public and measured ([accuracy](accuracy.md) says how well they are predicted).\n\n")
	b.WriteString(tokensWon(rows))
	b.WriteString(edgesFound(rows))
	b.WriteString(startsSaved(rows))
	b.WriteString(servedOnes(rows))
	return b.String()
}

// withoutFraction is the launch as the release sizes it by itself.
func (r row) withoutFraction() bool { return !slices.Contains(r.Argv, "--mem-fraction-static") }

// tokensWon compares the release's default fraction with the recommended one,
// once for each launch that was tried.
func tokensWon(rows []row) string {
	t := newTable("launch", "GPUs", "release", "default f>", "tokens>", "logged>", "recommended f>", "tokens>", "more>")
	var gains stats
	more := 0
	for _, r := range rows {
		p := r.begin.Recommend
		if !r.withoutFraction() || r.Outcome == cases.ConfigError || p.MemFractionStatic == nil || p.DefaultTokens == nil || *p.DefaultTokens == 0 {
			continue
		}
		gain := float64(p.MaxTotalNumTokens.Value)/float64(*p.DefaultTokens) - 1
		gains = append(gains, gain)
		if gain > 0 {
			more++
		}
		logged := "-"
		if r.Observed.Tokens > 0 {
			logged = thousands(r.Observed.Tokens)
		}
		t.row(launchName(r), gpus(r), r.Release, fraction(r.begin.GPU.MemFraction), thousands(*p.DefaultTokens), logged,
			fraction(*p.MemFractionStatic), thousands(p.MaxTotalNumTokens.Value), percent(gain))
	}
	slices.Sort(gains)
	return fmt.Sprintf("## Tokens: default and recommended\n\nLaunches that leave `--mem-fraction-static` to the release. The recommended fraction leaves more than the high end of what the start and serving take, "+
		"with prompts and prefixes up to the context length; where that is less than the default, the default is one that a long prompt kills. "+
		"%d of %d get more tokens; the median change is %s, the largest %s.\n\n%s", more, len(gains), percent(gains[len(gains)/2]), percent(gains[len(gains)-1]), t)
}

func launchName(r row) string { return r.Model + " " + code(flags(r.Argv)) }

func gpus(r row) string { return fmt.Sprintf("%d x %s", r.GPUs, strings.TrimPrefix(r.GPU, "NVIDIA ")) }

// edgesFound compares recommend with the largest fraction that lived where it
// was searched.
func edgesFound(rows []row) string {
	byID := map[string]row{}
	var all []cases.Case
	for _, r := range rows {
		byID[r.ID] = r
		all = append(all, r.Case)
	}
	t := newTable("launch", "default f>", "its tokens>", "recommended f>", "its tokens>", "largest f that lived>", "its tokens, logged>", "recommended has>", "smallest f that died>")
	for _, e := range cases.Edges(all) {
		if !e.Searched() {
			continue
		}
		r := byID[e.Case.ID]
		p := r.begin.Recommend
		lived := livedAt(e)
		t.row(launchName(r), fraction(r.begin.GPU.MemFraction), thousands(*p.DefaultTokens),
			fraction(*p.MemFractionStatic), thousands(p.MaxTotalNumTokens.Value), fraction(e.Lived), thousands(lived),
			fmt.Sprintf("%.1f %%", 100*float64(p.MaxTotalNumTokens.Value)/float64(lived)), fraction(e.Died))
	}
	out := "## How close to the edge\n\nThe fraction was raised in steps until the launch died, under bursts of 16 to 24 prompts of a whole chunk and 256 decoding requests.\n\n" + t.String()
	return out + through(all)
}

func livedAt(e cases.Edge) int64 {
	for _, c := range e.Rows {
		if c.Observed.Fraction == e.Lived && c.Outcome == cases.Ready {
			return c.Observed.Tokens
		}
	}
	return 0
}

// through names launches that live again above the fraction that died.
func through(all []cases.Case) string {
	var b strings.Builder
	for _, e := range cases.Edges(all) {
		if e.Through > 0 {
			fmt.Fprintf(&b, "%s dies at %s and lives again at %s: so little is free there that the release leaves its prefill graphs out. `recommend` stays below the gap and names the way through it.\n\n",
				e.Case.Model, fraction(e.Died), fraction(e.Through))
		}
	}
	return b.String()
}

// startsSaved lists the launches that died for memory, with what was said of
// them before and what the start cost.
func startsSaved(rows []row) string {
	t := newTable("launch", "GPUs", "how it ended", "said before", "why", "minutes lost>", "GPU-minutes>", "instead")
	var refused, warned, passed int
	var minutes, gpuMinutes float64
	for _, r := range rows {
		if !r.Outcome.Died() {
			continue
		}
		p := r.begin
		lost := r.minutes()
		switch p.Verdict {
		case planner.Reject:
			refused++
			minutes += lost
			gpuMinutes += lost * float64(r.GPUs)
		case planner.OK:
			passed++
		default:
			warned++
		}
		why := "-"
		if f, ok := failing(p); ok {
			why = code(string(f.Code))
		}
		t.row(launchName(r), gpus(r), outcomes[r.Outcome], string(p.Verdict), why, fmt.Sprintf("%.1f", lost), fmt.Sprintf("%.0f", lost*float64(r.GPUs)), instead(p))
	}
	return fmt.Sprintf("## Launches that died\n\n%d launches ran out of memory. %d would have been refused before they started, %d warned about, %d called ok. "+
		"The refusals alone save %.0f minutes of failed starts, %.0f GPU-minutes, and what the failed server was meant to do meanwhile.\n\n%s"+
		"Minutes: of the measured launches the time to the death, or to ready where a request killed them; of the others %.0f s for the start itself. "+
		"To both the reading of the weights at %.0f GB/s is added, which the measured ones (random weights) did without. A start that reads from a network share takes many times that.\n\n",
		refused+warned+passed, refused, warned, passed, minutes, gpuMinutes, t, startSeconds, readRate.GB())
}

// minutes is what a failed start cost.
func (r row) minutes() float64 {
	s := r.Seconds
	if s == 0 {
		s = startSeconds
	}
	w := units.FromGiB(r.Observed.Weights)
	if w == 0 && r.begin.GPU != nil {
		w = r.begin.GPU.WeightsBytes.Value
	}
	return (s + float64(w)*float64(r.GPUs)/float64(readRate)) / 60
}

// instead is what the plan proposes in place of a launch that dies.
func instead(p *planner.Plan) string {
	var out []string
	for _, e := range p.Recommend.Changed {
		if e.Remove {
			out = append(out, "without "+code(e.Flag))
		} else {
			out = append(out, code(e.Flag+" "+e.Value))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// servedOnes says what became of the launches that worked.
func servedOnes(rows []row) string {
	n := map[planner.Verdict]int{}
	total := 0
	for _, r := range rows {
		if r.Outcome == cases.Ready {
			total++
			n[r.begin.Verdict]++
		}
	}
	return fmt.Sprintf("## Launches that served\n\nOf %d launches that served, %d are called ok, %d get a warning, %d are refused.\n", total, n[planner.OK], n[planner.Warn], n[planner.Reject])
}
