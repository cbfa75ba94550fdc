package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/near"
	"github.com/sglplan/sglplan/planner/finding"
)

func newExplainCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "What a finding means and what to do",
		Example: "  sglplan explain host-pool-exceeds-memory",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(findingCodes(), typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				for _, d := range finding.Docs() {
					fmt.Fprintf(out, "%-40s %s\n", d.Code, d.Summary)
				}
				return nil
			}
			d, ok := finding.Explain(finding.Code(args[0]))
			if !ok {
				return fmt.Errorf("no finding has the code %q (sglplan explain lists them all)%s", args[0], resembling(args[0]))
			}
			fmt.Fprintf(out, "%s: %s\n\n%s\n\nWhat to do: %s\n", d.Code, d.Summary, d.Meaning, d.Do)
			return nil
		},
	}
}

// resembling lists the codes that hold what was typed, else the nearest one,
// else those that share a word with it.
func resembling(code string) string {
	var close []string
	for _, d := range findingCodes() {
		if code != "" && strings.Contains(d, code) {
			close = append(close, d)
		}
	}
	if n := near.Closest(code, slices.Values(findingCodes())); len(close) == 0 && n != "" {
		close = []string{n}
	}
	if len(close) == 0 {
		close = sharingAWord(code)
	}
	if len(close) == 0 || len(close) > 8 {
		return ""
	}
	return "; near it: " + strings.Join(close, ", ")
}

func sharingAWord(code string) []string {
	var out []string
	for _, d := range findingCodes() {
		for w := range strings.SplitSeq(code, "-") {
			if len(w) > 3 && strings.Contains(d, w) {
				out = append(out, d)
				break
			}
		}
	}
	return out
}
