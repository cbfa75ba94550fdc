package main

import (
	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/planner"
)

func newCheckCmd() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "check [options] -- LAUNCH COMMAND...",
		Short: "Is this launch safe on this machine?",
		Example: `  sglplan check -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2
  sglplan check -f compose.yaml -o github
  sglplan check --machines fleet.jsonl -- --model-path openai/gpt-oss-120b`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.fleet != "" {
				return checkFleet(cmd, o, args)
			}
			return planAll(cmd, o, args, planner.Check)
		},
	}
	o.bind(cmd, "text", "json", "junit", "github", "html")
	cmd.Flags().StringVar(&o.fleet, "machines", "", "judge the launch on many machines: JSON of sglplan machine, one a line, in `FILE`, - for stdin")
	return cmd
}

func newRecommendCmd() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:     "recommend [options] -- LAUNCH COMMAND...",
		Short:   "The same launch with safe, best values filled in",
		Example: "  sglplan recommend -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --enable-hierarchical-cache",
		RunE: func(cmd *cobra.Command, args []string) error {
			return planAll(cmd, o, args, planner.Recommend)
		},
	}
	o.bind(cmd, "text", "json", "junit", "html")
	return cmd
}

func newSweepCmd() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:     "sweep [options] -- LAUNCH COMMAND...",
		Short:   "Fraction against tokens, headroom and verdict",
		Example: "  sglplan sweep --gpus 1xH200 -- --model-path meta-llama/Llama-3.1-8B",
		RunE: func(cmd *cobra.Command, args []string) error {
			return planAll(cmd, o, args, planner.Sweep)
		},
	}
	o.bind(cmd, "text", "json", "junit", "html")
	return cmd
}
