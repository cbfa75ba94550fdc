package preflight

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/sglplan/sglplan/hub"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model/source"
)

// findModels fills in the configurations and weight files of the target and
// the draft. A model that is not on this machine is no error: the plan is
// undecided then and says so. Files that are here and broken are an
// *InputError.
func (o Options) findModels(ctx context.Context, r *planner.Request) error {
	refs := r.Models()
	env := environment(r)
	remote, err := o.remote(ctx, env)
	if err != nil {
		return err
	}
	q := source.Query{Name: refs.Target, Revision: refs.Revision, LoadFormat: refs.LoadFormat, Env: env, Remote: remote}
	if o.Model != "" {
		q.Name = o.Model
	}
	if q.Name == "" {
		r.ModelError = errNoModel
		return nil
	}
	f, err := source.Find(q)
	if err != nil {
		// What --model names must be readable; what the command names may be
		// on the machine that it will run on.
		if o.Model != "" && !recognised(err) || !missing(err) {
			return &InputError{"model", q.Name, err}
		}
		r.ModelError = err
		return nil
	}
	r.Model, r.Checkpoint = f.Config, f.Checkpoint
	if f.RemoteError != nil {
		r.Findings = append(slices.Clip(r.Findings), finding.New(codeHub, finding.Info, "", f.RemoteError.Error()+". The built-in catalogue's configuration was taken."))
	}
	if f.Checkpoint != nil {
		f.Checkpoint.Local = o.Model == "" && !r.Remote && r.Launch.Container == nil
	}
	if refs.Draft == "" || refs.Draft == refs.Target {
		return nil
	}
	q.Name, q.Revision, q.LoadFormat = refs.Draft, refs.DraftRevision, refs.DraftLoadFormat
	d, err := source.Find(q)
	switch {
	case err == nil:
		r.Draft = d.Config
	case !missing(err):
		return &InputError{"draft model", refs.Draft, err}
	}
	return nil
}

var codeHub = finding.Define("hub-not-read", "the Hub did not give the model",
	"With --hub a model that is in no folder and no cache is read from the Hugging Face Hub: its configuration and the headers of its weight files. The Hub was not reachable, refused, or HF_HUB_OFFLINE is set.",
	"See the reason: HF_TOKEN for private and gated models, HTTPS_PROXY behind a proxy, HF_ENDPOINT for a mirror. Or download the model, or name a folder with --model.")

// remote opens repositories of the Hub where that is asked for.
func (o Options) remote(ctx context.Context, env map[string]string) (func(id, revision string) (fs.FS, error), error) {
	if !o.Hub {
		return nil, nil
	}
	c, err := hub.New(env)
	if err != nil {
		return nil, &InputError{"hub", "settings", err}
	}
	return func(id, revision string) (fs.FS, error) { return c.FS(ctx, id, revision) }, nil
}

// environment is what the launch will see: what the command itself sets wins.
func environment(r *planner.Request) map[string]string {
	env := maps.Clone(r.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, r.Launch.Env)
	return env
}

// missing reports a model that may well be where the launch will run.
func missing(err error) bool {
	var nf *source.NotFoundError
	return errors.As(err, &nf) || errors.Is(err, fs.ErrNotExist) || recognised(err)
}

// recognised reports files that are here and whole, and not a model that can
// be planned.
func recognised(err error) bool {
	var adapter *source.AdapterError
	var format *source.FormatError
	return errors.As(err, &adapter) || errors.As(err, &format)
}
