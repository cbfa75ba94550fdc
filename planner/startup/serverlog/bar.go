package serverlog

import (
	"bytes"
	"strings"
)

// barLine is a tqdm progress bar as it was found, of loading ("... shards:
// 97% Completed | 62/64 [00:35<00:01,  1.81it/s]") or of capture ("Capturing
// batches (bs=2 avail_mem=10.55 GB):  97%|####| 35/36 [00:11<00:00,
// 3.03it/s]"). Logs hold hundreds of them for a start, so its times are read
// only when somebody asks.
type barLine struct {
	label       []byte // "Capturing batches", nil for a bar without one
	done, total int64
	times       []byte // "00:35<00:01,  1.81it/s"
	head        []byte // everything before the percentage
}

// readBar recognises a bar; its parts point into line.
func readBar(line []byte) (b barLine, ok bool) {
	pct := bytes.IndexByte(line, '%')
	if pct < 1 || line[pct-1] < '0' || line[pct-1] > '9' {
		return b, false
	}
	rest := line[pct:]
	var open, end int
	if n := len(rest); rest[n-1] == ']' {
		end, open = n-1, bytes.LastIndexByte(rest[:n-1], '[')
	} else { // another process wrote behind it on the same line
		less := bytes.IndexByte(rest, '<')
		if less < 0 {
			return b, false
		}
		open = bytes.LastIndexByte(rest[:less], '[')
		if end = bytes.IndexByte(rest[less:], ']'); end < 0 {
			return b, false
		}
		end += less
	}
	if open < 0 || end-open > 80 {
		return b, false
	}
	b.times = rest[open+1 : end]
	if bytes.IndexByte(b.times, '<') < 0 {
		return b, false
	}
	if b.done, b.total, ok = counts(bytes.TrimRight(rest[:open], " ")); !ok {
		return b, false
	}
	b.head = line[:pct]
	b.label = label(b.head)
	return b, true
}

// counts reads "62/64" at the end of b.
func counts(b []byte) (done, total int64, ok bool) {
	i, total := lastNumber(b)
	if i == len(b) || i < 1 || b[i-1] != '/' {
		return 0, 0, false
	}
	b = b[:i-1]
	i, done = lastNumber(b)
	return done, total, i < len(b) && total > 0
}

// lastNumber reads the digits at the end of b and returns where they begin.
func lastNumber(b []byte) (at int, n int64) {
	at = len(b)
	for scale := int64(1); at > 0 && len(b)-at < 12 && b[at-1] >= '0' && b[at-1] <= '9'; at, scale = at-1, scale*10 {
		n += int64(b[at-1]-'0') * scale
	}
	return at, n
}

// label is what stands before the percentage, without what changes with every
// step.
func label(b []byte) []byte {
	for _, known := range barLabels {
		i := 0
		if !bytes.HasPrefix(b, known) {
			if i = bytes.Index(b, known); i < 0 {
				continue
			}
		}
		b = b[i:]
		if j := bytes.IndexByte(b, '('); j > 0 {
			b = b[:j]
		}
		for len(b) > 0 && b[len(b)-1] <= ':' { // digits, blanks, a colon
			b = b[:len(b)-1]
		}
		return b
	}
	return nil
}

// barLabels are the beginnings of the bars' labels; anything before them is
// another logger's prefix.
var barLabels = [][]byte{[]byte("Capturing "), []byte("Loading "), []byte("Multi-thread loading "), []byte("Compiling ")}

// phase is the phase a bar belongs to; a bar without a label belongs to the
// one that runs.
func (b barLine) phase() (Phase, bool) {
	switch {
	case len(b.label) == 0:
		return 0, false
	case b.label[0] == 'C':
		return Graphs, true
	}
	return Weights, true
}

// progress reads the bar's times too.
func (b barLine) progress() *Progress {
	p := &Progress{Label: text(b.label, 60), Done: b.done, Total: b.total, Remaining: -1}
	elapsed, rest, _ := strings.Cut(string(b.times), "<")
	p.Elapsed = max(clock(elapsed), 0)
	remaining, rate, _ := strings.Cut(rest, ",")
	p.Remaining = clock(strings.TrimSpace(remaining))
	p.Rate = text([]byte(rate), 24)
	return p
}
