package serverlog

import (
	"bytes"
	"strconv"
	"strings"
)

// bar reads a tqdm progress bar, of loading ("... shards:  97% Completed |
// 62/64 [00:35<00:01,  1.81it/s]") or of capture ("Capturing batches (bs=2
// avail_mem=10.55 GB):  97%|####| 35/36 [00:11<00:00,  3.03it/s]").
func bar(line []byte) (Progress, bool) {
	p := Progress{Remaining: -1}
	pct := bytes.Index(line, []byte("%"))
	if pct < 1 {
		return p, false
	}
	// "n/total [elapsed<remaining, rate]": the bracket nearest to a "<".
	less := bytes.IndexByte(line[pct:], '<')
	if less < 0 {
		return p, false
	}
	less += pct
	open := bytes.LastIndexByte(line[pct:less], '[')
	if open < 0 {
		return p, false
	}
	open += pct
	counts := strings.TrimRight(string(line[max(pct, open-48):open]), " ")
	if i := strings.LastIndexAny(counts, " |"); i >= 0 {
		counts = counts[i+1:]
	}
	done, total, ok := strings.Cut(counts, "/")
	if !ok {
		return p, false
	}
	var err1, err2 error
	p.Done, err1 = strconv.ParseInt(done, 10, 64)
	p.Total, err2 = strconv.ParseInt(total, 10, 64)
	if err1 != nil || err2 != nil || p.Done < 0 || p.Total <= 0 {
		return p, false
	}
	p.Elapsed = max(clock(string(line[open+1:less])), 0)
	tail := line[less+1 : min(len(line), less+80)]
	remaining, rate, ok := strings.Cut(string(tail), ",")
	if !ok {
		return p, false
	}
	p.Remaining = clock(strings.TrimSpace(remaining))
	rate, _, ok = strings.Cut(rate, "]")
	if !ok {
		return p, false
	}
	p.Rate = text([]byte(rate), 24)
	p.Label = label(line[:pct])
	return p, true
}

// label is what stands before the percentage: "Capturing batches", without
// what changes with every step.
func label(b []byte) string {
	b = bytes.TrimRight(b, "0123456789 ")
	b = bytes.TrimRight(b, ":")
	if i := bytes.IndexByte(b, '('); i > 0 {
		b = b[:i]
	}
	for _, known := range barLabels {
		if i := bytes.Index(b, []byte(known)); i >= 0 {
			return text(b[i:], 60)
		}
	}
	return ""
}

// barLabels are the beginnings of the bars' labels; anything before them is
// another logger's prefix.
var barLabels = []string{"Loading ", "Multi-thread loading ", "Capturing ", "Compiling "}

// barPhase is the phase a bar belongs to; a bar without a label belongs to the
// one that runs.
func barPhase(label string) (Phase, bool) {
	switch {
	case strings.HasPrefix(label, "Capturing"), strings.HasPrefix(label, "Compiling"):
		return Graphs, true
	case label != "":
		return Weights, true
	}
	return 0, false
}
