package planner

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// host makes a machine with so much free on each GPU and in host memory.
func host(t testing.TB, gpus string, free, available units.Bytes) machine.Machine {
	gs, _, err := machine.ParseGPUs(gpus)
	require.NoError(t, err)
	for i := range gs {
		gs[i].FreeBytes = &free
	}
	return machine.Machine{GPUs: gs, Host: &machine.Host{TotalBytes: &available, AvailableBytes: &available}}
}

func launchOf(t testing.TB, line, modelID string) Request {
	cmd, err := launch.FromArgv(strings.Fields(line))
	require.NoError(t, err)
	cfg, err := catalogue.Load(modelID)
	require.NoError(t, err)
	return Request{Launch: cmd, Model: cfg, Release: release.MustParse("0.5.18"), Remote: true}
}

func find(fs []finding.Finding, code finding.Code) []string {
	var out []string
	for _, f := range fs {
		if f.Code == code {
			out = append(out, f.Detail)
		}
	}
	return out
}

// TestTightestNodeDecides: all ranks get what the tightest node can hold, and
// that node is named, wherever it stands.
func TestTightestNodeDecides(t *testing.T) {
	const line = "--model-path deepseek-ai/DeepSeek-R1 --tp-size 16 --nnodes 2 --trust-remote-code"
	full := host(t, "8xH200", 138*units.GiB, 1800*units.GB)
	used := host(t, "8xH200", 120*units.GiB, 900*units.GB)
	alone := launchOf(t, line, "deepseek-ai/DeepSeek-R1")
	alone.Machines = []machine.Machine{used}
	want := Check(alone).GPU.MaxTotalNumTokens.Value
	for name, ms := range map[string][]machine.Machine{"first": {used, full}, "second": {full, used}} {
		req := alone
		req.Machines = ms
		p := Check(req)
		require.Equal(t, want, p.GPU.MaxTotalNumTokens.Value, name)
		require.Len(t, p.Nodes, 2, name)
		require.Equal(t, 900*units.GB, p.Host.AvailableBytes, name)
		said := find(p.Findings, CodeNodesDiffer)
		require.Len(t, said, 1, name)
		require.Contains(t, said[0], map[string]string{"first": "Node 0 can hold", "second": "Node 1 can hold"}[name])
		require.Empty(t, find(p.Findings, CodeMultipleNodesOneMachine))
		require.NotContains(t, strings.Join(p.Recommend.Argv, " "), "--node-rank", "the command is everyone's")
	}
	require.Len(t, find(Check(alone).Findings, CodeMultipleNodesOneMachine), 1)
}

// TestOtherKindOfNode names a node with other cards.
func TestOtherKindOfNode(t *testing.T) {
	req := launchOf(t, "--model-path deepseek-ai/DeepSeek-R1 --tp-size 24 --nnodes 3 --trust-remote-code", "deepseek-ai/DeepSeek-R1")
	req.Machines = []machine.Machine{host(t, "8xH200", 138*units.GiB, 1800*units.GB), host(t, "8xH100", 78*units.GiB, 1800*units.GB), host(t, "8xH200", 138*units.GiB, 1800*units.GB)}
	said := find(Check(req).Findings, CodeNodesDiffer)
	require.NotEmpty(t, said)
	require.Contains(t, said[0], "Node 1 has 8 x NVIDIA H100")
}

// TestLauncherAndCommandDisagree: a launcher of two hosts and a command of one.
func TestLauncherAndCommandDisagree(t *testing.T) {
	req := launchOf(t, "--model-path Qwen/Qwen3-32B --tp-size 4", "Qwen/Qwen3-32B")
	req.Machines = []machine.Machine{host(t, "8xH200", 138*units.GiB, 1800*units.GB)}
	req.Launch.Nodes = 2
	require.Len(t, find(Check(req).Findings, CodeNodesMismatch), 1)
}

