package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

// exitTimeout is wait's status when neither success nor failure was seen.
const exitTimeout = 3

// watchOptions are the options that wait and status share: what belongs to the
// start that is looked at.
type watchOptions struct {
	url, log, sglang string
	pid              int
	timeout          time.Duration
	plan, key        string
	output           string
}

func (o *watchOptions) bind(cmd *cobra.Command, timeout time.Duration) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.url, "url", "", "address of the server (default: the port of the log's arguments, else http://127.0.0.1:30000)")
	f.StringVar(&o.log, "log", "", "its log, which may still be growing; - for stdin")
	f.IntVar(&o.pid, "pid", 0, "process of the launcher")
	f.DurationVar(&o.timeout, "timeout", timeout, "give up after this time")
	f.StringVar(&o.sglang, "sglang", "", "SGLang release that starts, e.g. 0.5.9: what its answers mean depends on it")
	f.StringVar(&o.plan, "expect-plan", "", "JSON of sglplan check for this launch, - for stdin")
	f.StringVar(&o.key, "api-key", "", "`KEY` of the server, to ask it who it is (default: SGLANG_API_KEY of the environment)")
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, json")
}

// options checks what was given and makes the library's options of it.
func (o *watchOptions) options(cmd *cobra.Command) (startup.Options, error) {
	w := startup.Options{URL: o.url, Key: apiKey(o.key), PID: o.pid, Timeout: o.timeout}
	switch {
	case o.output != "text" && o.output != "json":
		return w, fmt.Errorf("--output %q: this verb prints text, json", o.output)
	case o.pid < 0 || o.timeout <= 0:
		return w, errors.New("--pid and --timeout must be positive")
	case o.url == "" && o.log == "" && o.pid == 0:
		w.URL = defaultURL
	case o.url == "" && o.log == "":
		w.URL = urlOfProcess(o.pid)
	}
	if o.url != "" {
		if u, err := url.Parse(o.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return w, fmt.Errorf("--url %q: write it like %s", o.url, defaultURL)
		}
	}
	if o.sglang != "" {
		r, err := release.Parse(o.sglang)
		if err != nil {
			return w, err
		}
		w.Release = r
	}
	if o.plan != "" {
		p, err := readPlan(cmd, o.plan)
		if err != nil {
			return w, err
		}
		w.Expect = expectation(p)
		if r, err := release.Parse(p.Launch.SGLangVersion); err == nil && w.Release.IsZero() {
			w.Release = r
		}
	}
	if o.log == "-" {
		w.LogReader = cmd.InOrStdin()
	} else {
		w.Log = o.log
	}
	return w, nil
}

// defaultURL is where SGLang listens without --host and --port.
const defaultURL = "http://127.0.0.1:30000"

// urlOfProcess takes the port from the command line of a launcher.
func urlOfProcess(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return defaultURL
	}
	words := strings.Split(string(b), "\x00")
	for i, w := range words {
		if v, ok := strings.CutPrefix(w, "--port="); ok {
			return "http://127.0.0.1:" + v
		}
		if w == "--port" && i+1 < len(words) {
			return "http://127.0.0.1:" + words[i+1]
		}
	}
	return defaultURL
}

