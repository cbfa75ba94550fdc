package source

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/units"
)

// An AdapterError reports a folder that holds a LoRA adapter and no model.
type AdapterError struct {
	Base string // the model that the adapter is for, "" when it does not say
}

func (e *AdapterError) Error() string {
	base := e.Base
	if base == "" {
		base = "its base model"
	}
	return fmt.Sprintf("the folder holds an adapter (adapter_config.json), not a model: launch %s and give the folder to --lora-paths", base)
}

// adapter recognises a folder without config.json but with an adapter's.
func adapter(files fs.FS) *AdapterError {
	f, err := files.Open("adapter_config.json")
	if err != nil {
		return nil
	}
	defer f.Close()
	s, err := model.ParseSection(f)
	if err != nil {
		return &AdapterError{}
	}
	return &AdapterError{Base: s.Str("base_model_name_or_path")}
}

// A FormatError reports a model whose files were recognised but whose geometry
// is not read from them.
type FormatError struct {
	File    string
	Format  string // "GGUF version 3"
	Tensors int64
	Size    units.Bytes
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s is a %s file of %s with %d tensors; what its model looks like is not read from it: give a folder or public id of the same model with --model, and the weights as measured with --gpu-weights", e.File, e.Format, e.Size, e.Tensors)
}

// single says what a path to one file is.
func single(name string) error {
	d, base := path.Split(name)
	if d == "" {
		d = "."
	}
	e, err := readGGUF(dirFS(d), base)
	switch {
	case err != nil:
		return &PathError{name, err}
	case e == nil:
		return &PathError{name, errNotModel}
	}
	e.File = name
	return e
}

var errNotModel = fmt.Errorf("a file, not a folder with a model's config.json (%w)", os.ErrInvalid)

// onlyGGUF recognises a folder that holds GGUF files and no config.json.
func onlyGGUF(files fs.FS, where string) error {
	names, err := fs.Glob(files, "*.gguf")
	if err != nil || len(names) == 0 {
		return nil
	}
	e, err := readGGUF(files, names[0])
	if e == nil || err != nil {
		return nil
	}
	e.File = path.Join(where, names[0])
	return e
}
