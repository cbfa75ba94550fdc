// Package render turns plans into what people and programs read: text for a
// terminal, one HTML page, JUnit XML and annotations for CI. A plan is data;
// nothing here decides anything.
package render

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// Text writes a plan for people: the verdict, the number that matters, a bar
// for a GPU and one for the host, the findings and the command to run.
func Text(w io.Writer, p *planner.Plan, o Options) error {
	var b strings.Builder
	o.head(&b, p)
	o.gpu(&b, p)
	o.host(&b, p)
	o.findings(&b, p)
	o.command(&b, p)
	_, err := io.WriteString(w, b.String())
	return err
}

var verdictStyle = map[planner.Verdict]style{
	planner.OK: green, planner.Warn: yellow, planner.Reject: red, planner.Undecided: purple,
}

// head is the verdict, what was judged, and the one sentence to remember.
func (o Options) head(b *strings.Builder, p *planner.Plan) {
	if s := p.Source; s != nil && s.File != "" {
		at := s.File
		if s.Line > 0 {
			at += fmt.Sprintf(":%d", s.Line)
		}
		if s.Container != "" {
			at += " (" + s.Container + ")"
		}
		b.WriteString(o.paint(dim, at) + "\n")
	}
	subject := path.Base(p.Launch.ModelPath)
	if p.GPU != nil && p.GPU.Name != "" {
		subject += fmt.Sprintf(" on %d x %s", p.GPU.Count, strings.TrimPrefix(p.GPU.Name, "NVIDIA "))
	}
	subject += ", SGLang " + p.Launch.SGLangVersion
	verdict := o.paint(verdictStyle[p.Verdict], o.paint(bold, strings.ToUpper(string(p.Verdict))))
	fmt.Fprintf(b, "%s  %s\n", verdict, subject)
	if line := headline(p); line != "" {
		b.WriteString(wrap(line, "", o.width()))
	}
}

