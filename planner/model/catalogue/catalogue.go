// Package catalogue holds the configurations of public models, so that a
// launch can be planned with no model files and no network. Each entry is the
// model's public config.json without the fields that no memory rule reads; the
// files are in data/, one a model, and a new model is one more file.
package catalogue

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/sglplan/sglplan/planner/model"
)

//go:embed data
var data embed.FS

const suffix = ".json.gz"

// IDs returns the public ids of the catalogue ("moonshotai/Kimi-K2.5"), sorted.
var IDs = sync.OnceValue(func() []string {
	entries, _ := fs.ReadDir(data, "data")
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		ids = append(ids, strings.Replace(strings.TrimSuffix(e.Name(), suffix), "__", "/", 1))
	}
	slices.Sort(ids)
	return ids
})

// A NotFoundError reports an id that the catalogue does not have.
type NotFoundError struct {
	ID string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("model %q is not in the built-in catalogue", e.ID)
}

// Load returns the configuration of a public model by its id; letter case does
// not matter.
func Load(id string) (*model.Config, error) {
	name := strings.TrimSuffix(id, "/")
	i := slices.IndexFunc(IDs(), func(s string) bool { return strings.EqualFold(s, name) })
	if i < 0 {
		return nil, &NotFoundError{id}
	}
	f, err := data.Open("data/" + strings.Replace(IDs()[i], "/", "__", 1) + suffix)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	s, err := model.ParseSection(z)
	if err != nil {
		return nil, err
	}
	return &model.Config{Top: s.Sub("config"), Quant: s.Sub("hf_quant_config")}, nil
}
