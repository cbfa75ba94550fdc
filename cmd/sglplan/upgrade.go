package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/preflight"
)

func newUpgradeCmd() *cobra.Command {
	o := &planOptions{}
	var from, to string
	cmd := &cobra.Command{
		Use:     "upgrade --from V --to V [options] -- LAUNCH COMMAND...",
		Short:   "What changes for a launch between two SGLang releases",
		Example: "  sglplan upgrade --from 0.5.9 --to 0.5.23 -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --cuda-graph-max-bs 64",
		RunE: func(cmd *cobra.Command, args []string) error {
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
	cmd.Flags().StringVar(&from, "from", "", "release that runs now")
	cmd.Flags().StringVar(&to, "to", release.Newest.String(), "release to move to")
	o.bind(cmd, "text", "json")
	return cmd
}

func (o *planOptions) upgrade(cmd *cobra.Command, args []string, from, to release.Release) error {
	if err := o.complete(cmd); err != nil {
		return err
	}
	cmds, err := o.launches(cmd, args)
	if err != nil {
		return err
	}
	reqs, err := preflight.Requests(cmd.Context(), cmds, o.Options)
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
			err = printUpgrade(cmd.OutOrStdout(), u)
		}
		if err != nil {
			return err
		}
	}
	return verdictStatus(planner.WorstOf(verdicts))
}

func printUpgrade(w io.Writer, u *planner.UpgradePlan) error {
	o := terminal(w)
	var b strings.Builder
	fmt.Fprintf(&b, "SGLang %s -> %s\n\n", u.From.Launch.SGLangVersion, u.To.Launch.SGLangVersion)
	line := func(what, before, after string) { fmt.Fprintf(&b, "  %-24s %18s  ->  %s\n", what, before, after) }
	line("verdict", string(u.From.Verdict), string(u.To.Verdict))
	line("KV tokens", tokensOf(u.From), tokensOf(u.To))
	line("host pools", hostOf(u.From), hostOf(u.To))
	for _, c := range u.Changes {
		line(c.Field, short(c.From), short(c.To))
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if err := render.Findings(w, u.Findings, o); err != nil {
		return err
	}
	if err := render.Findings(w, u.To.Findings, o); err != nil {
		return err
	}
	if !u.Rewritten {
		return nil
	}
	_, err := io.WriteString(w, "\nThe command for the newer release:\n"+render.Command(u.Argv, "  ", o.Width))
	return err
}

func tokensOf(p *planner.Plan) string {
	if p.GPU == nil || p.GPU.MaxTotalNumTokens == nil {
		return "?"
	}
	return fmt.Sprint(p.GPU.MaxTotalNumTokens.Value)
}

func hostOf(p *planner.Plan) string {
	if p.Host == nil {
		return "?"
	}
	return fmt.Sprintf("%.1f GB", p.Host.TotalBytes.GB())
}

// short prints a value on one line; long lists are cut.
func short(v any) string {
	s := fmt.Sprint(v)
	if v == nil {
		s = "none"
	}
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	return s
}
