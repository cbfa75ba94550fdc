package source

import (
	"fmt"
	"io/fs"
	"os"
)

// maxEntries bounds how many names of a folder are read; checkpoints have a
// few hundred.
const maxEntries = 1 << 16

// dir is a folder whose files are opened only when they are regular: a pipe or
// a device in a checkpoint would block for ever.
type dir struct{ fs.FS }

func dirFS(name string) fs.FS { return dir{os.DirFS(name)} }

// Open implements fs.FS.
func (d dir) Open(name string) (fs.File, error) {
	st, err := fs.Stat(d.FS, name)
	if err != nil {
		return nil, err
	}
	if m := st.Mode(); !m.IsRegular() && !m.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%s is no regular file", m.Type())}
	}
	return d.FS.Open(name)
}

// Stat implements fs.StatFS; it follows links.
func (d dir) Stat(name string) (fs.FileInfo, error) { return fs.Stat(d.FS, name) }

// ReadDir implements fs.ReadDirFS within a bound.
func (d dir) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	entries, err := l.ReadDir(maxEntries)
	if len(entries) > 0 {
		err = nil // what is beyond the bound is no checkpoint's
	}
	return entries, err
}
