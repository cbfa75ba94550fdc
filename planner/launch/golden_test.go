package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
)

var update = flag.Bool("update", false, "write the expected launches anew")

// golden is what a file is expected to hold, in a form that people can check.
type golden struct {
	Error    string          `json:"error,omitempty"`
	Findings []string        `json:"findings,omitempty"`
	Launches []goldenCommand `json:"launches,omitempty"`
}

type goldenCommand struct {
	Line      int               `json:"line"`
	Command   string            `json:"command"`
	Env       map[string]string `json:"env,omitempty"`
	Unknown   []string          `json:"unknown,omitempty"`
	Python    string            `json:"python,omitempty"`
	Container *Container        `json:"container,omitempty"`
	Nodes     int               `json:"nodes,omitempty"`
	Host      string            `json:"host,omitempty"`
	Logged    int               `json:"logged_fields,omitempty"`
	Findings  []string          `json:"findings,omitempty"`
}

func goldenOf(f File, err error) golden {
	g := golden{Findings: said(f.Findings)}
	if err != nil {
		g.Error = err.Error()
	}
	for _, c := range f.Commands {
		gc := goldenCommand{
			Line: c.Source.Line, Command: Quote(c.Argv()), Env: c.Env, Python: c.Python, Container: c.Container,
			Nodes: c.Nodes, Host: c.Host, Logged: len(c.Logged), Findings: said(c.Findings),
		}
		for _, w := range append(append([]Word{}, c.Prefix...), c.Flags...) {
			if w.Unknown {
				gc.Unknown = append(gc.Unknown, w.Text)
			}
		}
		g.Launches = append(g.Launches, gc)
	}
	return g
}

// said writes findings on one line each: place, severity, code and detail.
func said(fs []finding.Finding) []string {
	var out []string
	for _, f := range fs {
		line := "-"
		if p := f.Position; p != nil {
			b, _ := json.Marshal(p.Line)
			line = string(b)
			if p.Container != "" {
				line += " (" + p.Container + ")"
			}
		}
		out = append(out, line+" "+f.Severity.String()+" "+string(f.Code)+": "+f.Detail)
	}
	return out
}

// TestFiles reads every file of testdata and compares with what stands beside
// it.
func TestFiles(t *testing.T) {
	for _, dir := range []string{"scripts", "files"} {
		names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		require.NoError(t, err)
		n := 0
		for _, name := range names {
			if strings.HasSuffix(name, ".golden.json") || strings.HasSuffix(name, ".check.json") {
				continue
			}
			n++
			t.Run(filepath.Base(name), func(t *testing.T) { checkGolden(t, name) })
		}
		require.GreaterOrEqual(t, n, map[string]int{"scripts": 25, "files": 20}[dir], dir)
	}
}

func checkGolden(t *testing.T, name string) {
	in, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := Read(filepath.Base(name), bytes.NewReader(in))
	var re *ReadError
	require.True(t, err == nil || errors.As(err, &re), "%v", err)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(goldenOf(f, err)))
	want := name + ".golden.json"
	if *update {
		require.NoError(t, os.WriteFile(want, out.Bytes(), 0o644))
	}
	b, err := os.ReadFile(want)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(b), out.String()))
}
