package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/hostmem"
	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/preflight"
)

// statusReport is what `sglplan status -o json` prints.
type statusReport struct {
	Schema   string             `json:"schema"`
	State    string             `json:"state"` // ready, starting, failed, stopped, nothing
	Phase    *serverlog.Phase   `json:"phase"` // null without a log
	Progress *float64           `json:"progress,omitempty"`
	Health   *healthReport      `json:"health"`
	Failure  *serverlog.Failure `json:"failure,omitempty"`
	Model    string             `json:"model_path,omitempty"`
	Version  string             `json:"sglang_version,omitempty"`
	Tokens   int64              `json:"max_total_num_tokens,omitempty"`
	Process  *processReport     `json:"process,omitempty"`
	Ranks    int                `json:"ranks_alive"`
	Dying    []machine.Proc     `json:"dying,omitempty"` // in state D or Z
	Machine  machine.Machine    `json:"machine"`
	Expected []startup.Entry    `json:"expected,omitempty"` // the plan beside what was measured
	Findings []finding.Finding  `json:"findings"`

	progress *serverlog.Progress
	quiet    time.Duration
}

type healthReport struct {
	URL    string `json:"url"`
	Status int    `json:"status"` // 0: no HTTP answer
	State  string `json:"state"`
	text   string
}

type processReport struct {
	PID   int  `json:"pid"`
	Alive bool `json:"alive"`
}

func newStatusCmd() *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "status [options]",
		Short: "One look: phase, progress, host and GPU memory, health",
		Long: `status takes one look at a start or a running server on this host: the phase and
progress of its log, what its port answers, host memory, every GPU, the ranks
that are alive or dying, and what earlier launches left. It ends with 1 when
the start has failed. For another host run it there.`,
		Example: "  sglplan status --log server.log\n  ssh gpu-host sglplan status --url http://127.0.0.1:30000 -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd, &o) },
	}
	o.bind(cmd, 20*time.Second)
	return cmd
}

func runStatus(cmd *cobra.Command, o *watchOptions) error {
	w, err := o.options(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	look, err := startup.Look(ctx, w)
	if err != nil {
		return err
	}
	r := reportStatus(look)
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	r.Machine = preflight.Machine(probe, environment())
	running := hostmem.New("/").Running(holders(r.Machine)...)
	r.processes(running)
	r.Findings = append(r.Findings, machine.Leftovers(r.Machine, running)...)
	if o.plan != "" && look.Start != nil {
		p, err := readPlan(cmd, o.plan)
		if err != nil {
			return err
		}
		r.Expected = startup.Compare(p, startup.Measure(look.Start))
	}
	if o.output == "json" {
		err = writeJSON(cmd.OutOrStdout(), r)
	} else {
		err = r.text(cmd.OutOrStdout())
	}
	if err == nil && r.State == "failed" {
		return statusError(exitRejected)
	}
	return err
}

// reportStatus judges what one look saw. The port knows best whether a server
// is up; the log knows why not.
func reportStatus(l startup.Status) *statusReport {
	r := &statusReport{
		Schema: planner.Schema, State: "nothing", Findings: []finding.Finding{},
		Model: l.Model, Version: l.Version, Tokens: l.Tokens, Ranks: l.Ranks, quiet: l.Quiet,
	}
	if l.PID != 0 {
		r.Process = &processReport{l.PID, l.Alive}
	}
	if a := l.Answer; a != nil {
		r.Health = &healthReport{l.URL, a.Status, a.State, a.String()}
		if a.Status != 0 {
			r.State = "starting"
		}
	}
	if s := l.Start; s != nil {
		r.Phase, r.Failure, r.progress = &s.Phase, s.Failure, s.Progress
		if s.Phase > serverlog.Starting {
			r.State = "starting"
		}
		if s.Progress != nil {
			f := s.Progress.Fraction()
			r.Progress = &f
		}
		if r.Model == "" {
			r.Model = s.Text("model_path")
		}
		if r.Tokens == 0 && s.Sizes != nil {
			r.Tokens = s.Sizes.MaxTotalNumTokens
		}
	}
	switch s := l.Start; {
	case l.Up:
		r.State = "ready"
	case s != nil && s.Failure != nil, l.PID != 0 && !l.Alive:
		r.State = "failed"
	case s != nil && s.Stopped:
		r.State = "stopped"
	case l.Alive && r.State == "nothing":
		r.State = "starting"
	}
	return r
}

// processes counts the ranks of this host and names those that are dying.
func (r *statusReport) processes(running machine.Running) {
	ranks := 0
	for _, p := range running.Procs {
		if p.IsSGLang() && (p.Dying() || p.Dead()) {
			r.Dying = append(r.Dying, p)
		} else if strings.HasPrefix(p.Name, "sglang::schedul") {
			ranks++
		}
	}
	if r.Process == nil {
		r.Ranks = ranks
	}
}

// text prints the report for people.
func (r *statusReport) text(w io.Writer) error {
	var b strings.Builder
	rows := [][]string{{"state", r.State}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("model", r.Model)
	add("SGLang", r.Version)
	if r.Phase != nil {
		phase := r.Phase.String()
		if r.progress != nil {
			phase += ", " + barText(r.progress)
		}
		if r.quiet > time.Minute {
			phase += fmt.Sprintf(" (log not written for %v)", r.quiet.Round(time.Second))
		}
		add("phase", phase)
	}
	if r.Tokens > 0 {
		add("KV tokens", fmt.Sprint(r.Tokens))
	}
	if r.Health != nil {
		add("health", r.Health.URL+": "+r.Health.text)
	}
	if p := r.Process; p != nil {
		add("launcher", fmt.Sprintf("%d, %s", p.PID, map[bool]string{true: "alive", false: "ended"}[p.Alive]))
	}
	add("ranks alive", fmt.Sprint(r.Ranks))
	table(&b, rows)
	if f := r.Failure; f != nil {
		d, _ := finding.Explain(f.Code)
		fmt.Fprintf(&b, "failed in %s: %s [%s]\n  cause: %s\n  fix:   %s\n", f.Phase, d.Summary, f.Code, f.Cause, d.Do)
	}
	if len(r.Expected) > 0 {
		b.WriteByte('\n')
		entriesTable(&b, r.Expected)
	}
	b.WriteByte('\n')
	if err := writeMachineText(&b, machineReport{Machine: r.Machine}); err != nil {
		return err
	}
	if err := render.Findings(&b, r.Findings, terminal(w)); err != nil {
		return err
	}
	_, err := io.WriteString(w, render.Clean(b.String()))
	return err
}
