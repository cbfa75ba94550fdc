package capture_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/capture"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// launched is a launch that was measured on H200 cards: its resolved
// arguments, the free memory where its pools ended, and what it took of that.
type launched struct {
	ID        string             `json:"id"`
	Release   string             `json:"release"`
	Outcome   string             `json:"outcome"`
	Config    json.RawMessage    `json:"config"`
	Draft     json.RawMessage    `json:"draft"`
	Overrides string             `json:"overrides"`
	Args      map[string]any     `json:"args"`
	Given     []string           `json:"given"`
	Context   int                `json:"context"`
	Prompt    int64              `json:"prompt"`
	Tokens    int64              `json:"tokens"`
	Free      *float64           `json:"free"`
	Need      map[string]float64 `json:"need"`
	Stages    map[string]float64 `json:"stages"`
}

func readLaunches(t testing.TB) []launched {
	t.Helper()
	f, err := os.Open("testdata/launches.jsonl.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s := bufio.NewScanner(z)
	s.Buffer(nil, 8<<20)
	var out []launched
	for s.Scan() {
		var l launched
		require.NoError(t, json.Unmarshal(s.Bytes(), &l))
		out = append(out, l)
	}
	require.NoError(t, s.Err())
	return out
}

// plain turns decoded JSON into the kinds that args holds.
func plain(v any) any {
	switch x := v.(type) {
	case float64:
		if x == float64(int64(x)) {
			return int64(x)
		}
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = plain(x[k])
		}
	}
	return v
}

func (l launched) plan(t testing.TB) (activation.Launch, []finding.Finding) {
	t.Helper()
	r := release.MustParse(l.Release)
	a := args.New()
	for k, v := range l.Args {
		a.Set(k, plain(v), args.Origin{Kind: args.FromRule})
	}
	for _, k := range l.Given {
		if v, ok := a.Get(k); ok {
			a.Set(k, v.V, args.Origin{Kind: args.FromFlag})
		}
	}
	cfg, err := model.ParseConfig(bytes.NewReader(l.Config))
	require.NoError(t, err)
	info, _ := modelcfg.Derive(r, cfg, modelcfg.Options{Overrides: l.Overrides, ContextLength: l.Context})
	var draft *modelcfg.Info
	if len(l.Draft) > 0 {
		d, err := model.ParseConfig(bytes.NewReader(l.Draft))
		require.NoError(t, err)
		draft, _ = modelcfg.Derive(r, d, modelcfg.Options{IsDraft: true, Algorithm: a.Str("speculative_algorithm")})
	}
	card := machine.Card{Name: "NVIDIA H200", TotalMiB: 143771, Major: 9}
	plan, found := capture.Plan(r, a, info, cfg, draft, card, l.Tokens)
	if l.Prompt > 0 {
		plan.Serving.Prompt = l.Prompt
	}
	return plan, found
}

// Both needs lie inside their bands in at least nine of ten measured launches,
// in bands that are narrow enough to be of use, and every launch is judged as
// it ended.
func TestMeasuredLaunches(t *testing.T) {
	var held, n int
	var widths []float64
	for _, l := range readLaunches(t) {
		if l.Free == nil {
			continue
		}
		free := figure.New(units.FromGiB(*l.Free), figure.Measured)
		plan, _ := l.plan(t)
		full := activation.Needs(plan)
		r := full.With(free)
		phase, sev := activation.Judge(full, free)
		ready := strings.HasPrefix(l.Outcome, "ready")
		verdict := "ok"
		if sev != 0 {
			verdict = sev.String() + " " + string(phase)
		}
		t.Logf("%-28s %-12s free %6.2f  %s  %s", l.ID, l.Outcome, *l.Free, verdict, strings.Join(r.Unmeasured, ", "))
		for _, k := range []struct {
			name string
			f    figure.Bytes
		}{{"start", r.Start}, {"ready", r.Ready}, {"serving", r.Serving}} {
			got, ok := l.Need[k.name]
			if !ok {
				continue
			}
			in := k.f.Low.GiB()-.005 <= got && got <= k.f.High.GiB()+.005
			mark := " "
			if !in {
				mark = "*"
			}
			t.Logf("    %-8s %5.2f (%5.2f .. %5.2f) measured %5.2f%s", k.name, k.f.Value.GiB(), k.f.Low.GiB(), k.f.High.GiB(), got, mark)
			n++
			if in {
				held++
			}
			widths = append(widths, (k.f.High - k.f.Low).GiB())
		}
		if testing.Verbose() {
			for _, x := range r.Terms {
				t.Logf("        %-44s %-12s %8.1f MiB (%.0f .. %.0f)", x.Name, x.Group, x.Bytes.Value.MiB(), x.Bytes.Low.MiB(), x.Bytes.High.MiB())
			}
		}
		if ready {
			require.NotEqual(t, finding.Error, sev, "%s lived", l.ID)
		} else if strings.Contains(l.Outcome, "oom") {
			require.NotZero(t, sev, "%s died", l.ID)
		}
	}
	sort.Float64s(widths)
	t.Logf("inside the band: %d of %d, median width %.2f GiB", held, n, widths[len(widths)/2])
	require.GreaterOrEqual(t, held*10, n*9)
	require.LessOrEqual(t, widths[len(widths)/2], 1.0)
}

func BenchmarkNeeds(b *testing.B) {
	for _, l := range readLaunches(b) {
		if l.Free == nil || !strings.HasSuffix(l.ID, "default") {
			continue
		}
		plan, _ := l.plan(b)
		b.Run(l.ID, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				activation.Needs(plan)
			}
		})
	}
}

func BenchmarkAt(b *testing.B) {
	plan, _ := readLaunches(b)[0].plan(b)
	r := activation.Needs(plan)
	free := figure.New(10*units.GiB, figure.Measured)
	b.ReportAllocs()
	for b.Loop() {
		activation.Judge(r.At(1000000), free)
	}
}
