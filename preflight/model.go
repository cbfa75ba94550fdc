package preflight

import (
	"context"
	"errors"
	"io/fs"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/source"
)

// findModels fills in the configurations of the target and the draft. A model
// that is not on this machine is no error: the plan is undecided then and says
// so. Files that are here and broken are an *InputError.
func (o Options) findModels(_ context.Context, r *planner.Request) error {
	target, draft := r.ModelPaths()
	name := target
	if o.Model != "" {
		name = o.Model
	}
	if name == "" {
		r.ModelError = errNoModel
		return nil
	}
	cfg, err := find(name, r.Env)
	if err != nil {
		// What --model names must be readable; what the command names may be
		// on the machine that it will run on.
		if o.Model != "" || !missing(err) {
			return &InputError{"model", name, err}
		}
		r.ModelError = err
		return nil
	}
	r.Model = cfg
	if draft == "" || draft == target {
		return nil
	}
	d, err := find(draft, r.Env)
	if err != nil && !missing(err) {
		return &InputError{"draft model", draft, err}
	}
	r.Draft = d
	return nil
}

func find(name string, env map[string]string) (*model.Config, error) {
	f, err := source.Find(name, env)
	if err != nil {
		return nil, err
	}
	return f.Config, nil
}

func missing(err error) bool {
	var nf *source.NotFoundError
	return errors.As(err, &nf) || errors.Is(err, fs.ErrNotExist)
}
