package serverlog

import (
	"bytes"
	"io"

	"github.com/sglplan/sglplan/planner/units"
)

// Parser reads a log as it is written to it. It is not safe for use by several
// goroutines.
type Parser struct {
	split   splitter
	emit    func(Event)
	start   *Start
	trace   traceback
	tail    tail
	was     Phase   // last phase told
	stamp   []byte  // of the line at hand
	last    []byte  // of the last line that had one
	bar     barLine // the last bar, its parts kept in barText
	barText []byte
	unread  bool // bar is newer than Start.Progress
}

// New returns a parser that calls emit (which may be nil) for every line that
// changes something.
func New(emit func(Event)) *Parser {
	return &Parser{emit: emit, start: &Start{}}
}

// Write takes the next piece of the log; it never fails.
func (p *Parser) Write(b []byte) (int, error) {
	p.split.write(b, p.line)
	return len(b), nil
}

// Start returns what the log has said so far. It changes with every Write.
func (p *Parser) Start() *Start {
	if string(p.last) != p.start.Last {
		p.start.Last = string(p.last)
	}
	if p.unread {
		p.start.Progress, p.unread = p.bar.progress(), false
	}
	return p.start
}

// Settle says that nothing more is being written just now: the bar on the last
// line counts as it stands, and a traceback that has named its exception has
// ended.
func (p *Parser) Settle() {
	if len(p.split.open) > 0 {
		if b, ok := readBar(p.split.open); ok {
			p.progress(b)
		}
	}
	if p.trace.cause != "" {
		p.endTraceback()
	}
}

// End says that no more lines will come for a while: any open traceback has
// ended.
func (p *Parser) End() {
	p.Settle()
	p.endTraceback()
}

// Close says that the log is complete. An exception after which nothing else
// came is then what ended the start.
func (p *Parser) Close() {
	p.split.end(p.line)
	p.endTraceback()
	if s := p.start; s.Failure == nil && s.Suspect != nil && !s.Ready && !s.Stopped {
		p.fail(*s.Suspect)
	}
}

// Restart forgets what was read: it belongs to an earlier start.
func (p *Parser) Restart() {
	p.begin(&Start{})
}

// begin takes a new start in hand.
func (p *Parser) begin(s *Start) {
	p.start, p.was, p.trace = s, Starting, traceback{}
	p.bar, p.unread = barLine{}, false
}

// ReadFrom takes a log up to its end.
func (p *Parser) ReadFrom(r io.Reader) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		m, err := r.Read(buf)
		p.split.write(buf[:m], p.line)
		n += int64(m)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Read reads a whole log.
func Read(r io.Reader) (*Start, error) {
	p := New(nil)
	_, err := p.ReadFrom(r)
	p.Close()
	return p.Start(), err
}

// line takes one line. Most lines of a long log are the traffic of a serving
// server; they leave at the first comparison.
func (p *Parser) line(b []byte) {
	b = bytes.TrimRight(b, " ")
	if len(b) == 0 {
		return
	}
	e, ok := open(b)
	if !ok {
		p.bare(b)
		return
	}
	if p.trace.open {
		p.endTraceback()
	}
	if traffic(e.message) {
		return
	}
	p.tail.add(b)
	p.stamp = append(p.stamp[:0], e.stamp...)
	p.last = append(p.last[:0], e.stamp...)
	if p.start.First == "" {
		p.start.First = string(p.stamp)
	}
	if len(e.before) > 0 && !p.start.Ready {
		if bar, ok := readBar(e.before); ok {
			p.progress(bar)
		}
	}
	if len(e.message) > 0 {
		p.message(e.tags, e.message)
	}
}

// traffic recognises the lines of a server at work.
func traffic(msg []byte) bool {
	switch {
	case len(msg) < 20:
		return false
	case msg[0] == 'D':
		return bytes.HasPrefix(msg, []byte("Decode batch"))
	case msg[0] == 'P':
		return bytes.HasPrefix(msg, []byte("Prefill batch"))
	case msg[0] == 'I' && bytes.HasPrefix(msg, []byte("INFO:     ")) && msg[10] >= '0' && msg[10] <= '9':
		return !warmup(msg)
	}
	return false
}

