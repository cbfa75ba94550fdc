package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/preflight"
)

func newModelCmd() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "model PATH|ID [launch flags that matter]",
		Short: "Geometry of a model: pools, bytes per token, weights per rank",
		Long: `model reads a checkpoint folder, the Hugging Face cache or the built-in
catalogue, and with --hub the Hub. SGLang's own flags that change what a rank
holds (--tp-size, --kv-cache-dtype, --enable-dp-attention ...) may follow;
--gpus or --machine name the card, which decides how quantised weights are
repacked.`,
		Example: `  sglplan model moonshotai/Kimi-K2.5 --tp-size 8
  sglplan model ./checkpoint --tp-size 2 --sglang 0.5.17 --gpus 1xH200 -o json`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return o.runModel(cmd, args) },
	}
	o.bindMachine(cmd)
	o.bindHub(cmd)
	cmd.Flags().StringVar(&o.SGLang, "sglang", "", "SGLang `VERSION` whose rules apply")
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, json")
	o.formats = []string{"text", "json"}
	return cmd
}

// runModel takes sglplan's own options out of the arguments and hands all
// others to SGLang's argument reader, since both stand on one line here.
func (o *planOptions) runModel(cmd *cobra.Command, args []string) error {
	own, rest := splitOwn(cmd, args)
	for _, a := range own {
		if a == "-h" || a == "--help" {
			return cmd.Help()
		}
	}
	if err := cmd.Flags().Parse(own); err != nil {
		return err
	}
	if err := o.complete(cmd); err != nil {
		return err
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("name a model: sglplan model PATH|ID, for example sglplan model moonshotai/Kimi-K2.5 --tp-size 8")
	}
	o.Model = rest[0]
	c, err := launch.FromArgv(append([]string{"--model-path", rest[0]}, rest[1:]...))
	if err != nil {
		return err
	}
	// What a rank holds does not depend on the host's memory, and only the
	// card's kind matters of the GPU: without one nothing is read.
	if o.GPUs == "" && len(o.Machines) == 0 {
		o.Machines = []machine.Machine{{}}
	}
	reqs, err := preflight.Requests(cmd.Context(), []*launch.Command{c}, o.Options)
	if err != nil {
		return err
	}
	m := planner.Model(reqs[0])
	if err := o.printModel(cmd.OutOrStdout(), m); err != nil {
		return err
	}
	switch {
	case finding.Worst(m.Findings) == finding.Error:
		return statusError(exitRejected)
	case m.KVBytesPerToken == nil || m.WeightsBytes == nil:
		return statusError(exitUndecided)
	}
	return nil
}

// splitOwn separates sglplan's options, with their values, from all others.
func splitOwn(cmd *cobra.Command, args []string) (own, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		f := cmd.Flags().Lookup(strings.TrimPrefix(name, "--"))
		if f == nil || !strings.HasPrefix(name, "--") {
			f = nil
			if name == "-o" || name == "-h" {
				f = cmd.Flags().ShorthandLookup(name[1:])
			}
		}
		switch {
		case name == "-h", name == "--help":
			own = append(own, args[i])
		case f == nil:
			rest = append(rest, args[i])
		case joined || f.NoOptDefVal != "" || i+1 == len(args):
			own = append(own, args[i])
		default:
			own = append(own, args[i], args[i+1])
			i++
		}
	}
	return own, rest
}

func (o *planOptions) printModel(w io.Writer, m *planner.ModelInfo) error {
	if o.output == "json" {
		return writeJSON(w, m)
	}
	return render.Model(w, m, terminal(w))
}