// readPlan reads what `sglplan check -o json` printed.
func readPlan(cmd *cobra.Command, name string) (*planner.Plan, error) {
	in, err := openInput(cmd, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var p planner.Plan
	if err := json.NewDecoder(io.LimitReader(in, 64<<20)).Decode(&p); err != nil {
		return nil, &preflight.InputError{What: "plan", Name: name, Err: err}
	}
	if p.Schema != planner.Schema {
		return nil, &preflight.InputError{What: "plan", Name: name, Err: fmt.Errorf("its schema is %q, not %q", p.Schema, planner.Schema)}
	}
	return &p, nil
}

func expectation(p *planner.Plan) *startup.Expectation {
	e := &startup.Expectation{ModelPath: p.Launch.ModelPath}
	if p.GPU != nil && p.GPU.MaxTotalNumTokens != nil {
		e.Tokens = [2]int64{p.GPU.MaxTotalNumTokens.Low, p.GPU.MaxTotalNumTokens.High}
	}
	return e
}

func newWaitCmd() *cobra.Command {
	var o watchOptions
	var kill bool
	var stall time.Duration
	cmd := &cobra.Command{
		Use:   "wait [options]",
		Short: "Wait until a starting server is ready or has failed",
		Long: `wait follows a start and ends with 0 when the server takes requests, with 1 as
soon as it has failed (the cause, what to do and the last lines on stderr), and
with 3 when neither was seen in time.

Success is two answers with status 200, never a word in their body: SGLang's is
empty. With --log, --pid or --expect-plan the server that answers must be this
launch, not an older one on the same port. Failures are seen at once where --log
or --pid is given. No signal is ever sent without --kill-on-host-oom.`,
		Example: `  python3 -m sglang.launch_server ... >server.log 2>&1 &
  sglplan wait --url http://127.0.0.1:30000 --log server.log --pid $!
  journalctl -fu sglang -n 0 | sglplan wait --log - --timeout 20m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := o.options(cmd)
			if err != nil {
				return err
			}
			if kill && o.pid == 0 {
				return errors.New("--kill-on-host-oom needs --pid: it must know what to end")
			}
			w.KillOnHostOOM = kill
			if stall != 0 {
				w.Stall = map[serverlog.Phase]time.Duration{}
				for p := serverlog.Starting; p < serverlog.Ready; p++ {
					w.Stall[p] = stall
				}
			}
			watchHost(cmd.Context(), &w)
			return wait(cmd, w, o.output)
		},
	}
	o.bind(cmd, startup.DefaultTimeout)
	cmd.Flags().DurationVar(&stall, "stall", 0, "take a phase without progress for a failure after this time (default: by phase, 1 to 15 minutes; negative: never)")
	cmd.Flags().BoolVar(&kill, "kill-on-host-oom", false, "end the launch (--pid) before host memory runs out while host pools are pinned")
	return cmd
}

// watchHost lets the watch read this host's memory.
func watchHost(ctx context.Context, w *startup.Options) {
	fs := hostmem.New("/")
	if ctx == nil {
		ctx = context.Background()
	}
	if h, _, err := fs.Host(ctx); err == nil {
		w.Reserve = hostledger.Reserve(h)
	}
	w.Available = func(ctx context.Context) (units.Bytes, error) {
		h, _, err := fs.Host(ctx)
		if err != nil {
			return 0, err
		}
		if h.AvailableBytes == nil {
			return 0, hostmem.ErrNoMemory
		}
		return *h.AvailableBytes, nil
	}
}

// wait follows a start and prints what happens.
func wait(cmd *cobra.Command, w startup.Options, format string) error {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var show follower = &plainFollower{out: cmd.OutOrStdout()}
	switch {
	case format == "json":
		show = &jsonFollower{out: cmd.OutOrStdout()}
	case isTerminal(cmd.OutOrStdout()):
		show = newLiveFollower(cmd.OutOrStdout())
	}
	for e := range startup.Watch(ctx, w) {
		show.event(e)
		switch e.Outcome {
		case startup.Ready:
			return nil
		case startup.HasFailed:
			explainFailure(cmd.ErrOrStderr(), e)
			return statusError(exitRejected)
		case startup.TimedOut:
			explainFailure(cmd.ErrOrStderr(), e)
			return statusError(exitTimeout)
		}
	}
	return statusError(exitTimeout)
}

// explainFailure prints the cause, what to do, and the last useful lines.
func explainFailure(w io.Writer, e startup.Event) {
	fmt.Fprintf(w, "sglplan: %s [%s]\n", render.Clean(e.Message), e.Code)
	fmt.Fprintf(w, "  cause: %s\n", render.Clean(e.Cause))
	if e.Fix != "" {
		fmt.Fprintf(w, "  fix:   %s\n", e.Fix)
	}
	if len(e.Tail) > 0 {
		fmt.Fprintln(w, "  last lines of the log:")
		for _, l := range e.Tail {
			fmt.Fprintf(w, "    %s\n", render.Clean(l))
		}
	}
}