// TestContainerLimits: the smallest of all limits counts.
func TestContainerLimits(t *testing.T) {
	const line = "--model-path Qwen/Qwen3-32B --tp-size 4 --enable-hierarchical-cache --hicache-size 90"
	n := func(i int) *int { return &i }
	b := func(x units.Bytes) *units.Bytes { return &x }
	for name, tc := range map[string]struct {
		container launch.Container
		available units.Bytes
		limit     machine.Limit
		verdict   Verdict
		code      finding.Code
	}{
		"none":           {launch.Container{}, 1000 * units.GB, "meminfo", OK, ""},
		"looser":         {launch.Container{MemoryBytes: b(2000 * units.GB)}, 1000 * units.GB, "meminfo", OK, ""},
		"tighter":        {launch.Container{MemoryBytes: b(300 * units.GB)}, 300 * units.GB, machine.LimitFile, Reject, "host-pool-exceeds-memory"},
		"fewer GPUs":     {launch.Container{GPUs: n(2)}, 1000 * units.GB, "meminfo", Reject, ranks.CodeTooFewGPUs},
		"too many GPUs":  {launch.Container{GPUs: n(16), Exclusive: true}, 1000 * units.GB, "meminfo", Reject, CodeGPUsGranted},
		"small /dev/shm": {launch.Container{SHMBytes: b(64 * units.MiB)}, 1000 * units.GB, "meminfo", Warn, "shm-too-small"},
	} {
		req := launchOf(t, line, "Qwen/Qwen3-32B")
		req.Machines = []machine.Machine{host(t, "8xH200", 138*units.GiB, 1000*units.GB)}
		req.Launch.Container = &tc.container
		p := Check(req)
		require.Equal(t, tc.available, p.Host.AvailableBytes, name)
		require.Equal(t, tc.limit, p.Host.Limit, name)
		require.Equal(t, tc.verdict, p.Verdict, "%s: %v", name, p.Findings)
		if tc.code != "" {
			require.NotEmpty(t, find(p.Findings, tc.code), name)
		}
	}
}

// TestShareHost: what launches of one host take is added up, but for those
// that the file keeps apart.
func TestShareHost(t *testing.T) {
	const line = "--model-path Qwen/Qwen3-32B --tp-size 4 --enable-hierarchical-cache --hicache-size 90"
	inOne, pod := &launch.Container{MemoryBytes: bytesOf(500 * units.GB)}, func() *launch.Container {
		n := 4
		return &launch.Container{MemoryBytes: bytesOf(500 * units.GB), GPUs: &n, Exclusive: true}
	}
	for name, tc := range map[string]struct {
		second    string
		host      string
		a, b      *launch.Container
		available units.Bytes
		tooMuch   bool
		sameGPUs  bool
	}{
		"fits":              {second: " --base-gpu-id 4", available: 1000 * units.GB},
		"too much":          {second: " --base-gpu-id 4", available: 600 * units.GB, tooMuch: true},
		"other hosts":       {host: "elsewhere", available: 600 * units.GB},
		"same GPUs":         {available: 1000 * units.GB, sameGPUs: true},
		"one container":     {second: " --base-gpu-id 4", a: inOne, b: inOne, available: 2000 * units.GB, tooMuch: true},
		"two containers":    {a: pod(), b: pod(), available: 2000 * units.GB},
		"containers in 600": {a: pod(), b: pod(), available: 600 * units.GB, tooMuch: true},
	} {
		var reqs []Request
		var plans []*Plan
		for i, l := range []string{line, line + tc.second} {
			r := launchOf(t, l, "Qwen/Qwen3-32B")
			r.Machines = []machine.Machine{host(t, "8xH200", 138*units.GiB, tc.available)}
			r.Launch.Source = finding.Position{File: "f", Line: i + 1}
			r.Launch.Container = tc.a
			if i == 1 {
				r.Launch.Container, r.Launch.Host = tc.b, tc.host
			}
			reqs, plans = append(reqs, r), append(plans, Check(r))
		}
		ShareHost(plans, reqs)
		for _, p := range plans {
			said := find(p.Findings, "host-shared-exceeds-memory")
			require.Equal(t, tc.tooMuch, len(said) > 0, name)
			for _, s := range said {
				require.Contains(t, s, "does not see this", name)
			}
		}
		require.Equal(t, tc.sameGPUs, len(find(plans[1].Findings, CodeConflictingGPUs)) > 0, name)
	}
}

func bytesOf(b units.Bytes) *units.Bytes { return &b }
