package pool_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// The vectors were made by running SGLang's own pool code of seven releases
// with only the machine's answers set; pipeline rows are those of the first
// stage alone.

type run struct {
	Avail float64               `json:"avail_gib"`
	Pre   float64               `json:"pre_gib"`
	Cell  float64               `json:"cell_size"`
	Total *int64                `json:"max_total_num_tokens"`
	Full  *int64                `json:"full_max_total_num_tokens"`
	SWA   *int64                `json:"swa_max_total_num_tokens"`
	Slots *int64                `json:"max_mamba_cache_size"`
	Reqs  int64                 `json:"max_running_requests"`
	C4    int64                 `json:"c4_state_pool_size"`
	Draft *int                  `json:"eagle_draft_num_layers"`
	Rows  *struct{ Size int64 } `json:"req_pool_args"`
	Error json.RawMessage
}

type vector struct {
	Tag string
	ID  int
	GPU struct {
		Name       string
		MiB        int64 `json:"mem_mib"`
		Capability [2]int
	}
	Model string `json:"model_name"`
	TP    int
	KV    string `json:"kv_cache_dtype"`
	Flags []string
	Want  struct {
		Hybrid bool `json:"is_hybrid_swa"`
	} `json:"model"`
	Heads  int            `json:"kv_heads_per_rank"`
	AttnTP int            `json:"attn_tp"`
	Stage  []int          `json:"pp_layers"`
	Args   map[string]any `json:"server_args"`
	Runs   []run
}

func lines(t testing.TB, file string, use func([]byte)) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s := bufio.NewScanner(z)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		use(s.Bytes())
	}
	require.NoError(t, s.Err())
}

func configs(t testing.TB) map[string]*model.Config {
	out := map[string]*model.Config{}
	lines(t, "testdata/configs.jsonl.gz", func(b []byte) {
		var c struct {
			Name          string
			Config, Quant json.RawMessage
		}
		require.NoError(t, json.Unmarshal(b, &c))
		cfg := &model.Config{}
		var err error
		cfg.Top, err = model.ParseSection(bytes.NewReader(c.Config))
		require.NoError(t, err)
		if c.Quant != nil {
			cfg.Quant, err = model.ParseSection(bytes.NewReader(c.Quant))
			require.NoError(t, err)
		}
		out[c.Name] = cfg
	})
	return out
}

// resolved lays a vector's resolved arguments and flags out as Args.
func (v vector) resolved() *args.Args {
	a := args.New()
	for k, x := range v.Args {
		if f, ok := x.(float64); ok && f == float64(int64(f)) {
			x = int64(f)
		}
		a.Set(k, x, args.Origin{Kind: args.FromDefault})
	}
	a.Set("tp_size", v.TP, args.Origin{})
	for i := 0; i < len(v.Flags); i++ {
		if !strings.HasPrefix(v.Flags[i], "--") {
			continue
		}
		field := strings.ReplaceAll(v.Flags[i][2:], "-", "_")
		o := args.Origin{Kind: args.FromFlag}
		switch {
		case i+1 == len(v.Flags) || strings.HasPrefix(v.Flags[i+1], "--"):
			a.Set(field, true, o)
		case v.Args[field] != nil:
			a.Set(field, must(a.Get(field)).V, o) // the resolved value counts
		default:
			if n, err := strconv.ParseInt(v.Flags[i+1], 10, 64); err == nil {
				a.Set(field, n, o)
			} else {
				a.Set(field, v.Flags[i+1], o)
			}
		}
	}
	return a
}

func must(v args.Value, _ bool) args.Value { return v }

// launch derives the target and, where the release charges one, the draft.
func (v vector) launch(cfgs map[string]*model.Config) (release.Release, *args.Args, *modelcfg.Info, *modelcfg.Info) {
	r, a := release.MustParse(v.Tag), v.resolved()
	opt := modelcfg.Options{SSMDType: a.Str("mamba_ssm_dtype"), DisableHybridSWA: !v.Want.Hybrid, ContextLength: int(a.Int("context_length"))}
	m, _ := modelcfg.Derive(r, cfgs[v.Model], opt)
	var draft *modelcfg.Info
	dopt := modelcfg.Options{IsDraft: true, Algorithm: a.Str("speculative_algorithm")}
	if p := a.Str("speculative_draft_model_path"); p != "" {
		draft, _ = modelcfg.Derive(r, cfgs[p], dopt)
	} else if len(v.Runs) > 0 && v.Runs[0].Draft != nil && (r.Before("0.5.20") || v.Runs[0].Draft != nil && !m.HasNumNextN) {
		draft, _ = modelcfg.Derive(r, cfgs[v.Model], dopt)
		a.Rule("speculative_draft_model_path", v.Model, "") // argument handling names the target's own path
	}
	return r, a, m, draft
}

