package planner

import (
	"cmp"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// ModelRefs names the models of a launch as its command does; fields that it
// does not give are "".
type ModelRefs struct {
	Target, Revision, LoadFormat          string
	Draft, DraftRevision, DraftLoadFormat string
}

// Models returns what the command names as its models.
func (r Request) Models() ModelRefs {
	rel := r.Release
	if rel.IsZero() {
		rel = imageRelease(r.Launch.Container)
	}
	if rel.IsZero() {
		rel = release.Newest
	}
	a, _ := args.Parse(rel, spelled(r.Launch, rel).Flags, args.ParseOptions{ReadFile: r.ReadFile, Serve: r.Launch.Serve()})
	return ModelRefs{
		Target: a.Str("model_path"), Revision: a.Str("revision"), LoadFormat: a.Str("load_format"),
		Draft: a.Str("speculative_draft_model_path"), DraftRevision: a.Str("speculative_draft_model_revision"),
		DraftLoadFormat: cmp.Or(a.Str("speculative_draft_load_format"), a.Str("load_format")),
	}
}
