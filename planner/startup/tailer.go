package startup

import (
	"errors"
	"io"
	"os"
)

// tailer reads a growing log file, through truncation and rotation. A file
// that is not there yet is waited for.
type tailer struct {
	name string
	f    *os.File
	at   int64
	buf  []byte
	// modified is when the file was last written, as of the last read.
	modified int64
}

const readSize = 256 << 10

// maxRead bounds one call of read, so that a huge log is caught up with in
// several steps and the rest of the watch goes on meanwhile.
const maxRead = 256 << 20

// read passes what is new to w and reports how much that was; more is true
// when there is more to read at once.
func (t *tailer) read(w io.Writer) (n int64, more bool, err error) {
	if t.buf == nil {
		t.buf = make([]byte, readSize)
	}
	for n < maxRead {
		if t.f == nil {
			f, err := os.Open(t.name)
			if errors.Is(err, os.ErrNotExist) {
				return n, false, nil
			}
			if err != nil {
				return n, false, err
			}
			t.f, t.at = f, 0
		}
		m, err := t.f.Read(t.buf)
		_, _ = w.Write(t.buf[:m])
		n, t.at = n+int64(m), t.at+int64(m)
		if m > 0 {
			continue
		}
		if err != nil && err != io.EOF {
			return n, false, err
		}
		if again, err := t.turned(); !again || err != nil {
			return n, false, err
		}
	}
	return n, true, nil
}

// turned looks at the end of the file whether it was cut short (a new launch
// with ">", logrotate's copytruncate) or replaced, and goes to the new
// beginning. What was read stays valid: a new launch says so by its own
// arguments line.
func (t *tailer) turned() (bool, error) {
	have, err := t.f.Stat()
	if err != nil {
		return false, err
	}
	t.modified = have.ModTime().UnixNano()
	if have.Mode().IsRegular() && have.Size() < t.at {
		t.at = 0
		_, err := t.f.Seek(0, io.SeekStart)
		return err == nil, err
	}
	named, err := os.Stat(t.name)
	if err != nil || os.SameFile(have, named) {
		return false, nil // not there for a moment, or still the same
	}
	t.close()
	return true, nil
}

func (t *tailer) close() {
	if t.f != nil {
		_ = t.f.Close() // only read
		t.f = nil
	}
}
