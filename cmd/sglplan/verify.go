package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

// verifyReport is the plan with what was measured beside it.
type verifyReport struct {
	*planner.Plan
	Entries   []startup.Entry    `json:"entries"`
	Arguments []startup.Argument `json:"arguments,omitempty"` // resolved otherwise than planned
}

// verifyOptions are the options of verify alone.
type verifyOptions struct {
	planOptions
	url, log, key, write string
}

func newVerifyCmd() *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify [options] -- LAUNCH COMMAND...",
		Short: "Plan against a running server or its log, entry by entry",
		Long: `verify plans a launch and lays beside it what its log or the running server says
it measured. It ends with 1 when an entry is outside the plan's band, with 3
when there was nothing to compare. What --write leaves is read by --calibrate
of the planning verbs.`,
		Example: `  sglplan verify --log server.log --write measured.json -- python3 -m sglang.launch_server ...
  sglplan verify --url http://127.0.0.1:30000 -- python3 -m sglang.launch_server ...`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.bind(cmd, "text", "json")
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "address of the running server")
	f.StringVar(&o.log, "log", "", "log of its start, - for stdin")
	f.StringVar(&o.key, "api-key", "", "`KEY` of the server (default: SGLANG_API_KEY of the environment)")
	f.StringVar(&o.write, "write", "", "write what was measured to this file, for --calibrate")
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, args []string) error {
	if o.url == "" && o.log == "" {
		return errors.New("verify needs --log or --url: something to lay beside the plan")
	}
	if err := o.complete(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var start *serverlog.Start
	var info *startup.ServerInfo
	if o.log != "" {
		in, err := openInput(cmd, o.log)
		if err != nil {
			return err
		}
		start, err = serverlog.Read(in)
		in.Close()
		if err != nil {
			return &preflight.InputError{What: "log", Name: o.log, Err: err}
		}
	}
	if o.url != "" {
		i, err := o.ask(ctx)
		if err != nil {
			return &preflight.InputError{What: "server", Name: o.url, Err: err}
		}
		info = &i
	}
	cmds, err := o.launches(cmd, args)
	if err != nil {
		return err
	}
	if len(cmds) != 1 {
		return fmt.Errorf("verify compares one launch with one server; %d were found", len(cmds))
	}
	o.Running = true // the server itself must not count as a neighbour of its launch
	reqs, err := preflight.Requests(ctx, cmds, o.Options)
	if err != nil {
		return err
	}
	report := compare(planner.Check(reqs[0]), start, info)
	if o.write != "" {
		if err := writeCalibration(o.write, report, start, info); err != nil {
			return err
		}
	}
	if o.output == "json" {
		err = writeJSON(cmd.OutOrStdout(), report)
	} else {
		err = report.text(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return report.status()
}

// ask asks the server, whose release is then that of the plan too.
func (o *verifyOptions) ask(ctx context.Context) (startup.ServerInfo, error) {
	var r release.Release
	if o.SGLang != "" {
		var err error
		if r, err = release.Parse(o.SGLang); err != nil {
			return startup.ServerInfo{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	i, err := startup.AskServer(ctx, o.url, apiKey(o.key), r)
	if err == nil && o.SGLang == "" {
		if v, err := release.Parse(i.Version); err == nil {
			o.SGLang = v.String()
		}
	}
	return i, err
}

// compare makes the report of a plan and of what was measured.
func compare(p *planner.Plan, start *serverlog.Start, info *startup.ServerInfo) *verifyReport {
	r := &verifyReport{Plan: p, Entries: []startup.Entry{}}
	actual := map[string]any{}
	if start != nil {
		r.Entries = append(r.Entries, startup.Compare(p, startup.Measure(start))...)
		actual = start.Arguments()
	}
	if info != nil {
		r.Entries = append(r.Entries, startup.CompareServer(p, *info)...)
		actual = info.Arguments
	}
	r.Findings = append(r.Findings, startup.Outside(r.Entries)...)
	differ, said := startup.CompareArguments(p, actual)
	r.Arguments = differ
	r.Findings = append(r.Findings, said...)
	return r
}

// status is the exit status: 1 outside the bands, 3 nothing compared.
func (r *verifyReport) status() error {
	for _, e := range r.Entries {
		if !e.Inside {
			return statusError(exitRejected)
		}
	}
	if len(r.Entries) == 0 {
		return statusError(exitUndecided)
	}
	return nil
}

// writeCalibration writes what was measured for --calibrate.
func writeCalibration(name string, r *verifyReport, start *serverlog.Start, info *startup.ServerInfo) error {
	c := planner.Calibration{Schema: planner.Schema}
	if start != nil {
		var err error
		if c, err = startup.Calibrate(start); err != nil {
			return &preflight.InputError{What: "log", Name: "for --write", Err: err}
		}
	}
	c.SGLangVersion = r.Launch.SGLangVersion
	if c.ModelPath == "" {
		c.ModelPath = r.Launch.ModelPath
	}
	if info != nil {
		if c.MaxTotalTokens == nil && info.Tokens > 0 {
			c.MaxTotalTokens = &info.Tokens
		}
		if c.Weights == nil {
			c.Weights = info.Weights
		}
		if f, ok := info.Arguments["mem_fraction_static"].(json.Number); ok && c.MemFraction == nil {
			if v, err := f.Float64(); err == nil {
				c.MemFraction = &v
			}
		}
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// text prints the comparison for people.
func (r *verifyReport) text(w io.Writer) error {
	if len(r.Entries) == 0 {
		_, err := fmt.Fprintln(w, "Nothing to compare: the log or the server has no figure that the plan has too.")
		if err != nil {
			return err
		}
	}
	entriesTable(w, r.Entries)
	var fs []finding.Finding
	for _, f := range r.Findings {
		if f.Code == startup.CodeOutside || f.Code == startup.CodeArgument {
			fs = append(fs, f)
		}
	}
	return render.Findings(w, fs, terminal(w))
}

// entriesTable prints plan and reality side by side.
func entriesTable(w io.Writer, entries []startup.Entry) {
	if len(entries) == 0 {
		return
	}
	rows := [][]string{{"ENTRY", "PLANNED", "LOW", "HIGH", "MEASURED", "", "FROM"}}
	for _, e := range entries {
		show := func(n int64) string { return fmt.Sprint(n) }
		measured := e.Count
		switch {
		case e.Bytes != nil && strings.HasPrefix(e.Name, "host_"): // as --hicache-size counts
			show, measured = func(n int64) string { return fmt.Sprintf("%.2f GB", units.Bytes(n).GB()) }, e.Bytes
		case e.Bytes != nil:
			show, measured = func(n int64) string { return units.Bytes(n).String() }, e.Bytes
		}
		verdict := "inside"
		if !e.Inside {
			verdict = "OUTSIDE"
		}
		rows = append(rows, []string{e.Name, show(e.Planned.Value), show(e.Planned.Low), show(e.Planned.High), show(*measured), verdict, e.Source})
	}
	table(w, rows)
}
