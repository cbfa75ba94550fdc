package serverlog

import "bytes"

// tail keeps the last lines that a person would want to see: no traffic, no
// bars. Its buffers are used again.
type tail struct {
	lines [tailLines][]byte
	next  int
}

const (
	tailLines = 16
	tailWidth = 400
)

func (t *tail) add(line []byte) {
	if len(bytes.Trim(line, " ^~")) == 0 {
		return // the marks under a line of a traceback
	}
	i := t.next % tailLines
	t.lines[i] = append(t.lines[i][:0], line[:min(len(line), tailWidth)]...)
	t.next++
}

// Tail returns the last lines of the log that are worth showing, the oldest
// first.
func (p *Parser) Tail() []string {
	var out []string
	for i := max(p.tail.next-tailLines, 0); i < p.tail.next; i++ {
		out = append(out, text(p.tail.lines[i%tailLines], tailWidth))
	}
	return out
}
