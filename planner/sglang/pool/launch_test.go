package pool_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// command is the launch that a vector was made from.
func (v vector) command() []string {
	out := []string{"--model-path", v.Model, "--mem-fraction-static", "0.875"}
	given := func(f string) bool {
		for _, x := range v.Flags {
			if x == f {
				return true
			}
		}
		return false
	}
	if !given("--tp-size") {
		out = append(out, "--tp-size", strconv.Itoa(v.TP))
	}
	if v.KV != "auto" && !given("--kv-cache-dtype") {
		out = append(out, "--kv-cache-dtype", v.KV)
	}
	return append(out, v.Flags...)
}

// launched sizes a launch from its flags alone, as a plan does.
func launched(r release.Release, v vector, cfgs map[string]*model.Config) (*pool.Sizer, *modelcfg.Info, error) {
	cfg := cfgs[v.Model]
	var words []launch.Word
	for _, w := range v.command() {
		words = append(words, launch.Word{Text: w})
	}
	raw, fs := args.Parse(r, words, args.ParseOptions{})
	if raw == nil {
		return nil, nil, fmt.Errorf("parse: %v", fs)
	}
	opt := func(a *args.Args) modelcfg.Options {
		return modelcfg.Options{ContextLength: int(a.Int("context_length")), DType: a.Str("dtype"), Quantization: a.Str("quantization"),
			DisableHybridSWA: a.Bool("disable_hybrid_swa_memory"), SSMDType: a.Str("mamba_ssm_dtype"), Algorithm: a.Str("speculative_algorithm")}
	}
	m, _ := modelcfg.Derive(r, cfg, opt(raw))
	a, _ := args.Resolve(r, raw, m, cfg, v.card(), 8, nil)
	m, _ = modelcfg.Derive(r, cfg, opt(a))
	var draft *modelcfg.Info
	if p := a.Str("speculative_draft_model_path"); p != "" {
		o := opt(a)
		o.IsDraft, o.ContextLength = true, 0
		draft, _ = modelcfg.Derive(r, cfgs[p], o)
	}
	s, pf := pool.New(r, a, m, draft, v.card(), nil)
	if s == nil {
		return nil, m, fmt.Errorf("no sizer: %v", pf)
	}
	return s, m, nil
}

func TestLaunches(t *testing.T) {
	cfgs := configs(t)
	exact, all := 0, 0
	shown := map[string]int{}
	lines(t, "testdata/kv_cell.jsonl.gz", func(b []byte) {
		var v vector
		require.NoError(t, json.Unmarshal(b, &v))
		if len(v.Runs) == 0 || v.Runs[0].Total == nil {
			return
		}
		all++
		s, _, err := launched(release.MustParse(v.Tag), v, cfgs)
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			for _, u := range v.Runs {
				if why == "" {
					why = u.differs(s, s.FirstStageAt(0.875, u.Pre, u.Avail))
				}
			}
		}
		if why == "" {
			exact++
			return
		}
		if key := v.Tag + v.Model; shown[key] < 1 {
			shown[key]++
			t.Logf("%s %d %s %s tp %d %s %v: %s", v.Tag, v.ID, v.Model, v.GPU.Name, v.TP, v.KV, v.Flags, why)
		}
	})
	t.Logf("launches exact: %d of %d", exact, all)
	require.GreaterOrEqual(t, 1000*exact, 995*all)
}
