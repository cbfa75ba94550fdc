package planner

import (
	"reflect"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// UpgradePlan is what changes for a launch between two SGLang releases.
type UpgradePlan struct {
	Schema    string            `json:"schema"`
	From      *Plan             `json:"from"`
	To        *Plan             `json:"to"` // of the command as written for the newer release
	Argv      []string          `json:"argv"`
	Rewritten bool              `json:"rewritten"`
	Changes   []Change          `json:"changes"`
	Findings  []finding.Finding `json:"findings"` // about the flags themselves
}

// Change is a resolved value that differs.
type Change struct {
	Field string `json:"field"`
	From  any    `json:"from"`
	To    any    `json:"to"`
}

// Upgrade plans the same launch under two releases: flags that are gone,
// renamed or ambiguous, resolved values that move, and the plans before and
// after. The command is rewritten for the newer release where the releases'
// own notes say how.
func Upgrade(req Request, from, to release.Release) *UpgradePlan {
	up := args.Upgrade(from, to, req.Launch.Flags, args.ParseOptions{ReadFile: req.ReadFile, Serve: req.Launch.Serve()})
	req.Release = from
	before := Check(req)
	cmd := *req.Launch
	cmd.Flags = up.Words
	req.Launch, req.Release = &cmd, to
	after := Check(req)
	return &UpgradePlan{
		Schema: Schema, From: before, To: after, Argv: cmd.Argv(), Rewritten: up.Rewritten,
		Changes: changes(before.Launch.Resolved, after.Launch.Resolved), Findings: order(up.Findings),
	}
}

// changes lists the fields that both releases have and that differ.
func changes(a, b map[string]any) []Change {
	out := []Change{}
	for f, v := range a {
		w, ok := b[f]
		if ok && !reflect.DeepEqual(v, w) {
			out = append(out, Change{f, v, w})
		}
	}
	slices.SortFunc(out, func(x, y Change) int {
		if x.Field < y.Field {
			return -1
		}
		return 1
	})
	return out
}
