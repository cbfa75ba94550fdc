package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// maxListing bounds the answer that lists a repository's files.
const maxListing = 16 << 20

// repo is one commit of a model repository; it implements fs.FS, fs.StatFS and
// fs.ReadDirFS.
type repo struct {
	client *Client
	ctx    context.Context // the file system interfaces have no place for it
	id     string
	commit string
	files  map[string]entry
}

// list fetches the commit and the files of a revision.
func (c *Client) list(ctx context.Context, id, revision string) (*repo, error) {
	r := &repo{client: c, ctx: ctx, id: id, files: map[string]entry{}}
	u := c.endpoint.JoinPath("api/models", id, "revision", url.PathEscape(revision))
	u.RawQuery = "blobs=true"
	p, err := c.get(ctx, u, -1, maxListing)
	if err != nil {
		return nil, r.fail("", err)
	}
	var answer struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size *int64 `json:"size"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(bytes.NewReader(p.data)).Decode(&answer); err != nil {
		return nil, r.fail("", ErrListing)
	}
	r.commit = cmp.Or(answer.SHA, revision)
	for _, s := range answer.Siblings {
		// Weights and configurations are at the top of a repository.
		if !fs.ValidPath(s.Name) || strings.Contains(s.Name, "/") {
			continue
		}
		e := entry{name: s.Name, size: -1}
		if s.Size != nil && *s.Size >= 0 {
			e.size = *s.Size
		}
		r.files[s.Name] = e
	}
	return r, nil
}

// fail says where an error happened.
func (r *repo) fail(file string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	out := *e
	out.Host, out.ID, out.File = r.client.endpoint.Host, r.id, file
	return &out
}

func (r *repo) find(op, name string) (entry, error) {
	if !fs.ValidPath(name) {
		return entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, ok := r.files[path.Clean(name)]
	if !ok {
		return entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Open implements fs.FS. Nothing is fetched before something is read.
func (r *repo) Open(name string) (fs.File, error) {
	e, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	return &file{repo: r, entry: e}, nil
}

// Stat implements fs.StatFS. A size that the listing does not tell costs a
// request.
func (r *repo) Stat(name string) (fs.FileInfo, error) {
	e, err := r.find("stat", name)
	if err != nil || e.size >= 0 {
		return e, err
	}
	f := &file{repo: r, entry: e}
	return f.Stat()
}

// ReadDir implements fs.ReadDirFS; "." is the only folder.
func (r *repo) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	out := make([]fs.DirEntry, 0, len(r.files))
	for _, e := range r.files {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// entry is a file of the listing; it implements fs.DirEntry and fs.FileInfo.
type entry struct {
	name string
	size int64 // -1 when not known
}

func (e entry) Name() string               { return e.name }
func (e entry) Size() int64                { return e.size }
func (e entry) IsDir() bool                { return false }
func (e entry) Type() fs.FileMode          { return 0 }
func (e entry) Mode() fs.FileMode          { return 0o444 }
func (e entry) ModTime() time.Time         { return time.Time{} }
func (e entry) Sys() any                   { return nil }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