// headline is the sentence that a colleague would say first.
func headline(p *planner.Plan) string {
	if f := worst(p.Findings); f != nil && f.Severity == finding.Error {
		return f.Summary + "."
	}
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil {
		return ""
	}
	s := count(p.GPU.MaxTotalNumTokens.Value) + " KV tokens"
	if c := p.GPU.Concurrency; c != nil {
		s += fmt.Sprintf(": %s requests of %s tokens at once", count(c.Requests), count(c.TokensPerRequest))
	}
	if h := p.Host; h != nil && h.TotalBytes > 0 {
		s += fmt.Sprintf("; host pools of %s GB in all, %s GB available", gb(h.TotalBytes), gb(h.AvailableBytes))
	}
	return s + "."
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

// gpuSegments maps ledger entries to their places in the bar.
var gpuSegments = map[string]segment{
	"weights":     {"weights", 0, blue, '█', '#'},
	"draft":       {"draft", 0, purple, '█', 'D'},
	"kv_pool":     {"KV", 0, cyan, '█', 'K'},
	"buffers":     {"buffers", 0, purple, '▒', 'b'},
	"cuda_graphs": {"graphs", 0, yellow, '▓', 'g'},
	"activations": {"activations", 0, yellow, '░', 'a'},
	"headroom":    {"free", 0, dim, '·', '.'},
}

func (o Options) gpu(b *strings.Builder, p *planner.Plan) {
	g := p.GPU
	if g == nil || g.PreLoadFreeBytes <= 0 {
		return
	}
	var segs []segment
	for _, e := range g.Ledger {
		s, ok := gpuSegments[e.Name]
		if !ok {
			continue
		}
		s.bytes = e.Bytes
		segs = append(segs, s)
	}
	b.WriteString("\n" + o.labelled("GPU", segs, g.PreLoadFreeBytes, g.PreLoadFreeBytes, gib, "GiB", "free on each before the load"))
	t := g.MaxTotalNumTokens
	if t == nil {
		return
	}
	rows := [][2]string{{"tokens", band(*t, count) + fmt.Sprintf(" at mem-fraction-static %s, %s B each", fraction(g.MemFraction), bytesPerToken(g.KVBytesPerToken))}}
	if pe, st, sv := g.PoolEndFreeBytes, g.NeedStartBytes, g.NeedServingBytes; pe != nil && st != nil && sv != nil {
		rows = append(rows, [2]string{"left over", fmt.Sprintf("%s GiB after the pools; start takes %s, serving %s", gib(pe.Value), band(*st, gib), band(*sv, gib))})
	}
	if g.TokensPerWeightsPct > 0 {
		rows = append(rows, [2]string{"sensitivity", fmt.Sprintf("1 %% of weights = %.1f %% of tokens at this fraction", g.TokensPerWeightsPct)})
	}
	o.rows(b, rows)
}

func bytesPerToken(c float64) string {
	if c == float64(int64(c)) {
		return count(int64(c))
	}
	return fmt.Sprintf("%.1f", c)
}

func fraction(f float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.4f", f), "0"), ".")
}

// band prints a value with its band where there is one.
func band[T ~int64](f figure.Of[T], print func(T) string) string {
	if f.Low == f.High {
		return print(f.Value)
	}
	return fmt.Sprintf("%s (%s..%s)", print(f.Value), print(f.Low), print(f.High))
}

func (o Options) rows(b *strings.Builder, rows [][2]string) {
	for _, r := range rows {
		text := wrap(r[1], "               ", o.width())
		fmt.Fprintf(b, "  %-12s %s", r[0], strings.TrimLeft(text, " "))
	}
}

// labelled is a bar with its label in front and its legend below.
func (o Options) labelled(label string, segs []segment, scale, room units.Bytes, print func(units.Bytes) string, unit, what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-5s%s %s %s\n", label, print(room), unit, what)
	fmt.Fprintf(&b, "  %s\n", o.bar(segs, scale, min(o.width(), 100)-4))
	var legend []string
	for _, s := range segs {
		if s.bytes == 0 {
			continue
		}
		r := s.fill
		if o.ASCII {
			r = s.plain
		}
		legend = append(legend, o.paint(s.style, string(r))+" "+s.name+" "+print(s.bytes))
	}
	b.WriteString("  " + strings.Join(legend, "  ") + " " + unit + "\n")
	return b.String()
}

func (o Options) host(b *strings.Builder, p *planner.Plan) {
	h := p.Host
	if h == nil || h.AvailableBytes <= 0 {
		return
	}
	segs := []segment{
		{"pools", h.TotalBytes, cyan, '█', 'P'},
		{"processes", h.LoadBytes, blue, '▓', 'p'},
		{"reserve", h.ReserveBytes, yellow, '░', 'r'},
	}
	sum := h.TotalBytes + h.LoadBytes + h.ReserveBytes
	segs = append(segs, segment{"free", max(h.AvailableBytes-sum, 0), dim, '·', '.'})
	b.WriteString("\n" + o.labelled("Host", segs, h.AvailableBytes, h.AvailableBytes, gb, "GB", hostLimit(h)))
	var rows [][2]string
	if h.TotalBytes > 0 {
		rows = append(rows, [2]string{"pools", fmt.Sprintf("%s GB x %d ranks = %s GB pinned", gb(h.PerRankBytes), h.Ranks, gb(h.TotalBytes))})
	}
	if g := h.Guard; g != nil && g.Verdict != "" && h.TotalBytes > 0 {
		rows = append(rows, [2]string{"SGLang's own", "guard of this release: " + guardText(g)})
	}
	o.rows(b, rows)
}

func hostLimit(h *hostledger.Ledger) string {
	switch string(h.Limit) {
	case "cgroup":
		return "available inside this container's limit"
	case "option":
		return "available, as given"
	case "file":
		return "available by the limit in the file"
	}
	return "available"
}

func guardText(g *hicache.Guard) string {
	switch g.Verdict {
	case "pass":
		return "passes (each rank looks at the whole host alone)"
	case "refuse":
		return "refuses"
	}
	s := "depends on the order in which ranks arrive"
	if g.SureHicacheSize != nil {
		s += fmt.Sprintf("; %d passes for certain", *g.SureHicacheSize)
	}
	return s
}

var severityStyle = map[finding.Severity]style{finding.Error: red, finding.Warning: yellow, finding.Info: blue}

func (o Options) findings(b *strings.Builder, p *planner.Plan) {
	if len(p.Findings) == 0 {
		return
	}
	b.WriteByte('\n')
	for sev := finding.Error; sev > finding.Info; sev-- {
		for _, f := range p.Findings {
			if f.Severity == sev {
				o.finding(b, f)
			}
		}
	}
	o.notes(b, p.Findings)
}

// notes are the findings that only tell: one short paragraph each.
func (o Options) notes(b *strings.Builder, fs []finding.Finding) {
	for _, f := range fs {
		if f.Severity != finding.Info {
			continue
		}
		text := f.Detail
		if text == "" {
			text = f.Summary
		}
		lines := strings.Split(strings.TrimRight(wrap("note: "+text, "  ", o.width()), "\n"), "\n")
		lines[0] = lines[0][2:]
		for _, l := range lines {
			b.WriteString(o.paint(dim, l) + "\n")
		}
	}
}

func (o Options) finding(b *strings.Builder, f finding.Finding) {
	head := o.paint(severityStyle[f.Severity], f.Severity.String()) + " " + o.paint(bold, string(f.Code))
	if f.Flag != "" {
		head += "  " + f.Flag
	}
	if at := place(f.Position); at != "" {
		head += o.paint(dim, " ("+at+")")
	}
	if f.Ignored {
		head += o.paint(dim, " ignored as asked")
	}
	b.WriteString(head + "\n")
	text := f.Detail
	if text == "" {
		text = f.Summary
	}
	b.WriteString(wrap(text, "  ", o.width()))
	for _, fx := range f.Fixes {
		b.WriteString(wrap(o.paint(green, "fix:")+" "+fx.Title, "  ", o.width()+len(o.paint(green, ""))))
	}
}

func place(p *finding.Position) string {
	if p == nil {
		return ""
	}
	var parts []string
	if p.File != "" {
		at := p.File
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		parts = append(parts, at)
	}
	if p.Container != "" {
		parts = append(parts, p.Container)
	}
	if p.Word > 0 && p.File == "" {
		parts = append(parts, fmt.Sprintf("word %d", p.Word))
	}
	return strings.Join(parts, ", ")
}

// command is what to run instead when the launch is not safe as it stands; a
// safe one is told what it leaves on the table.
func (o Options) command(b *strings.Builder, p *planner.Plan) {
	r := p.Recommend
	if r == nil || len(r.Argv) == 0 {
		return
	}
	if p.Verdict == planner.OK && !p.Recommended {
		o.unused(b, p)
		return
	}
	if len(r.Changed) == 0 && !p.Recommended {
		return
	}
	b.WriteString("\nRun instead:\n")
	b.WriteString(Command(r.Argv, "  ", o.width()))
	if line := wins(r); line != "" {
		b.WriteString(wrap(line, "", o.width()))
	}
}

// wins says what the recommended fraction gives over the release's default.
func wins(r *planner.Recommendation) string {
	if r.MemFractionStatic == nil || r.MaxTotalNumTokens == nil || r.DefaultTokens == nil {
		return ""
	}
	s := fmt.Sprintf("At %s: %s tokens", fraction(*r.MemFractionStatic), band(*r.MaxTotalNumTokens, count))
	if d := *r.DefaultTokens; d > 0 {
		s += fmt.Sprintf(", %+.0f %% against SGLang's own default (%s)", (float64(r.MaxTotalNumTokens.Value)/float64(d)-1)*100, count(d))
	} else {
		s += "; SGLang's own default leaves no room for a pool"
	}
	if r.LivesThroughGate != nil {
		s += fmt.Sprintf(". %s would live too, but only because this release leaves out its prefill graphs there", fraction(*r.LivesThroughGate))
	}
	return s + "."
}

// unused says what a larger fraction would win.
func (o Options) unused(b *strings.Builder, p *planner.Plan) {
	r := p.Recommend
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil || r.MaxTotalNumTokens == nil {
		return
	}
	have, best := p.GPU.MaxTotalNumTokens.Value, r.MaxTotalNumTokens.Value
	if have <= 0 || float64(best) < 1.02*float64(have) {
		return
	}
	fmt.Fprintf(b, "\nRoom for more: --mem-fraction-static %s gives %s tokens, %.0f %% more.\n",
		fraction(*r.MemFractionStatic), count(best), (float64(best)/float64(have)-1)*100)
}

// Findings writes findings alone, the worst first.
func Findings(w io.Writer, fs []finding.Finding, o Options) error {
	var b strings.Builder
	o.findings(&b, &planner.Plan{Findings: fs})
	_, err := io.WriteString(w, b.String())
	return err
}
