package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
)

// Exit statuses of the planning verbs, fixed by the command-line contract.
const (
	exitOK        = 0 // ok or warn
	exitRejected  = 1
	exitUsage     = 2 // wrong use of sglplan's own options, or input that cannot be read
	exitUndecided = 3
)

// statusError ends the command with an exit status; the result is already
// printed, so it has no text of its own.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// verdictStatus is the exit status of a verdict, nil for success.
func verdictStatus(v planner.Verdict) error {
	switch v {
	case planner.Reject:
		return statusError(exitRejected)
	case planner.Undecided:
		return statusError(exitUndecided)
	}
	return nil
}

// run is the whole command: it parses args, works and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(wrongUse(args))
	err := root.Execute()
	var status statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(stderr, "sglplan: %s\n", render.Clean(err.Error()))
	return exitUsage
}

// helpWidth is the width that --help is written for.
const helpWidth = 100

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sglplan",
		Short: "Will this SGLang launch fit this machine?",
		Long: `sglplan tells in milliseconds, before a start of 10 to 15 minutes, whether an
SGLang launch will fit this machine: GPU memory, host memory, KV tokens, and
which flags would be right.`,
		Example: `  sglplan check -- python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B
  sglplan check --gpus 8xH200 --host-ram 2TB -- --model-path deepseek-ai/DeepSeek-R1 --tp 8`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(verbs()...)
	for _, c := range root.Commands() {
		offerValues(c)
		c.DisableFlagsInUseLine = true
	}
	cobra.AddTemplateFunc("wrapped", func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(helpWidth) })
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", " | wrapped "))
	return root
}

// verbs are all subcommands; each has a file of its own.
func verbs() []*cobra.Command {
	return []*cobra.Command{
		newCheckCmd(), newRecommendCmd(), newSweepCmd(), newMachineCmd(), newModelCmd(),
		newUpgradeCmd(), newRunCmd(), newWaitCmd(), newStatusCmd(), newVerifyCmd(), newExplainCmd(), newVersionCmd(), newDocsCmd(),
	}
}
