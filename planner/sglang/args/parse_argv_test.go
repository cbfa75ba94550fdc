package args

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// argvRow is what the argument parser of a release made of a command line:
// refused, or the fields that differ from its defaults. Config is the content
// of FILE.yaml.
type argvRow struct {
	Release string
	Argv    []string
	Config  *string
	Refused string
	Set     map[string]json.RawMessage
}

func (r argvRow) readFile(name string) ([]byte, error) {
	if name != "FILE.yaml" || r.Config == nil {
		return nil, fs.ErrNotExist
	}
	return []byte(*r.Config), nil
}

// TestParseArgv holds Parse against nine releases' own parsers on chosen
// command lines and config files: every flag, prefixes, = and negative values,
// numbers as Python reads them, JSON, YAML 1.1.
func TestParseArgv(t *testing.T) {
	passed, total := map[string]int{}, map[string]int{}
	for _, r := range readLines[argvRow](t, "testdata/parse_argv.jsonl.gz") {
		total[r.Release]++
		a, fs := Parse(release.MustParse(r.Release), words(r.Argv...), ParseOptions{ReadFile: r.readFile})
		if why := r.compare(a, fs); why != "" {
			config := ""
			if r.Config != nil {
				config = *r.Config
			}
			t.Errorf("%s %q %q: %s", r.Release, r.Argv, config, why)
			continue
		}
		passed[r.Release]++
	}
	t.Logf("passed %v of %v", passed, total)
}

func (r argvRow) compare(a *Args, fs []finding.Finding) string {
	refused := finding.Worst(fs) == finding.Error
	switch {
	case r.Refused != "" && !refused:
		return "accepted, SGLang says " + r.Refused
	case r.Refused == "" && refused:
		return fmt.Sprintf("refused: %+v", fs)
	case refused:
		return ""
	}
	base, _ := Parse(release.MustParse(r.Release), words("--model-path", "m"), ParseOptions{})
	got := map[string]any{}
	for _, f := range a.Fields() {
		v, _ := a.Get(f)
		if b, _ := base.Get(f); v.Origin.Kind == FromDefault || cmp.Equal(b.V, v.V) {
			continue // a flag that sets the default is no difference
		}
		got[f] = finite(v.V)
	}
	want := map[string]any{}
	for f, raw := range r.Set {
		v, _ := fromJSON(string(raw))
		want[f] = v
	}
	return cmp.Diff(want, got)
}

// finite writes the floats that JSON cannot as the vectors do, by name.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return pyRepr(v)
		}
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = finite(x)
		}
		return out
	}
	return v
}
