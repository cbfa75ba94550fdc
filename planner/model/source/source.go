// Package source finds a model's files where SGLang would: a folder, then the
// Hugging Face cache, then the built-in catalogue of public configurations. It
// reads only what the caller names; it reaches no network.
package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
)

// Kind says where a model was found.
type Kind string

// The places a model is found in.
const (
	Folder    Kind = "folder"
	Cache     Kind = "cache"
	Catalogue Kind = "catalogue"
)

// Found is a model's configuration and where it came from.
type Found struct {
	Config *model.Config
	Kind   Kind
	Where  string // folder, or public id
	Files  fs.FS  // the checkpoint's files, nil from the catalogue
}

// A NotFoundError reports a model that is neither a folder nor in the cache
// nor in the catalogue.
type NotFoundError struct {
	Name string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("model %q: no such folder here, and not in the built-in catalogue (name its files with --model DIR, or a public model with --model ID)", e.Name)
}

// Find looks a model up by the path or id that a launch names.
func Find(name string, env map[string]string) (*Found, error) {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		files := os.DirFS(name)
		cfg, err := model.ReadDir(files)
		if err != nil {
			return nil, err
		}
		return &Found{Config: cfg, Kind: Folder, Where: name, Files: files}, nil
	}
	cfg, err := catalogue.Load(name)
	var nf *catalogue.NotFoundError
	if errors.As(err, &nf) {
		return nil, &NotFoundError{name}
	}
	if err != nil {
		return nil, err
	}
	return &Found{Config: cfg, Kind: Catalogue, Where: name}, nil
}
