package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/preflight"
)

func newRunCmd() *cobra.Command {
	o := &planOptions{}
	var recommend bool
	cmd := &cobra.Command{
		Use:   "run [options] -- LAUNCH COMMAND...",
		Short: "Check, then become that launch unless it is rejected",
		Long: `run checks a launch and then becomes it: the same process, so that signals, exit
status and output are the launch's own. A rejected launch is not started and
the status is 1. The check is printed on stderr. Put it in front of a command,
an ExecStart or an entrypoint.`,
		Example: `  sglplan run -- python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2
  ExecStart=/usr/local/bin/sglplan run --recommend -- /opt/venv/bin/python -m sglang.launch_server ...`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLaunch(cmd, o, args, recommend) },
	}
	o.bind(cmd, "text", "json")
	cmd.Flags().BoolVar(&recommend, "recommend", false, "fill in safe, best values first and say what was changed")
	return cmd
}

func runLaunch(cmd *cobra.Command, o *planOptions, args []string, recommend bool) error {
	if err := o.complete(cmd); err != nil {
		return err
	}
	if o.script != "" || len(o.files) > 0 {
		return errors.New("run starts the command behind --; a script or a file is checked with sglplan check")
	}
	c, err := launch.FromArgv(args)
	if err != nil {
		return err
	}
	if len(c.Prefix) == 0 {
		return errors.New("run needs the whole command, not flags alone: python3 -m sglang.launch_server --model-path MODEL")
	}
	reqs, err := preflight.Requests(cmd.Context(), []*launch.Command{c}, o.Options)
	if err != nil {
		return err
	}
	judge, argv := planner.Check, args
	if recommend {
		judge = planner.Recommend
	}
	p := judge(reqs[0])
	if recommend && p.Recommend != nil && len(p.Recommend.Argv) > 0 {
		argv = p.Recommend.Argv
		sayChanges(cmd.ErrOrStderr(), p.Recommend)
	}
	if err := printCheck(cmd.ErrOrStderr(), o.output, p); err != nil {
		return err
	}
	if p.Verdict == planner.Reject {
		return statusError(exitRejected)
	}
	return become(argv)
}

// sayChanges names the flags that --recommend set.
func sayChanges(w io.Writer, r *planner.Recommendation) {
	for _, e := range r.Changed {
		switch {
		case e.Remove:
			fmt.Fprintf(w, "sglplan: removed %s\n", e.Flag)
		default:
			fmt.Fprintf(w, "sglplan: set %s\n", strings.TrimSpace(e.Flag+" "+e.Value))
		}
	}
}

func printCheck(w io.Writer, format string, p *planner.Plan) error {
	if format == "json" {
		return writeJSON(w, p)
	}
	return render.Text(w, p, terminal(w))
}

// become replaces this process by a command. Assignments in front of it go to
// its environment, as a shell would do.
func become(argv []string) error {
	env := os.Environ()
	for len(argv) > 0 && isAssignment(argv[0]) {
		env = append(env, argv[0])
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return errors.New("no command behind the variables")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, env))
}

// isAssignment reports "NAME=value".
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	if !ok || name == "" {
		return false
	}
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
