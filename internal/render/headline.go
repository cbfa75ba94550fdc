package render

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
)

// headline is the sentence that a colleague would say first: why not, or how
// much it gives.
func headline(p *planner.Plan) string {
	w := worst(p.Findings)
	switch {
	case p.Verdict == planner.Reject && w != nil:
		return why(p, *w) + others(p.Findings, finding.Error, "reason")
	case p.Verdict == planner.Undecided && w != nil:
		return sentenceOf(w.Summary)
	}
	s := gives(p)
	if p.Verdict == planner.Warn && w != nil && s != "" {
		s += " But " + w.Summary + others(p.Findings, finding.Warning, "warning") + "."
	}
	return s
}

// why says a reason to reject with the number that decides.
func why(p *planner.Plan, f finding.Finding) string {
	h, g := p.Host, p.GPU
	switch f.Code {
	case hostledger.CodePoolsExceed:
		if h != nil && h.TotalBytes > 0 {
			return fmt.Sprintf("Host pools of %s GB are asked where %s GB is left for them.",
				gb(h.TotalBytes), gb(max(h.AvailableBytes-h.LoadBytes-h.ReserveBytes, 0)))
		}
	case planner.CodeNoRoom:
		if g != nil && g.MinimumMemFraction > 0 {
			return fmt.Sprintf("Weights of %s GiB on a card with %s GiB free leave nothing for the KV pool at %s.",
				gib(g.WeightsBytes.Value), gib(g.PreLoadFreeBytes), fraction(g.MemFraction))
		}
	case planner.CodeDiesInCapture, planner.CodeDiesServing:
		if g != nil && g.PoolEndFreeBytes != nil && g.PoolEndFreeBytes.Value > 0 && g.NeedServingBytes != nil && g.NeedStartBytes != nil {
			need := max(g.NeedServingBytes.Value, g.NeedStartBytes.Value)
			return fmt.Sprintf("%s GiB are left after the pools and %s GiB are needed: %s.", gib(g.PoolEndFreeBytes.Value), gib(need), f.Summary)
		}
	}
	if f.Flag != "" {
		return f.Flag + ": " + f.Summary + "."
	}
	return sentenceOf(f.Summary)
}

// others counts further findings of a severity.
func others(fs []finding.Finding, sev finding.Severity, what string) string {
	n := -1
	for _, f := range fs {
		if f.Severity == sev {
			n++
		}
	}
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return fmt.Sprintf(" (and 1 more %s)", what)
	}
	return fmt.Sprintf(" (and %d more %ss)", n, what)
}

// gives says what the launch will have.
func gives(p *planner.Plan) string {
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil {
		return ""
	}
	s := count(p.GPU.MaxTotalNumTokens.Value) + " KV tokens"
	if c := p.GPU.Concurrency; c != nil {
		s += ": " + concurrency(c)
	}
	if h := p.Host; h != nil && h.TotalBytes > 0 {
		s += fmt.Sprintf(", host pools of %s GB in all", gb(h.TotalBytes))
	}
	return s + "."
}

func sentenceOf(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func worst(fs []finding.Finding) *finding.Finding {
	var w *finding.Finding
	for i := range fs {
		if w == nil || fs[i].Severity > w.Severity {
			w = &fs[i]
		}
	}
	return w
}

// concurrency says how many requests of a size fit at once.
func concurrency(c *planner.Concurrency) string {
	switch {
	case c.TooLong:
		return fmt.Sprintf("a request of %s tokens is longer than the context", count(c.TokensPerRequest))
	case c.Requests == 1:
		return fmt.Sprintf("one request of %s tokens at a time", count(c.TokensPerRequest))
	}
	return fmt.Sprintf("%s requests of %s tokens at once", count(c.Requests), count(c.TokensPerRequest))
}
