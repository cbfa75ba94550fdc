package planner

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
)

// Findings about the model that drafts.
var (
	CodeDraftNotFound = finding.Define("draft-model-not-found",
		"the draft model's files were not found",
		"A draft model takes weights on every GPU, its own KV cache for every token, and captured graphs. They follow from its config.json, which is looked for where the target's is. Without it tokens are counted as if there were no draft, which is the most there can be.",
		"Run the check where the draft's files are, or with --hub.")
	CodeTargetDrafts = finding.Define("target-is-its-own-draft",
		"the launch drafts with the whole target model",
		"Without --speculative-draft-model-path SGLang loads the target's own files as the draft. Families with built-in draft layers load those alone; any other model is loaded a second time, weights, KV cache and all.",
		"Name a draft model with --speculative-draft-model-path.")
)

// readDraft derives the draft model: its own files, or the target's where the
// draft is built into the checkpoint.
func (j *job) readDraft() {
	if j.info == nil || !j.args.Has("speculative_algorithm") {
		return
	}
	cfg := j.draftConfig()
	if cfg == nil {
		j.draftMissing()
		return
	}
	draft, fs := modelcfg.Derive(j.rel, cfg, modelOptions(j.args, j.env, true))
	j.draft = draft
	j.add(fs...)
	if path := j.args.Str("speculative_draft_model_path"); path == "" && draft.Arch == j.info.Arch {
		j.add(finding.New(CodeTargetDrafts, finding.Warning, "--speculative-algorithm", fmt.Sprintf(
			"--speculative-draft-model-path is not given and %s has no draft layers of its own: the whole model is loaded a second time.", j.info.Arch)).
			With("name the draft model with --speculative-draft-model-path"))
	}
	// SGLang charges a draft's KV only where its arguments end up with a path
	// for it; it fills in the target's for the families with a built-in head.
	if j.args.Has("speculative_draft_model_path") {
		j.charged = draft
	}
}

// draftConfig returns the files that the draft worker loads: its own, or the
// target's for a head that is built into the checkpoint; nil for an algorithm
// without a draft model, and for a draft whose files are not here.
func (j *job) draftConfig() *model.Config {
	path := j.args.Str("speculative_draft_model_path")
	switch {
	case strings.EqualFold(j.args.Str("speculative_algorithm"), "NGRAM"):
		return nil
	case j.req.Draft != nil:
		return j.req.Draft
	case path == "" || path == j.args.Str("model_path"):
		return j.req.Model
	}
	return nil
}

// ownDraft reports a launch whose draft has files of its own.
func (j *job) ownDraft() bool {
	path := j.args.Str("speculative_draft_model_path")
	return j.args.Has("speculative_algorithm") && !strings.EqualFold(j.args.Str("speculative_algorithm"), "NGRAM") &&
		path != "" && path != j.args.Str("model_path")
}

// draftUnknown reports a draft whose files are not here.
func (j *job) draftUnknown() bool { return j.ownDraft() && j.req.Draft == nil }

func (j *job) draftMissing() {
	if !j.draftUnknown() {
		return
	}
	j.add(finding.New(CodeDraftNotFound, finding.Warning, "--speculative-draft-model-path", fmt.Sprintf(
		"%q is no folder here, is not in the model cache and is not in the built-in catalogue: its weights, KV cache and graphs are not counted.",
		j.args.Str("speculative_draft_model_path"))).
		With("run the check where the draft's files are, or read its configuration with --hub"))
}
