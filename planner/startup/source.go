package startup

import (
	"context"
	"io"
	"time"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// logSource is where the log comes from: a file, a stream, or nowhere.
type logSource struct {
	file   *tailer
	stream chan []byte
	eof    bool
	more   bool
	always chan struct{} // closed: there is more to read at once
}

func newLogSource(ctx context.Context, o Options) logSource {
	l := logSource{always: make(chan struct{})}
	close(l.always)
	switch {
	case o.LogReader != nil:
		l.stream = make(chan []byte, 4)
		go pump(ctx, o.LogReader, l.stream)
	case o.Log != "":
		l.file = &tailer{name: o.Log}
	}
	return l
}

// pump reads a stream; it ends with the stream or, at the next line, with the
// watch.
func pump(ctx context.Context, r io.Reader, out chan<- []byte) {
	defer close(out)
	for {
		buf := make([]byte, 64<<10)
		n, err := r.Read(buf)
		if n > 0 {
			select {
			case out <- buf[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *logSource) given() bool { return l.file != nil || l.stream != nil }

// ended reports a stream that its writers have closed.
func (l *logSource) ended() bool { return l.eof }

// ready is a channel that can be received from when there is more to read at
// once; a stream is read at the next poll, so that many small writes cost
// little.
func (l *logSource) ready() <-chan struct{} {
	if l.more {
		return l.always
	}
	return nil
}

// read passes what is new to the parser.
func (l *logSource) read(p *serverlog.Parser) (int64, error) {
	if l.file != nil {
		n, more, err := l.file.read(p)
		l.more = more
		return n, err
	}
	var n int64
	for !l.eof && l.stream != nil && n < maxRead {
		select {
		case b, ok := <-l.stream:
			if !ok {
				l.eof = true
				return n, nil
			}
			_, _ = p.Write(b)
			n += int64(len(b))
			continue
		default:
		}
		break
	}
	l.more = n >= maxRead
	return n, nil
}

func (l *logSource) modified() time.Time {
	if l.file == nil || l.file.modified == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.file.modified)
}

func (l *logSource) close() {
	if l.file != nil {
		l.file.close()
	}
}
