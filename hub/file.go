package hub

import (
	"io"
	"io/fs"
)

// The sizes of the pieces in which a file is fetched: small ones first, since
// most files are read no further, then larger ones.
const (
	firstPiece = 128 << 10
	lastPiece  = 4 << 20
)

// file is a remote file; it implements fs.File and io.ReaderAt. It is used by
// one goroutine at a time.
type file struct {
	repo *repo
	entry
	at   int64  // where the next Read begins
	held []byte // the piece fetched last
	from int64  // its place in the file
	next int64  // size of the next piece
}

// Stat implements fs.File.
func (f *file) Stat() (fs.FileInfo, error) {
	if f.size < 0 {
		if err := f.fetch(0); err != nil {
			return nil, err
		}
	}
	return f.entry, nil
}

// Close implements fs.File.
func (f *file) Close() error { return nil }

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.some(p, f.at)
	f.at += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		k, err := f.some(p[n:], off+int64(n))
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// some copies what is held from off on, after fetching it where needed.
func (f *file) some(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
	}
	if f.held == nil || off < f.from || off >= f.from+int64(len(f.held)) {
		if f.size >= 0 && off >= f.size {
			return 0, io.EOF
		}
		if err := f.fetch(off); err != nil {
			return 0, err
		}
		if len(f.held) == 0 {
			return 0, io.EOF
		}
	}
	return copy(p, f.held[off-f.from:]), nil
}

// fetch brings the next piece from off on.
func (f *file) fetch(off int64) error {
	f.next = min(max(2*f.next, firstPiece), lastPiece)
	c := f.repo.client
	p, err := c.get(f.repo.ctx, c.endpoint.JoinPath(f.repo.id, "resolve", f.repo.commit, f.name), off, f.next)
	if err != nil {
		return f.repo.fail(f.name, err)
	}
	f.held, f.from = p.data, off
	if f.size < 0 {
		f.size = max(p.total, -1)
	}
	return nil
}
