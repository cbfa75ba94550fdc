package activation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

func stack(l Layer, n int) []Layer {
	out := make([]Layer, n)
	for i := range out {
		out[i] = l
	}
	return out
}

// bodies are one of each kind of layer, with the widths of public models.
var bodies = map[string]Body{
	"dense":   {Hidden: 4096, Vocab: 128256, TP: 1, Layers: 32, HoldOutput: true, Stack: stack(Layer{Attention{Q: 4096, KV: 1024, Heads: 32, Copies: 1}, Dense{Inter: 14336}}, 8)},
	"moe":     {Hidden: 2048, Vocab: 151936, TP: 1, Layers: 48, HoldOutput: true, Stack: stack(Layer{Attention{Q: 4096, KV: 512, Heads: 32, Copies: 1}, MoE{Experts: 128, TopK: 8, Inter: 768}}, 6)},
	"mxfp4":   {Hidden: 2880, Vocab: 201088, TP: 1, Layers: 24, HoldOutput: true, Stack: stack(Layer{Attention{Q: 4096, KV: 512, Heads: 64, Copies: 1}, MoE{Runner: TritonKernels, Experts: 32, TopK: 4, Inter: 2880}}, 6)},
	"marlin":  {Hidden: 7168, Vocab: 163840, TP: 8, ReduceMax: 16 << 20, Layers: 61, Stack: stack(Layer{MLA{Heads: 8, Nope: 128, Rope: 64, Val: 128, Latent: 512, QLatent: 1536}, MoE{Runner: Marlin, Experts: 384, TopK: 8, Inter: 256, Shared: 256}}, 7)},
	"mla":     {Hidden: 2048, Vocab: 102400, TP: 1, Layers: 27, Stack: stack(Layer{MLA{Heads: 16, Nope: 128, Rope: 64, Val: 128, Latent: 512}, MoE{Experts: 64, TopK: 6, Inter: 1408, Shared: 2816}}, 9)},
	"linear":  {Hidden: 2048, Vocab: 151936, TP: 1, Layers: 48, HoldOutput: true, Stack: append(stack(Layer{DeltaNet{K: 2048, V: 4096, Heads: 32}, MoE{Experts: 513, TopK: 11, Inter: 512}}, 3), Layer{Attention{Q: 4096, KV: 512, Heads: 16, Gated: true, Copies: 1}, MoE{Experts: 513, TopK: 11, Inter: 512}})},
	"fp8":     {Hidden: 4096, Vocab: 128256, TP: 1, Layers: 32, Stack: stack(Layer{Attention{Q: 4096, KV: 1024, Heads: 32, Copies: 2, Narrow: true, InBytes: 1}, Dense{Inter: 14336, InBytes: 1}}, 8)},
	"dp":      {Hidden: 4096, Vocab: 128256, TP: 2, Gather: 2, Layers: 32, HoldOutput: true, Stack: stack(Layer{Attention{Q: 4096, KV: 1024, Heads: 32, Copies: 1}, Dense{Inter: 7168}}, 8)},
	"drafted": {Hidden: 4096, Vocab: 128256, TP: 1, Layers: 32, HoldOutput: true, Extra: 3, Stack: stack(Layer{Attention{Q: 4096, KV: 1024, Heads: 32, Copies: 1}, Dense{Inter: 14336}}, 8)},
}

func sizesTo(top int64) []int64 {
	var out []int64
	for n := top; n > 0; n -= max(4, n/8/4*4) {
		out = append(out, n)
	}
	return out
}

func launch(b Body, chunk int64, graphs bool) Launch {
	l := Launch{
		Body: b, Eager: EagerBuffers{48, 16384}, Tokens: 500000, CaptureWorkspace: 32 * units.MiB, SharedOutput: true,
		Decode: &Captures{Sizes: []int64{256, 128, 1}}, Serving: Serving{Chunk: chunk, Prompt: chunk * 977 / 1000, DecodeBatch: 256},
		Spread: Spread{Start: 80 * units.MiB, Ready: 120 * units.MiB, Serving: 80 * units.MiB, Replay: 0.04, Load: 0.1},
	}
	if graphs {
		l.Prefill = &Captures{Sizes: sizesTo(chunk)}
	}
	return l
}

// A larger chunk never needs less, beyond what the segments' rounding moves.
func TestNeedsGrowWithTheChunk(t *testing.T) {
	for name, b := range bodies {
		for _, graphs := range []bool{false, true} {
			var before Result
			for _, chunk := range []int64{512, 1024, 2048, 4096, 8192, 16384, 32768} {
				r := Needs(launch(b, chunk, graphs))
				require.GreaterOrEqual(t, r.Start.Value, before.Start.Value, "%s start at %d", name, chunk)
				require.GreaterOrEqual(t, r.Serving.Value+64*units.MiB, before.Serving.Value, "%s serving at %d", name, chunk)
				before = r
			}
		}
	}
}

