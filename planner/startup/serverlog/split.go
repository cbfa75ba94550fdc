package serverlog

import "bytes"

// maxLine bounds a line. The longest real one, the arguments of a newest
// release, has about 20 kB.
const maxLine = 256 << 10

// splitter cuts a stream into lines at LF and CR, since progress bars return
// to the start of the line instead of ending it. What a line has beyond
// maxLine is dropped.
type splitter struct {
	open []byte // a line that has not ended yet
	cut  bool   // open is full
}

// write calls line for every line that ends in b.
func (s *splitter) write(b []byte, line func([]byte)) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.pieces(b, line)
			return
		}
		chunk := b[:i]
		b = b[i+1:]
		if len(s.open) == 0 && !s.cut && bytes.IndexByte(chunk, '\r') < 0 {
			line(bound(chunk))
			continue
		}
		s.pieces(chunk, line)
		s.end(line)
	}
}

// pieces takes text without LF; all but its last piece end at a CR.
func (s *splitter) pieces(b []byte, line func([]byte)) {
	for {
		i := bytes.IndexByte(b, '\r')
		if i < 0 {
			s.keep(b)
			return
		}
		s.keep(b[:i])
		s.end(line)
		b = b[i+1:]
	}
}

func (s *splitter) keep(b []byte) {
	room := maxLine - len(s.open)
	if len(b) > room {
		b, s.cut = b[:room], true
	}
	s.open = append(s.open, b...)
}

// end ends the open line.
func (s *splitter) end(line func([]byte)) {
	if len(s.open) > 0 {
		line(s.open)
	}
	s.open, s.cut = s.open[:0], false
}

func bound(b []byte) []byte { return b[:min(len(b), maxLine)] }
