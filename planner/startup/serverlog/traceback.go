package serverlog

import "bytes"

// traceback is a Python traceback that is being read. Its lines carry no
// envelope, so tracebacks of several ranks may run into each other; only the
// first one's root counts.
type traceback struct {
	open    bool
	fatal   bool // "Scheduler hit an exception"
	chained bool // another exception came of the first; the last one counts
	rank    string
	stamp   string
	phase   Phase
	cause   string
	code    codeMatch
}

func takeException(p *Parser, tags, msg []byte) bool {
	p.trace = traceback{open: true, fatal: true, rank: string(tags), stamp: string(p.stamp), phase: p.Where()}
	return true
}

// takeTraceback is a traceback outside a scheduler: of the main process, which
// may end by it, or of a library, which goes on.
func takeTraceback(p *Parser, tags, msg []byte) bool {
	if !p.trace.open {
		p.trace = traceback{open: true, rank: string(tags), stamp: string(p.stamp), phase: p.Where()}
	}
	return true
}

// Where is the phase in which something goes wrong now: the ranks work in
// step, so it is that of the one that is furthest, whichever prints the line.
func (p *Parser) Where() Phase {
	s := p.start
	s.settlePhase()
	ph := s.Phase
	if s.floor < Sizes {
		for _, r := range s.Ranks {
			ph = max(ph, r.stage())
		}
	}
	return ph
}

// traceLine takes a line while a traceback is open; false means that the line
// is not part of it.
func (p *Parser) traceLine(b []byte) bool {
	t := &p.trace
	msg := bytes.TrimLeft(b, " ")
	switch {
	case len(msg) == 0:
		return true
	case bytes.HasPrefix(msg, []byte("During handling of the above exception")), bytes.HasPrefix(msg, []byte("The above exception was the direct cause")):
		t.chained = true
		return true
	case bytes.HasPrefix(msg, []byte("Traceback (most recent call last)")):
		return true
	case dead(msg):
		return false
	}
	starts(b, func(m []byte) bool {
		if !isException(m) {
			return false
		}
		if t.cause == "" || t.chained {
			t.cause, t.chained = text(m, 400), false
			t.code = t.code.better(classify(m, t.phase))
		}
		return true
	})
	return true
}

// isException recognises the last line of a traceback: a class name that says
// what it is, alone or before a colon.
func isException(b []byte) bool {
	n := 0
	for n < len(b) && n < 120 && ofName(b[n]) {
		n++
	}
	if n == 0 || n < len(b) && b[n] != ':' {
		return false
	}
	name := b[:n]
	for _, end := range [][]byte{[]byte("Error"), []byte("Exception"), []byte("Interrupt"), []byte("Exit"), []byte("Warning"), []byte("Timeout")} {
		if bytes.HasSuffix(name, end) {
			return !bytes.HasSuffix(name, []byte("Warning"))
		}
	}
	return false
}

// endTraceback judges what was read of a traceback.
func (p *Parser) endTraceback() {
	t := p.trace
	if !t.open {
		return
	}
	p.trace = traceback{}
	f := Failure{Code: t.code.code, Phase: t.phase, Rank: t.rank, Cause: t.cause, Stamp: t.stamp}
	if f.Cause == "" {
		f.Cause = "Scheduler hit an exception (the log does not say which)"
	}
	if f.Code == "" {
		f.Code = CodeException
	}
	switch {
	case t.fatal:
		p.fail(f)
	case t.cause != "" && p.start.Failure == nil:
		p.start.Suspect = &f
	}
}

// fail records the reason of the end; the first one is the root.
func (p *Parser) fail(f Failure) {
	s := p.start
	if s.Failure != nil || s.Stopped {
		return
	}
	s.Failure, s.Suspect = &f, nil
	s.settlePhase()
	if p.emit == nil {
		return
	}
	p.emit(Event{Kind: Failed, Phase: f.Phase, Rank: f.Rank, Stamp: f.Stamp, Message: f.Cause})
}

// ofName accepts the bytes of a dotted Python name.
func ofName(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
