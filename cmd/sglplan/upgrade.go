package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

func newUpgradeCmd() *cobra.Command {
	o := &planOptions{}
	var from, to string
	cmd := &cobra.Command{
		Use:     "upgrade --from V --to V [options] -- LAUNCH COMMAND...",
		Short:   "What changes for a launch between two SGLang releases",
		Example: "  sglplan upgrade --from 0.5.9 --to 0.5.23 -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --cuda-graph-max-bs 64",
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return errors.New("--from is missing: the release that runs now, for example --from 0.5.9")
			}
			a, err := release.Parse(from)
			if err != nil {
				return fmt.Errorf("--from: %w", err)
			}
			b, err := release.Parse(to)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			return o.upgrade(cmd, args, a, b)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`VERSION` that runs now")
	cmd.Flags().StringVar(&to, "to", release.Newest.String(), "`VERSION` to move to")
	o.bind(cmd, "text", "json")
	return cmd
}

func (o *planOptions) upgrade(cmd *cobra.Command, args []string, from, to release.Release) error {
	reqs, err := o.requests(cmd, args)
	if err != nil {
		return err
	}
	var verdicts []*planner.Plan
	for _, r := range reqs {
		u := planner.Upgrade(r, from, to)
		verdicts = append(verdicts, u.To)
		if o.output == "json" {
			err = writeJSON(cmd.OutOrStdout(), u)
		} else {
			err = render.Upgrade(cmd.OutOrStdout(), u, terminal(cmd.OutOrStdout()))
		}
		if err != nil {
			return err
		}
	}
	return verdictStatus(planner.WorstOf(verdicts))
}
