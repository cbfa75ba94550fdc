// Package source finds a model's files where SGLang would: a folder, then the
// Hugging Face cache (or ModelScope's), then the built-in catalogue of public
// configurations. It reads only what the caller names; it reaches no network.
package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
)

// Kind says where a model was found.
type Kind string

// The places a model is found in.
const (
	Folder    Kind = "folder"
	Cache     Kind = "cache"
	Hub       Kind = "hub"
	Catalogue Kind = "catalogue"
)

// Query is a model as a launch names it.
type Query struct {
	Name       string // path or public id
	Revision   string // --revision, "" for the default branch
	LoadFormat string // --load-format, "" for auto
	// Env decides where the caches are; nil variables are unset.
	Env map[string]string
	// Remote opens the model's repository where it is neither in a folder nor
	// in a cache; nil asks nowhere. Package hub has one.
	Remote func(id, revision string) (fs.FS, error)
}

// Found is a model's configuration and where it came from.
type Found struct {
	Config     *model.Config
	Checkpoint *checkpoint.Checkpoint // nil from the catalogue, and where there are no weight files
	Kind       Kind
	Where      string // folder, or public id
	// RemoteError says why the remote could not be asked, where the catalogue
	// stood in for it.
	RemoteError error
}

// A NotFoundError reports a model that is neither a folder nor in a cache nor
// in the catalogue.
type NotFoundError struct {
	Name   string
	Remote error // what the hub said, nil when it was not asked
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("model %q: no such folder here, not in the model cache, and not in the built-in catalogue", e.Name)
	if e.Remote != nil {
		text += "; " + e.Remote.Error()
	}
	return text + " (name its files with --model DIR, or a public model with --model ID)"
}

// Unwrap returns what the hub said.
func (e *NotFoundError) Unwrap() error { return e.Remote }

// A PathError reports a path that is there and cannot be used: a loop of
// links, a link to nothing, no permission.
type PathError struct {
	Path string
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("%s: %v", e.Path, cause(e.Err)) }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// cause leaves out the path and the system call that the message has already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Find looks a model up by the path or id that a launch names.
func Find(q Query) (*Found, error) {
	switch st, err := os.Stat(q.Name); {
	case err == nil && st.IsDir():
		return q.open(dirFS(q.Name), Folder, q.Name)
	case err == nil:
		return nil, single(q.Name)
	default:
		if _, lerr := os.Lstat(q.Name); lerr == nil || !errors.Is(lerr, fs.ErrNotExist) && filepath.IsAbs(q.Name) {
			return nil, &PathError{q.Name, err}
		}
	}
	for _, dir := range cached(q) {
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
			return q.open(dirFS(dir), Cache, dir)
		}
	}
	return q.elsewhere()
}

// elsewhere asks the remote, if there is one, and the catalogue.
func (q Query) elsewhere() (*Found, error) {
	var remote error
	if q.Remote != nil && isID(q.Name) {
		f, err := q.fetch()
		if err == nil {
			return f, nil
		}
		remote = err
	}
	cfg, err := catalogue.Load(q.Name)
	var nf *catalogue.NotFoundError
	if errors.As(err, &nf) {
		return nil, &NotFoundError{q.Name, remote}
	}
	if err != nil {
		return nil, err
	}
	return &Found{Config: cfg, Kind: Catalogue, Where: q.Name, RemoteError: remote}, nil
}

func (q Query) fetch() (*Found, error) {
	files, err := q.Remote(q.Name, q.Revision)
	if err != nil {
		return nil, err
	}
	return q.open(files, Hub, q.Name)
}

// open reads the configuration and the headers of a folder of files.
func (q Query) open(files fs.FS, kind Kind, where string) (*Found, error) {
	cfg, err := model.ReadDir(files)
	if err != nil {
		if a := adapter(files); a != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, a
		}
		if g := onlyGGUF(files, where); g != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, g
		}
		return nil, err
	}
	f := &Found{Config: cfg, Kind: kind, Where: where}
	if q.LoadFormat == "dummy" {
		return f, nil // SGLang makes the weights up and opens no file
	}
	workers := runtime.GOMAXPROCS(0)
	if kind == Hub {
		workers = remoteWorkers
	}
	f.Checkpoint = Read(files, q.LoadFormat, workers)
	if f.Checkpoint != nil {
		f.Checkpoint.Fetchable = kind != Folder
	}
	return f, nil
}

// remoteWorkers is how many headers are fetched at once; each costs a round
// trip or two.
const remoteWorkers = 8
