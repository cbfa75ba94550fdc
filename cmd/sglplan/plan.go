package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/preflight"
)

// requests gathers what the planner needs for every launch that the command
// line or its files name.
func (o *planOptions) requests(cmd *cobra.Command, args []string) ([]planner.Request, error) {
	if err := o.complete(cmd); err != nil {
		return nil, err
	}
	cmds, err := o.launches(cmd, args)
	if err != nil {
		return nil, err
	}
	return preflight.Requests(cmd.Context(), cmds, o.Options)
}

// planAll judges every launch that the command line or its files name, prints
// the result and returns the exit status of the worst verdict.
func planAll(cmd *cobra.Command, o *planOptions, args []string, judge func(planner.Request) *planner.Plan) error {
	reqs, err := o.requests(cmd, args)
	if err != nil {
		return err
	}
	plans := make([]*planner.Plan, len(reqs))
	for i, r := range reqs {
		plans[i] = judge(r)
	}
	planner.ShareHost(plans, reqs)
	if err := printPlans(cmd, o.output, plans); err != nil {
		return err
	}
	return verdictStatus(planner.WorstOf(plans))
}

// several is the JSON of more than one launch.
type several struct {
	Schema   string          `json:"schema"`
	Verdict  planner.Verdict `json:"verdict"`
	Launches []*planner.Plan `json:"launches"`
}

func printPlans(cmd *cobra.Command, format string, plans []*planner.Plan) error {
	w := cmd.OutOrStdout()
	switch format {
	case "json":
		if len(plans) == 1 {
			return writeJSON(w, plans[0])
		}
		return writeJSON(w, several{planner.Schema, planner.WorstOf(plans), plans})
	case "junit":
		return render.JUnit(w, plans)
	case "github":
		return render.GitHub(w, plans)
	case "html":
		return render.HTML(w, plans)
	}
	o := terminal(w)
	for i, p := range plans {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		text := render.Text
		if cmd.Name() == "sweep" {
			text = render.Sweep
		}
		if err := text(w, p, o); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// terminal chooses how text is written: colours only on a terminal and without
// NO_COLOR, its width (80 columns elsewhere), plain characters where the
// locale has no others.
func terminal(w io.Writer) render.Options {
	o := render.Options{Width: 80, ASCII: !utf8Locale()}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.Width = width
	}
	return o
}

func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			up := strings.ToUpper(v)
			return strings.Contains(up, "UTF-8") || strings.Contains(up, "UTF8")
		}
	}
	return false
}
