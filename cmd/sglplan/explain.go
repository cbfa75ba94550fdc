package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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

// resembling lists the codes that share a word with what was typed.
func resembling(code string) string {
	var near []string
	for _, d := range finding.Docs() {
		for _, w := range strings.Split(code, "-") {
			if len(w) > 3 && strings.Contains(string(d.Code), w) {
				near = append(near, string(d.Code))
				break
			}
		}
	}
	if len(near) == 0 || len(near) > 8 {
		return ""
	}
	return "; near it: " + strings.Join(near, ", ")
}