// A replay of the thinned sizes is that of all sizes, to a few small segments.
func TestThin(t *testing.T) {
	var s scratch
	for name, b := range bodies {
		for _, top := range []int64{512, 2048, 8192, 16384} {
			sizes := sizesTo(top)
			all := replayCapture(&b, sizes, 32*units.MiB, true, &s)
			few := replayCapture(&b, thin(sizes), 32*units.MiB, true, &s)
			require.InDelta(t, all.Peak.MiB(), few.Peak.MiB(), 8, "%s at %d", name, top)
			require.InDelta(t, all.Graph.MiB(), few.Graph.MiB(), 4, "%s at %d", name, top)
			require.Equal(t, all.Left, few.Left, "%s at %d", name, top)
		}
	}
}

// Bands are in order, floors are below them, and serving never needs less than
// what stays.
func TestNeedsAreOrdered(t *testing.T) {
	for name, b := range bodies {
		for _, graphs := range []bool{false, true} {
			l := launch(b, 8192, graphs)
			l.Unmeasured = []Share{{"a", .2}, {"b", .1}}
			r := Needs(l)
			for _, f := range []figure.Bytes{r.Start, r.Ready, r.Serving} {
				require.LessOrEqual(t, f.Low, f.Value, name)
				require.LessOrEqual(t, f.Value, f.High, name)
			}
			require.LessOrEqual(t, r.Ready.Value, r.Serving.Value, name)
			require.LessOrEqual(t, r.StartFloor, r.Start.Low, name)
			require.LessOrEqual(t, r.ServingFloor, r.Serving.Low, name)
			require.Equal(t, []string{"a", "b"}, r.Unmeasured)
			narrow := l
			narrow.Unmeasured = nil
			require.Less(t, Needs(narrow).Serving.High, r.Serving.High, name)
		}
	}
}

// The same launch at another size of the pool is the same as planning it there.
func TestAt(t *testing.T) {
	for _, class := range [][]Share{nil, {{What: "cards of another kind", Part: 0.3}}} {
		l := launch(bodies["dense"], 8192, true)
		l.Gate, l.Unmeasured = 4*units.GiB, class
		r := Needs(l)
		for _, tokens := range []int64{0, 16384, 100000, 8000000} {
			l.Tokens = tokens
			want, got := Needs(l), r.At(tokens)
			got.Terms, want.Terms = nil, nil
			got.NoPrefillGraphs, want.NoPrefillGraphs = nil, nil
			require.Empty(t, cmp.Diff(want, got, cmp.AllowUnexported(Result{})), "%d tokens, %v", tokens, class)
		}
	}
}

func at(gib float64) figure.Bytes { return figure.New(units.FromGiB(gib), figure.Measured) }

func TestJudge(t *testing.T) {
	r := Result{
		Start: figure.Band(4*units.GiB, 3*units.GiB, 5*units.GiB, figure.Estimated), Serving: figure.Band(6*units.GiB, 5*units.GiB, 7*units.GiB, figure.Estimated),
		StartFloor: 2 * units.GiB, ServingFloor: 4 * units.GiB,
	}
	for free, want := range map[float64]struct {
		Phase
		finding.Severity
	}{
		1.9: {Capture, finding.Error}, 2.5: {Capture, finding.Error}, 3.5: {Load, finding.Error},
		4.5: {Load, finding.Warning}, 6.9: {Load, finding.Warning}, 7: {"", 0},
	} {
		p, s := Judge(r, at(free))
		require.Equal(t, want.Phase, p, "%v GiB", free)
		require.Equal(t, want.Severity, s, "%v GiB", free)
	}
	p, s := Judge(r, figure.Band(units.FromGiB(3.5), units.FromGiB(3), units.FromGiB(4.5), figure.Estimated))
	require.Equal(t, finding.Warning, s, "the truth may lie above the floor")
	require.Equal(t, Load, p)
}

// Below the gate the launch is judged without its prefill graphs, near it only
// what fails either way is an error.
func TestJudgeAtTheGate(t *testing.T) {
	without := Result{Start: at(0.7), Serving: at(2), StartFloor: units.GiB / 2, ServingFloor: 3 * units.GiB / 2}
	r := Result{Start: at(9), Serving: at(6), StartFloor: 8 * units.GiB, ServingFloor: 5 * units.GiB,
		NoPrefillGraphs: &without, GateAt: figure.Band(units.FromGiB(4.1), units.FromGiB(4), units.FromGiB(4.2), figure.Estimated)}
	for free, want := range map[float64]finding.Severity{1: finding.Error, 3: 0, 4.1: finding.Warning, 5: finding.Error, 9: 0} {
		_, s := Judge(r, at(free))
		require.Equal(t, want, s, "%v GiB", free)
	}
}

// Where memory is short the launch lives on less than it would take.
func TestWith(t *testing.T) {
	r := Result{Serving: figure.Band(6*units.GiB, 5*units.GiB, 7*units.GiB, figure.Estimated), ServingFloor: 4 * units.GiB}
	require.Equal(t, 5*units.GiB, r.With(at(8)).Serving.Low)
	require.Equal(t, 4*units.GiB, r.With(at(6.5)).Serving.Low)
}

func BenchmarkReplay(b *testing.B) {
	for _, name := range []string{"dense", "moe", "marlin", "linear"} {
		l := launch(bodies[name], 8192, true)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Needs(l)
			}
		})
	}
}
