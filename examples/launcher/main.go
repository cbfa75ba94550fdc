// Command launcher shows the library in a program that starts SGLang servers:
// it checks a launch, takes the recommended host cache size when the one given
// does not fit, and starts the server or refuses.
//
//	go run ./examples/launcher -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

func main() {
	gpus := flag.String("gpus", "", "plan for these cards instead of this machine's, e.g. 8xH200")
	host := flag.Int64("host-ram-gb", 0, "plan for a host with this much memory")
	dryRun := flag.Bool("dry-run", false, "say what would be started")
	flag.Parse()
	opts := preflight.Options{GPUs: *gpus}
	if *host > 0 {
		ram := units.Bytes(*host) * units.GB
		opts.HostRAM = &ram
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := launch(ctx, flag.Args(), opts, *dryRun); err != nil {
		fmt.Fprintln(os.Stderr, "launcher:", err)
		os.Exit(1)
	}
}

func launch(ctx context.Context, argv []string, opts preflight.Options, dryRun bool) error {
	plan, err := preflight.Check(ctx, argv, opts)
	if err != nil {
		return err
	}
	if plan.Verdict == planner.Reject {
		if plan, err = preflight.Recommend(ctx, argv, opts); err != nil {
			return err
		}
		argv = plan.Recommend.Argv
	}
	for _, f := range plan.Findings {
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n", f.Severity, f.Code, f.Detail)
	}
	if plan.Verdict == planner.Reject {
		return &refusedError{plan.Findings}
	}
	fmt.Fprintln(os.Stderr, "starting:", argv)
	if dryRun {
		return nil
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// refusedError carries the findings to whoever called.
type refusedError struct{ findings []finding.Finding }

func (e *refusedError) Error() string {
	for _, f := range e.findings {
		if f.Severity == finding.Error {
			return "not started: " + f.Summary
		}
	}
	return "not started"
}
