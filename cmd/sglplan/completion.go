package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// completions are the values that a shell can offer for an option; every other
// option takes what the shell offers by itself.
var completions = map[string]func() []string{
	"gpus":   cardNames,
	"model":  func() []string { return catalogue.IDs() },
	"sglang": releaseNames,
	"from":   releaseNames,
	"to":     releaseNames,
	"ignore": findingCodes,
}

// offerValues registers the completions of a verb's options.
func offerValues(cmd *cobra.Command) {
	for name, values := range completions {
		if f := cmd.Flags().Lookup(name); f == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return beginning(values(), typed), cobra.ShellCompDirectiveNoFileComp
		}) // it fails only for a flag that is not there, or twice
	}
	if f := cmd.Flags().Lookup("output"); f != nil {
		_, list, _ := strings.Cut(f.Usage, ": ")
		_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(list, ", "), cobra.ShellCompDirectiveNoFileComp))
	}
}

// beginning keeps the values that begin with what was typed; a count before a
// card ("8x") is kept.
func beginning(values []string, typed string) []string {
	count := ""
	if i := strings.IndexByte(typed, 'x'); i > 0 && strings.Trim(typed[:i], "0123456789") == "" {
		count, typed = typed[:i+1], typed[i+1:]
	}
	var out []string
	for _, v := range values {
		if len(v) >= len(typed) && strings.EqualFold(v[:len(typed)], typed) {
			out = append(out, count+v)
		}
	}
	return out
}

func cardNames() []string {
	var names []string
	for _, c := range machine.Catalogue() {
		names = append(names, c.Aliases[0])
	}
	return names
}

func releaseNames() []string {
	var names []string
	for _, r := range args.Releases() {
		names = append(names, r.String())
	}
	return names
}

func findingCodes() []string {
	var codes []string
	for _, d := range finding.Docs() {
		codes = append(codes, string(d.Code))
	}
	return codes
}