func (v vector) card() machine.Card {
	return machine.Card{Name: v.GPU.Name, TotalMiB: v.GPU.MiB, Major: v.GPU.Capability[0], Minor: v.GPU.Capability[1]}
}

// differs describes how a result misses a run, "" when it is exact.
func (u run) differs(s *pool.Sizer, got pool.Result) string {
	if u.Total == nil {
		if got.Refused == pool.None {
			return fmt.Sprintf("not refused: %s", u.Error)
		}
		return ""
	}
	var d []string
	eq := func(name string, want, have int64) {
		if want != have {
			d = append(d, fmt.Sprintf("%s %d for %d", name, have, want))
		}
	}
	if got.Refused != pool.None {
		return "refused: " + got.Refused.String()
	}
	if c := s.FirstStageCell(); c != u.Cell {
		d = append(d, fmt.Sprintf("cell %v for %v", c, u.Cell))
	}
	eq("tokens", *u.Total, got.MaxTotalTokens)
	if u.Full != nil {
		eq("full", *u.Full, got.FullTokens)
	}
	if u.SWA != nil {
		eq("swa", *u.SWA, got.SWATokens)
	}
	if u.Slots != nil && len(s.Pools()) > 0 && s.Pools()[len(s.Pools())-1].Name == "mamba" {
		eq("slots", *u.Slots, got.StateSlots)
	}
	eq("requests", u.Reqs, got.MaxRunningRequests)
	eq("c4 state", u.C4, got.C4StateRows)
	if u.Rows != nil {
		eq("rows", u.Rows.Size, got.RequestRows)
	}
	return strings.Join(d, ", ")
}

type tally struct{ exact, all int }

func TestVectors(t *testing.T) {
	cfgs := configs(t)
	byTag, byClass, total := map[string]tally{}, map[string]tally{}, tally{}
	shown := map[string]int{}
	lines(t, "testdata/kv_cell.jsonl.gz", func(b []byte) {
		var v vector
		require.NoError(t, json.Unmarshal(b, &v))
		if len(v.Runs) == 0 {
			return
		}
		r, a, m, draft := v.launch(cfgs)
		s, fs := pool.New(r, a, m, draft, v.card(), nil)
		why := ""
		if s == nil {
			why = fmt.Sprint("no sizer ", fs)
		} else if m.AttentionArch != modelcfg.SSM && s.KVHeadsPerRank() != v.Heads {
			why = fmt.Sprintf("heads %d for %d", s.KVHeadsPerRank(), v.Heads)
		}
		for _, u := range v.Runs {
			if s != nil && why == "" {
				why = u.differs(s, s.FirstStageAt(0.875, u.Pre, u.Avail))
			}
		}
		add := func(m map[string]tally, k string) {
			n := m[k]
			n.all++
			if why == "" {
				n.exact++
			}
			m[k] = n
		}
		add(byTag, v.Tag)
		add(byClass, string(m.Class))
		total.all++
		if why == "" {
			total.exact++
			return
		}
		if key := v.Tag + v.Model; shown[key] < 2 {
			shown[key]++
			t.Logf("%s %d %s tp %d %s %v: %s", v.Tag, v.ID, v.Model, v.TP, v.KV, v.Flags, why)
		}
	})
	t.Logf("rows exact: %d of %d", total.exact, total.all)
	for _, m := range []map[string]tally{byTag, byClass} {
		for _, k := range slices.Sorted(mapKeys(m)) {
			t.Logf("  %-12s %d of %d", k, m[k].exact, m[k].all)
		}
	}
	require.GreaterOrEqual(t, total.exact, total.all)
}

func mapKeys(m map[string]tally) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
