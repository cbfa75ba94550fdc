package args

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// vector is one launch with what SGLang's own ServerArgs made of it.
type vector struct {
	Tag string
	GPU struct {
		Name       string
		MemMiB     int64 `json:"mem_mib"`
		Capability [2]int
	}
	Argv  []string
	Env   Env
	Out   map[string]any
	Error *struct{ Stage, Type, Msg string }
}

func (v vector) model() string { return v.Argv[slices.Index(v.Argv, "--model-path")+1] }

func testConfigs(t testing.TB) map[string]*model.Config {
	type row struct {
		Name   string
		Config json.RawMessage
		Quant  json.RawMessage
	}
	out := map[string]*model.Config{}
	for _, r := range readLines[row](t, "testdata/configs.jsonl.gz") {
		c, err := model.ParseConfig(strings.NewReader(string(r.Config)))
		require.NoError(t, err)
		if r.Quant != nil {
			c.Quant, err = model.ParseSection(strings.NewReader(string(r.Quant)))
			require.NoError(t, err)
		}
		out[r.Name] = c
	}
	return out
}

// resolved runs one launch through parsing, the model's facts and resolution.
func resolved(v vector, cfg *model.Config) (*Args, []finding.Finding) {
	r := release.MustParse(strings.TrimPrefix(v.Tag, "v"))
	a, found := Parse(r, words(v.Argv...), ParseOptions{})
	opt := modelcfg.Options{
		Overrides:     a.Str("json_model_override_args"),
		ContextLength: int(a.Int("context_length")),
		DType:         a.Str("dtype"), Quantization: a.Str("quantization"),
		AllowLongerContext: v.Env.Bool("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", false),
		LanguageModelOnly:  a.Bool("language_model_only"),
		ModelImpl:          a.Str("model_impl"),
	}
	if a.Has("enable_multimodal") {
		on := a.Bool("enable_multimodal")
		opt.EnableMultimodal = &on
	}
	info, more := modelcfg.Derive(r, cfg, opt)
	found = append(found, more...)
	card := machine.Card{Name: v.GPU.Name, TotalMiB: v.GPU.MemMiB, Major: v.GPU.Capability[0], Minor: v.GPU.Capability[1]}
	out, more := Resolve(r, a, info, cfg, card, 16, v.Env)
	return out, append(found, more...)
}

// differs says how a resolution differs from SGLang's, "" when it does not.
func (v vector) differs(a *Args, found []finding.Finding) string {
	refused := finding.Worst(found) == finding.Error
	if v.Error != nil {
		if !refused {
			return "not refused: " + v.Error.Stage + " " + v.Error.Msg
		}
		return ""
	}
	keys := make([]string, 0, len(v.Out))
	for k := range v.Out {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if got, _ := a.Get(k); !vectorEqual(got.V, v.Out[k]) {
			return fmt.Sprintf("%s is %v, want %v", k, brief(got.V), brief(v.Out[k]))
		}
	}
	if refused {
		for _, f := range found {
			if f.Severity == finding.Error {
				return "refused: " + string(f.Code) + " " + f.Detail
			}
		}
	}
	return ""
}

func brief(v any) string {
	s := fmt.Sprintf("%v", v)
	if len(s) > 150 {
		s = s[:150] + "..."
	}
	return s
}

// vectorEqual compares with a value of the vectors, where a list of sizes stands
// as its length, ends and, unless long, its elements.
func vectorEqual(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		if _, graphs := w["decode"]; graphs {
			return sameGraphs(got, w)
		}
		return sameList(got, w)
	case float64:
		switch g := got.(type) {
		case int64:
			return float64(g) == w
		case float64:
			return g-w < 1e-6 && w-g < 1e-6
		}
		return false
	}
	return got == want
}

func sameGraphs(got any, want map[string]any) bool {
	g, _ := got.(map[string]any)
	for _, phase := range []string{"decode", "prefill"} {
		gp, _ := g[phase].(map[string]any)
		wp, _ := want[phase].(map[string]any)
		for _, k := range []string{"backend", "max_bs", "bs"} {
			if !vectorEqual(gp[k], wp[k]) {
				return false
			}
		}
	}
	return true
}

func sameList(got any, want map[string]any) bool {
	l, ok := got.([]any)
	if !ok || float64(len(l)) != want["len"] {
		return false
	}
	full, _ := want["list"].([]any)
	if len(full) != len(l) {
		return len(l) == 0 || vectorEqual(l[len(l)-1], want["max"])
	}
	for i := range l {
		if !vectorEqual(l[i], full[i]) {
			return false
		}
	}
	return true
}

// TestResolveVectors holds Resolve against the values that releases' own
// ServerArgs gave for the same launches on many cards. The second file covers
// the releases between; it was made with one newer transformers for all, and
// launches whose model class that changed are left out.
func TestResolveVectors(t *testing.T) {
	cfgs := testConfigs(t)
	for _, file := range []string{"server_args", "server_args_between"} {
		t.Run(file, func(t *testing.T) {
			passed, total := map[string]int{}, map[string]int{}
			for _, v := range readLines[vector](t, "testdata/"+file+".jsonl.gz") {
				a, found := resolved(v, cfgs[v.model()])
				total[v.Tag]++
				why := v.differs(a, found)
				if why == "" {
					passed[v.Tag]++
					continue
				}
				t.Errorf("%s on %s: %s: %s %v", v.Tag, v.GPU.Name, why, strings.Join(v.Argv, " "), v.Env)
			}
			t.Logf("passed %v of %v", passed, total)
		})
	}
}