// warmup recognises the access line of the server's own first request.
func warmup(msg []byte) bool {
	return bytes.Contains(msg, []byte(`"GET /get_model_info`)) || bytes.Contains(msg, []byte(`"GET /model_info`))
}

// message takes what a process logged.
func (p *Parser) message(tags, msg []byte) {
	if p.mark(tags, msg) {
		return
	}
	if c := msg[0]; c == 'I' || c == 'W' || c == 'E' {
		// "INFO server_args.py:1217: ...": a level and a place in front.
		if starts(msg, func(m []byte) bool { return p.mark(tags, m) }) {
			return
		}
	}
	p.unmarked(tags, msg)
}

// bare takes a line without SGLang's envelope: bars, tracebacks, the web
// server's lines, and everything where another logger is in charge.
func (p *Parser) bare(b []byte) {
	if traffic(b) {
		return
	}
	if bar, ok := readBar(b); ok {
		if !p.start.Ready {
			p.progress(bar)
		}
		return
	}
	p.tail.add(b)
	p.stamp = p.stamp[:0]
	if p.trace.open && p.traceLine(b) {
		return
	}
	if starts(b, func(m []byte) bool { return traffic(m) || p.mark(nil, m) }) {
		return
	}
	p.unmarked(nil, b)
}

// mark tries the markers that begin like msg.
func (p *Parser) mark(tags, msg []byte) bool {
	if len(msg) < 4 || !firsts[msg[0]] {
		return false
	}
	for _, m := range marks[key(msg)] {
		if len(msg) >= len(m.prefix) && string(msg[:len(m.prefix)]) == m.prefix && m.take(p, tags, msg) {
			return true
		}
	}
	return false
}

// key is the first four bytes of a message.
func key(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// say tells the listener about a line.
func (p *Parser) say(kind Kind, tags, msg []byte) {
	p.start.settlePhase()
	if p.start.Phase != p.was {
		p.was = p.start.Phase
		p.start.Progress, p.bar, p.unread = nil, barLine{}, false
		if kind == Reported || kind == Advanced {
			kind = PhaseBegun
		}
	}
	if p.emit != nil {
		p.emit(Event{Kind: kind, Phase: p.start.Phase, Rank: string(tags), Stamp: string(p.stamp), Message: text(msg, 300)})
	}
}

// progress takes a bar.
func (p *Parser) progress(b barLine) {
	s := p.start
	ph, ok := b.phase()
	if !ok {
		ph = s.Phase
	}
	if ph != Weights && ph != Graphs {
		return
	}
	if s.Phase <= Distributed {
		s.floor = max(s.floor, ph) // the log was cut at its beginning
	}
	captureFree(s, b.head)
	if p.bar.total == b.total && p.bar.done == b.done && bytes.Equal(p.bar.label, b.label) {
		return
	}
	s.settlePhase()
	if p.was != s.Phase {
		p.was = s.Phase
		if p.emit != nil {
			p.emit(Event{Kind: PhaseBegun, Phase: s.Phase})
		}
	}
	p.keepBar(b)
	if p.emit != nil {
		p.emit(Event{Kind: Advanced, Phase: s.Phase, Message: p.Start().Progress.Label})
	}
}

// keepBar copies a bar out of its line.
func (p *Parser) keepBar(b barLine) {
	p.barText = append(append(p.barText[:0], b.label...), b.times...)
	n := len(b.label)
	p.bar = barLine{label: p.barText[:n], times: p.barText[n:], done: b.done, total: b.total}
	p.unread = true
}

// captureFree keeps the least free memory that a bar of capture showed. Bars
// come from one rank, without its name.
func captureFree(s *Start, head []byte) {
	i := bytes.LastIndexByte(head, '=')
	if i < 0 || !bytes.HasSuffix(head[:i], []byte("avail_mem")) {
		return
	}
	v, ok := number(head[i+1:])
	if !ok || v < 0 || v > 1<<30 {
		return
	}
	free := units.FromGiB(v)
	for _, r := range s.Ranks {
		if n := len(r.Graphs); n > 0 && !r.Graphs[n-1].Ended {
			if g := &r.Graphs[n-1]; g.LowestFree == nil || free < *g.LowestFree {
				g.LowestFree = &free
			}
			return
		}
	}
}
