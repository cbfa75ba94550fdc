package planner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// fleet makes machines of four kinds, each filled differently.
func fleet(n int) []machine.Machine {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"8xH200", "8xH100", "8xRTX-PRO-6000-Blackwell", "4xB200"}
	out := make([]machine.Machine, n)
	for i := range out {
		gpus, _, err := machine.ParseGPUs(kinds[i%len(kinds)])
		if err != nil {
			panic(err)
		}
		free := units.Bytes(float64(*gpus[0].TotalBytes) * (0.3 + 0.7*r.Float64()))
		for k := range gpus {
			f := free - units.Bytes(r.IntN(1<<28))
			gpus[k].FreeBytes = &f
		}
		total := units.Bytes(2 << 40)
		available := units.Bytes(float64(total) * r.Float64())
		out[i] = machine.Machine{GPUs: gpus, Host: &machine.Host{TotalBytes: &total, AvailableBytes: &available, MemAvailableBytes: &available}}
	}
	return out
}

var fitLaunches = map[string]string{
	"plain":         "--model-path Qwen/Qwen3-32B --tp-size 4",
	"host size":     "--model-path Qwen/Qwen3-32B --tp-size 4 --enable-hierarchical-cache --hicache-size 100",
	"host ratio":    "--model-path Qwen/Qwen3-32B --tp-size 4 --enable-hierarchical-cache --hicache-ratio 2",
	"too many GPUs": "--model-path Qwen/Qwen3-32B --tp-size 8",
	"refused":       "--model-path Qwen/Qwen3-32B --no-such-flag 1",
}

func fitRequest(t testing.TB, line string) Request {
	cmd, err := launch.FromArgv(strings.Fields(line))
	require.NoError(t, err)
	cfg, err := catalogue.Load("Qwen/Qwen3-32B")
	require.NoError(t, err)
	return Request{Launch: cmd, Model: cfg, Release: release.MustParse("0.5.18")}
}

// TestFitSaysWhatCheckSays holds the fleet's answers to those of single
// checks.
func TestFitSaysWhatCheckSays(t *testing.T) {
	machines := fleet(120)
	for name, line := range fitLaunches {
		req := fitRequest(t, line)
		results := Fit(req, machines)
		require.Len(t, results, len(machines))
		for _, r := range results {
			one := req
			one.Machines = machines[r.Index : r.Index+1]
			p := Check(one)
			if onEdge(p) {
				continue
			}
			said := slices.DeleteFunc(codes(p.Findings), func(c finding.Code) bool { return c == hostledger.CodeNotWorth })
			require.Equal(t, p.Verdict, r.Verdict, "%s, machine %d: %v, check says %v", name, r.Index, r.Reasons, said)
			require.ElementsMatch(t, said, r.Reasons, "%s, machine %d", name, r.Index)
			if p.GPU != nil {
				require.Equal(t, p.GPU.MaxTotalNumTokens, r.Tokens, name)
			}
			if p.Host != nil {
				require.InDelta(t, p.Host.HeadroomBytes.GB(), r.HostHeadroom.GB(), 0.1, name)
			}
		}
		require.True(t, slices.IsSortedFunc(results, func(a, b FitResult) int { return compareFit(&a, &b) }), name)
	}
}

// onEdge reports a plan whose verdict a few MiB decide. The needs of a kind of
// machine are worked out at the pool of its first one; at another size their
// replay can differ by a segment or two.
func onEdge(p *Plan) bool {
	g := p.GPU
	if g == nil || g.PoolEndFreeBytes == nil || g.NeedStartBytes == nil {
		return false
	}
	room := g.PoolEndFreeBytes.Low - max(g.NeedStartBytes.High, g.NeedServingBytes.High)
	return max(room, -room) < 32*units.MiB
}

// codes are those of warnings and errors, each once.
func codes(fs []finding.Finding) []finding.Code {
	var out []finding.Code
	for _, f := range fs {
		if f.Severity > finding.Info && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	return out
}

func BenchmarkFit10000(b *testing.B) {
	machines := fleet(10_000)
	for name, line := range fitLaunches {
		req := fitRequest(b, line)
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				Fit(req, machines)
			}
		})
	}
}
