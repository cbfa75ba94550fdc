package loading

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// vector is one construction of SGLang's own model class on the meta device.
type vector struct {
	Tag, Model, GPU, Role, Error string
	ID, Rank                     int
	MiB                          int64
	SM                           [2]int
	TP, Stage                    int64
	Flags                        []string
	Env                          map[string]string
	Built, Load, Peak, After     int64
	Resident                     *int64
	Groups                       map[string]int64
	BuiltGroups                  map[string]int64 `json:"built_groups"`
}

func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = b.ReadFrom(z)
	require.NoError(t, err)
	return b.Bytes()
}

func vectors(t testing.TB) []vector {
	var out []vector
	s := bufio.NewScanner(bytes.NewReader(gunzip(t, "testdata/vectors.jsonl.gz")))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(s.Bytes(), &v))
		out = append(out, v)
	}
	return out
}

func configs(t testing.TB) map[string]*model.Config {
	var raw map[string]struct{ Config, Quant json.RawMessage }
	require.NoError(t, json.Unmarshal(gunzip(t, "testdata/configs.json.gz"), &raw))
	out := map[string]*model.Config{}
	for name, r := range raw {
		c, err := model.ParseConfig(bytes.NewReader(r.Config))
		require.NoError(t, err, name)
		if r.Quant != nil {
			c.Quant, err = model.ParseSection(bytes.NewReader(r.Quant))
			require.NoError(t, err, name)
		}
		out[name] = c
	}
	return out
}

// launch turns a vector's flags into resolved arguments, as far as they
// matter here.
func (v vector) launch() *args.Args {
	a := args.New()
	set := func(k string, val any) { a.Set(k, val, args.Origin{Kind: args.FromFlag}) }
	set("tp_size", v.TP)
	for i := 0; i < len(v.Flags); i++ {
		field := strings.ReplaceAll(strings.TrimPrefix(v.Flags[i], "--"), "-", "_")
		if i+1 == len(v.Flags) || strings.HasPrefix(v.Flags[i+1], "--") {
			set(field, true)
			continue
		}
		i++
		if n, err := strconv.ParseInt(v.Flags[i], 10, 64); err == nil {
			set(field, n)
		} else {
			set(field, v.Flags[i])
		}
	}
	return a
}

// config returns the model of a vector: the draft's own where it has one, with
// --json-model-override-args applied.
func (v vector) config(all map[string]*model.Config) *model.Config {
	c := all[v.Model]
	if v.Role == "draft" {
		if i := slices.Index(v.Flags, "--speculative-draft-model-path"); i >= 0 {
			c = all[v.Flags[i+1]]
		}
	}
	if i := slices.Index(v.Flags, "--json-model-override-args"); i >= 0 {
		over, _ := model.ParseSection(strings.NewReader(v.Flags[i+1]))
		top := model.Section{}
		for k, x := range c.Top {
			top[k] = x
		}
		for k, x := range over {
			top[k] = x
		}
		c = &model.Config{Top: top, Quant: c.Quant}
	}
	return c
}

func (v vector) card() machine.Card {
	return machine.Card{Name: v.GPU, TotalMiB: v.MiB, Major: v.SM[0], Minor: v.SM[1]}
}

func (v vector) run(all map[string]*model.Config) (*weights.Result, error) {
	opt := Options{PPStage: v.Stage, Env: v.Env}
	c := v.config(all)
	if v.Role == "draft" {
		opt.Draft, opt.Target = true, all[v.Model]
	}
	res, fs := Estimate(release.MustParse(strings.TrimPrefix(v.Tag, "v")), v.launch(), c, v.card(), opt)
	if res == nil {
		return nil, fmt.Errorf("%s: %s", fs[0].Code, fs[0].Detail)
	}
	return res, nil
}

func (v vector) String() string {
	return fmt.Sprintf("%s %d %s %s tp%d stage%d %s %v %v", v.Tag, v.ID, v.Model, v.GPU, v.TP, v.Stage, v.Role, v.Flags, v.Env)
}

type miss struct {
	v         vector
	err, load float64
	why       string
	res       *weights.Result
}

func TestVectors(t *testing.T) {
	all := configs(t)
	var ms []miss
	refused, accepted := 0, 0
	for _, v := range vectors(t) {
		res, err := v.run(all)
		switch {
		case v.Error != "" && err != nil:
			refused++
		case v.Error != "":
			accepted++
		default:
			m := miss{v: v, err: 1, load: 1, res: res}
			if err != nil {
				m.why = err.Error()
			} else {
				m.err = ratio(res.Resident, v.resident())
				m.load = ratio(res.Load, v.Load)
			}
			ms = append(ms, m)
		}
	}
	report(t, ms)
	t.Logf("refusals of SGLang's own: %d seen, %d not", refused, accepted)
	require.GreaterOrEqual(t, refused, 2*accepted, "what SGLang refuses is refused")
	bands(t, ms)
	classes(t, ms)
}

// resident is the truth about the tensors that stay: those built where the
// rewriting could not be run.
func (v vector) resident() int64 {
	if v.Resident != nil {
		return *v.Resident
	}
	return v.Built
}

func ratio(f figure.Bytes, truth int64) float64 {
	return float64(f.Value)/float64(truth) - 1
}

// bands checks that the figures' bands hold the truth.
func bands(t *testing.T, ms []miss) {
	within := func(what string, want float64, pick func(miss) (figure.Bytes, int64)) {
		got := share(ms, func(m miss) bool {
			if m.res == nil {
				return false
			}
			f, truth := pick(m)
			return truth == 0 || int64(f.Low) <= truth && truth <= int64(f.High)
		})
		t.Logf("%s within its band: %.1f%%", what, 100*got)
		require.GreaterOrEqual(t, got, want, what)
	}
	within("resident", 1, func(m miss) (figure.Bytes, int64) { return m.res.Resident, m.v.resident() })
	within("built", 1, func(m miss) (figure.Bytes, int64) { return m.res.Constructed, m.v.Built })
	within("shared", 1, func(m miss) (figure.Bytes, int64) { return m.res.AfterSharing, m.v.After })
	within("load", 0.99, func(m miss) (figure.Bytes, int64) { return m.res.Load, m.v.Load })
	within("peak", 0.97, func(m miss) (figure.Bytes, int64) { return m.res.Peak, m.v.Peak })
}

// classes checks that the classes called checked are those of the vectors.
func classes(t *testing.T, ms []miss) {
	seen := map[string]bool{}
	for _, m := range ms {
		if m.res != nil {
			seen[m.res.Architecture] = true
			require.True(t, checkedMethods[m.res.Scheme], m.res.Scheme)
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(checkedClasses)), slices.Sorted(maps.Keys(seen)))
}

func share(ms []miss, ok func(miss) bool) float64 {
	n := 0
	for _, m := range ms {
		if ok(m) {
			n++
		}
	}
	return float64(n) / float64(max(len(ms), 1))
}

// report prints the worst model by model and holds the thresholds.
func report(t *testing.T, ms []miss) {
	abs := func(m miss) float64 { return math.Abs(m.err) }
	by := map[string]miss{}
	for _, m := range ms {
		if w, ok := by[m.v.Model]; !ok || abs(m) > abs(w) {
			by[m.v.Model] = m
		}
	}
	worst := make([]miss, 0, len(by))
	for _, m := range by {
		worst = append(worst, m)
	}
	slices.SortFunc(worst, func(a, b miss) int {
		return cmp.Or(cmp.Compare(abs(b), abs(a)), cmp.Compare(a.v.Model, b.v.Model))
	})
	for _, m := range worst[:min(len(worst), 12)] {
		t.Logf("%+.3f%% load %+.3f%% %s %s", 100*m.err, 100*m.load, m.v, m.why)
	}
	slices.SortFunc(ms, func(a, b miss) int { return cmp.Compare(abs(a), abs(b)) })
	med := abs(ms[len(ms)/2])
	half := share(ms, func(m miss) bool { return abs(m) <= 0.005 })
	load := share(ms, func(m miss) bool { return math.Abs(m.load) <= 0.01 })
	exact := share(ms, func(m miss) bool { return abs(m) <= 1e-5 })
	t.Logf("resident: median %.4f%%, within 0.5%% %.1f%%, within 0.001%% %.1f%%; load within 1%% %.1f%% of %d rows", 100*med, 100*half, 100*exact, 100*load, len(ms))
	require.LessOrEqual(t, med, 0.001)
	require.GreaterOrEqual(t, half, 0.95)
	require.GreaterOrEqual(t, load, 0.90)
}
