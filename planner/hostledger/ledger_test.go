package hostledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

type fields map[string]any

func ptr[T any](v T) *T { return &v }

func request(version string, h machine.Host, f fields, pools ...hicache.DevicePool) Request {
	a := args.New()
	for k, v := range f {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	r := release.MustParse(version)
	l, _ := ranks.Of(r, a)
	q := Request{Release: r, Args: a, Layout: l, Host: h}
	if len(pools) > 0 {
		q.Stages = [][]hicache.DevicePool{pools}
	}
	return q
}

func host(total, available units.Bytes) machine.Host {
	return machine.Host{TotalBytes: &total, AvailableBytes: &available, Limit: machine.LimitOption}
}

// founding is the host of the founding case.
func founding() machine.Host { return host(449*units.GB, 445*units.GB) }

func kimi(tokens int64) hicache.DevicePool {
	return hicache.DevicePool{Name: "kv", Kind: hicache.Main, MLA: true, Layers: 61, RowBytes: 1152, Page: 1, Tokens: tokens}
}

func tp8(size int64) fields {
	return fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": size}
}

func codes(fs []finding.Finding) []finding.Code {
	var out []finding.Code
	for _, f := range fs {
		out = append(out, f.Code)
	}
	return out
}

func findingOf(t *testing.T, fs []finding.Finding, code finding.Code) finding.Finding {
	t.Helper()
	for _, f := range fs {
		if f.Code == code {
			return f
		}
	}
	require.Failf(t, "no such finding", "%s in %v", code, codes(fs))
	return finding.Finding{}
}

// The founding case: 300 GB x 8 asked of a 449 GB host, and what follows.
func TestFoundingCase(t *testing.T) {
	type want struct {
		Codes []finding.Code
		Worst finding.Severity
		Guard hicache.Verdict
		Size  int64
		Sure  int64
	}
	tests := []struct {
		name    string
		version string
		fields  fields
		want    want
	}{
		{"300 on 0.5.9", "0.5.9", tp8(300), want{[]finding.Code{CodePoolsExceed}, finding.Error, hicache.Pass, 48, -1}},
		{"48 on 0.5.9", "0.5.9", tp8(48), want{nil, 0, hicache.Pass, 48, -1}},
		{"50 on 0.5.9", "0.5.9", tp8(50), want{[]finding.Code{CodeReserveGone}, finding.Warning, hicache.Pass, 48, -1}},
		{"51 on 0.5.9", "0.5.9", tp8(51), want{[]finding.Code{CodePoolsExceed}, finding.Error, hicache.Pass, 48, -1}},
		{"48 on 0.5.3", "0.5.3", tp8(48), want{[]finding.Code{hicache.CodePowerOfTwo, CodePoolsExceed}, finding.Error, hicache.Pass, 34, -1}},
		{"34 on 0.5.3", "0.5.3", tp8(34), want{nil, 0, hicache.Pass, 34, -1}},
		{"300 on 0.5.19", "0.5.19", tp8(300), want{[]finding.Code{hicache.CodeGuardRefuses, CodePoolsExceed}, finding.Error, hicache.Refuse, 26, 26}},
		{"48 on 0.5.23", "0.5.23", tp8(48), want{[]finding.Code{hicache.CodeGuardDepends}, finding.Warning, hicache.Depends, 26, 26}},
		{"26 on 0.5.23", "0.5.23", tp8(26), want{nil, 0, hicache.Pass, 26, 26}},
		{"nothing on 0.5.23", "0.5.23", fields{"tp_size": 8, "enable_hierarchical_cache": true}, want{nil, 0, hicache.Pass, 26, 26}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, found := Build(request(tt.version, founding(), tt.fields, kimi(159000)))
			require.NotNil(t, l.Advice)
			require.NotNil(t, l.Advice.Size)
			got := want{codes(found), finding.Worst(found), l.Guard.Verdict, *l.Advice.Size, -1}
			if l.Guard.SureHicacheSize != nil {
				got.Sure = *l.Guard.SureHicacheSize
			}
			assert.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

// The finding says what was asked, what is there and what to type.
func TestFoundingFinding(t *testing.T) {
	_, found := Build(request("0.5.9", founding(), tp8(300), kimi(231120)))
	f := findingOf(t, found, CodePoolsExceed)
	assert.Equal(t, "--hicache-size", f.Flag)
	assert.Contains(t, f.Detail, "300 GB x 8 ranks = 2,400 GB")
	assert.Contains(t, f.Detail, "445 GB is available")
	assert.Contains(t, f.Detail, "SGLang 0.5.9 lets it pass")
	assert.Equal(t, []finding.Edit{{Flag: "--hicache-size", Value: "48"}}, f.Fixes[0].Edits)
}

// The whole ledger of the founding winner, and that it adds up.
// A size beyond what SGLang's own check offers comes with the size to type,
// and one beyond reason is still multiplied rightly.
func TestTypingErrors(t *testing.T) {
	_, fs := Build(request("0.5.9", founding(), tp8(1000000000), kimi(231120)))
	refused := findingOf(t, fs, hicache.CodeGuardRefuses)
	require.Equal(t, []finding.Edit{{Flag: "--hicache-size", Value: "48"}}, refused.Fixes[0].Edits)
	require.Contains(t, findingOf(t, fs, CodePoolsExceed).Detail, "1,000,000,000 GB x 8 ranks = 8,000,000,000 GB")

	_, fs = Build(request("0.5.9", founding(), tp8(-3), kimi(231120)))
	require.Equal(t, []finding.Edit{{Flag: "--hicache-size", Remove: true}}, findingOf(t, fs, hicache.CodeBadSize).Fixes[0].Edits)
}

func TestLedgerAddsUp(t *testing.T) {
	l, _ := Build(request("0.5.9", founding(), tp8(48), kimi(159000)))
	assert.Equal(t, units.Bytes(48000062592), l.PerRankBytes)
	assert.Equal(t, units.Bytes(384000500736), l.TotalBytes)
	assert.Equal(t, 10*units.GiB, l.ReserveBytes)
	assert.Equal(t, 43*units.GB, l.LoadBytes)
	assert.Equal(t, l.AvailableBytes, sum(l.Entries))
	assert.Equal(t, l.TotalBytes+43*units.GB, l.NeedBytes)
	assert.Equal(t, int64(683061), l.Advice.TokensInAll, "ranks of one MLA model hold the same tokens")
}

// Two hosts of 8 GPUs as NUMA nodes of one, and the same with all GPUs on one.
func TestNUMANodes(t *testing.T) {
	h := founding()
	h.NUMA = []machine.NUMANode{{Node: 0, FreeBytes: ptr(222 * units.GB)}, {Node: 1, FreeBytes: ptr(222 * units.GB)}}
	q := request("0.5.10", h, tp8(48), kimi(159000))
	for i := range 8 {
		q.GPUs = append(q.GPUs, machine.GPU{Index: i, NUMANode: ptr(i / 4)})
	}
	_, found := Build(q)
	assert.Empty(t, found, "192 + 20 GB fit each node")
	for i := range q.GPUs {
		q.GPUs[i].NUMANode = ptr(0)
	}
	_, found = Build(q)
	f := findingOf(t, found, CodeNode)
	assert.Equal(t, finding.Error, f.Severity)
	assert.Equal(t, int64(0), f.Figures["node"])
	require.NotEmpty(t, f.Fixes)

	q.Env = map[string]string{"SGLANG_AUTO_NUMA_BIND": "0"}
	_, found = Build(q)
	assert.Contains(t, codes(found), CodeNode, "0.5.10 does not know the switch")
	q.Release = release.MustParse("0.5.18")
	_, found = Build(q)
	assert.NotContains(t, codes(found), CodeNode)
	q.Release, q.Env = release.MustParse("0.5.9"), nil
	_, found = Build(q)
	assert.NotContains(t, codes(found), CodeNode, "bound only with --numa-node")
}

func llama(tokens int64) hicache.DevicePool {
	return hicache.DevicePool{Name: "kv", Kind: hicache.Main, Layers: 32, RowBytes: 4096, Page: 1, Tokens: tokens}
}

// A measured launch: 20 GB of host pool inside a 16 GiB cgroup of a host with
// 250 GiB free. SGLang 0.5.17 reads the host and passes, the kernel kills.
func TestLaunchInsideSmallCgroup(t *testing.T) {
	limit, usage := 16*units.GiB, units.Bytes(4313088)
	h := host(270334464000, 267731959808)
	h.Limit, h.LimitBytes = machine.LimitCgroup, &limit
	h.MemAvailableBytes, h.AvailableBytes = h.AvailableBytes, ptr(limit-usage)
	h.Cgroups = []machine.Cgroup{{Path: "/job", Version: 2, File: "memory.max", LimitBytes: limit, UsageBytes: &usage}}
	f := fields{"enable_hierarchical_cache": true, "hicache_size": 20}
	l, found := Build(request("0.5.17", h, f, llama(218466)))
	assert.Equal(t, int64(152588), l.Pools[0].Tokens)
	assert.Equal(t, hicache.Pass, l.Guard.Verdict)
	got := findingOf(t, found, CodePoolsExceed)
	assert.Contains(t, got.Detail, "limit of this container or cgroup")
	assert.Equal(t, machine.LimitCgroup, l.Limit)

	l, _ = Build(request("0.5.23", h, f, llama(218466)))
	assert.Equal(t, hicache.Refuse, l.Guard.Verdict, "from 0.5.21 it reads the cgroup")

	_, found = Build(request("0.5.17", h, fields{}, llama(218466)))
	assert.LessOrEqual(t, finding.Worst(found), finding.Info, "without HiCache the same launch fits")
}

// Measured launches that started: pools to the byte, growth of shared memory
// within two percent.
func TestMeasuredPools(t *testing.T) {
	tests := []struct {
		name   string
		fields fields
		pool   hicache.DevicePool
		tokens int64
		shmem  units.Bytes // growth of Shmem in /proc/meminfo
	}{
		{"one rank, 12 GB", fields{"enable_hierarchical_cache": true, "hicache_size": 12}, llama(906051), 91553, 12050386944 - 29065216},
		{"two ranks, 8 GB each", fields{"tp_size": 2, "enable_hierarchical_cache": true, "hicache_size": 8},
			hicache.DevicePool{Name: "kv", Kind: hicache.Main, Layers: 32, RowBytes: 2048, Page: 1, Tokens: 1918949}, 122071, 16191873024 - 8228864},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, found := Build(request("0.5.17", host(270334464000, 264915091456), tt.fields, tt.pool))
			assert.Equal(t, tt.tokens, l.Pools[0].Tokens)
			assert.InEpsilon(t, float64(tt.shmem), float64(l.TotalBytes), 0.02)
			assert.NotEqual(t, finding.Error, finding.Worst(found))
			assert.Less(t, l.rest.processes.Low, 8*units.GB, "6.65 GiB of MemAvailable went for two ranks in all")
		})
	}
}

// A recommended size always passes; one more than the most does not.
func TestRecommendedPasses(t *testing.T) {
	for _, version := range []string{"0.5.3", "0.5.9", "0.5.14", "0.5.18", "0.5.19", "0.5.23"} {
		for available := 80 * units.GB; available < 2*units.TB; available += 83 * units.GB {
			for _, tp := range []int64{1, 2, 8} {
				f := fields{"tp_size": tp, "enable_hierarchical_cache": true, "hicache_size": 1}
				l, _ := Build(request(version, host(available+4*units.GB, available), f, kimi(100000)))
				a := l.Advice
				require.NotNil(t, a)
				if a.Size != nil {
					f["hicache_size"] = *a.Size
					_, found := Build(request(version, host(available+4*units.GB, available), f, kimi(100000)))
					require.NotEqual(t, finding.Error, finding.Worst(found), "%s tp %d %s: %d: %v", version, tp, available, *a.Size, found)
					require.NotContains(t, codes(found), CodeReserveGone)
					require.NotContains(t, codes(found), hicache.CodeGuardDepends)
				}
				f["hicache_size"] = a.Most + 1
				_, found := Build(request(version, host(available+4*units.GB, available), f, kimi(100000)))
				require.Equal(t, finding.Error, finding.Worst(found), "%s tp %d %s: %d", version, tp, available, a.Most+1)
			}
		}
	}
}

// More ranks never need less, whatever makes the ranks.
func TestMoreRanksNeedMore(t *testing.T) {
	for _, field := range []string{"tp_size", "pp_size", "dp_size"} {
		last := units.Bytes(0)
		for n := int64(1); n <= 16; n++ {
			l, _ := Build(request("0.5.18", founding(), fields{field: n, "enable_hierarchical_cache": true, "hicache_size": 10}, llama(1000)))
			require.Greater(t, l.NeedBytes, last, "%s %d", field, n)
			last = l.NeedBytes
		}
	}
}

// Loading without mapping: Kimi's 64 files of about 10 GB, 8 ranks, 8 threads.
func TestLoading(t *testing.T) {
	q := request("0.5.10", founding(), fields{"tp_size": 8, "weight_loader_disable_mmap": true})
	q.Checkpoint = Checkpoint{Bytes: 595 * units.GB, LargestFile: 10 * units.GB}
	_, found := Build(q)
	f := findingOf(t, found, CodeLoadingExceeds)
	assert.Equal(t, finding.Error, f.Severity)
	assert.Equal(t, int64(800*units.GB), f.Figures["loading_bytes"])

	q.Args.Set("weight_loader_disable_mmap", false, args.Origin{Kind: args.FromFlag})
	_, found = Build(q)
	assert.Empty(t, found, "mapped files cost page cache alone")

	q = request("0.5.10", founding(), fields{"tp_size": 8, "weight_loader_disable_mmap": true, "model_loader_extra_config": `{"enable_multithread_load": false}`})
	q.Checkpoint = Checkpoint{Bytes: 595 * units.GB, LargestFile: 10 * units.GB}
	l, _ := Build(q)
	assert.Equal(t, 160*units.GB, l.rest.loading.Value)
}

// 0.5.21 takes the page cache of the checkpoint in a container for used.
func TestPageCacheOf0521(t *testing.T) {
	h := founding()
	limit := 400 * units.GB
	h.Limit, h.LimitBytes = machine.LimitFile, &limit
	h.MemAvailableBytes, h.AvailableBytes = ptr(445*units.GB), &limit
	for version, want := range map[string]units.Bytes{"0.5.20": 402 * units.GB, "0.5.21": 17 * units.GB, "0.5.22": 357 * units.GB} {
		q := request(version, h, tp8(20), kimi(100000))
		q.Checkpoint.Bytes = 340 * units.GB
		v := viewAfterLoad(q, restOf(q))
		seen := v.AfterLoad
		if v.CgroupHeadroom != nil {
			seen = min(seen, *v.CgroupHeadroom)
		}
		assert.Equal(t, want, seen, version)
	}
}

func TestOffloadAndStorage(t *testing.T) {
	q := request("0.5.18", founding(), fields{"tp_size": 4, "cpu_offload_gb": 20, "hicache_storage_backend": "mooncake"})
	r := restOf(q)
	assert.Equal(t, 4*26*units.GiB, r.offload.Value)
	assert.Equal(t, 4*(units.GiB+16*units.MiB), r.storage.Value)
	q.Env = map[string]string{"MOONCAKE_GLOBAL_SEGMENT_SIZE": "64gb"}
	assert.Equal(t, 4*(16*units.GiB+16*units.MiB), restOf(q).storage.Value)
	q = request("0.5.18", founding(), fields{"tp_size": 4, "offload_group_size": 4, "offload_num_in_group": 1, "offload_mode": "shm_cpu"})
	q.RankWeights = 40 * units.GB
	assert.Equal(t, 10*units.GB, restOf(q).offload.Value)
}

func TestHostSetup(t *testing.T) {
	h := founding()
	h.SHMBytes, h.MemlockBytes = ptr(64*units.MiB), ptr(64*units.KiB)
	h.Overcommit, h.CommitLeftBytes = ptr(2), ptr(100*units.GB)
	h.HugepagesBytes, h.ARCBytes = ptr(8*units.GiB), ptr(60*units.GB)
	f := tp8(40)
	f["hicache_storage_backend"] = "mooncake"
	q := request("0.5.18", h, f, kimi(100000))
	q.GPUs = []machine.GPU{{Name: "NVIDIA GB10"}}
	_, found := Build(q)
	assert.Equal(t, []finding.Code{CodeShm, CodeMemlock, CodeOvercommit, CodeHugepages, CodeARC, CodeUnifiedMachine}, codes(found))
	for _, f := range found {
		assert.NotEmpty(t, f.Detail)
		assert.False(t, strings.Contains(f.Detail, "%!"), f.Detail)
	}
}

// Pools come out of reserved huge pages when asked for.
func TestHugepages(t *testing.T) {
	h := host(449*units.GB, 100*units.GB)
	h.HugepagesBytes, h.HugepagesFreeBytes = ptr(340*units.GB), ptr(340*units.GB)
	q := request("0.5.18", h, tp8(40), kimi(100000))
	_, found := Build(q)
	assert.Contains(t, codes(found), CodePoolsExceed)
	q.Env = map[string]string{"SGLANG_HUGEPAGE_SIZE": "2MB"}
	l, found := Build(q)
	assert.NotContains(t, codes(found), CodePoolsExceed)
	assert.Zero(t, l.PerRankBytes%(2*units.MiB))
}

// The memory that passes while a launch starts, in small containers and hosts.
func TestStartingInLittleMemory(t *testing.T) {
	limit := 28 * units.GiB
	h := host(42*units.GB, limit)
	h.Limit, h.LimitBytes = machine.LimitFile, &limit
	q := request("0.5.14", h, fields{})
	q.Checkpoint.Bytes = 20 * units.GB
	_, found := Build(q)
	f := findingOf(t, found, CodeCacheTight)
	assert.Equal(t, finding.Warning, f.Severity)
	assert.Equal(t, "--weight-loader-drop-cache-after-load", f.Fixes[0].Edits[0].Flag)

	q = request("0.5.18", host(64*units.GB, 59*units.GB), fields{})
	q.FourBit = true
	_, found = Build(q)
	f = findingOf(t, found, CodeCompile)
	assert.Equal(t, finding.Warning, f.Severity)
	assert.Contains(t, f.Fixes[0].Title, "MAX_JOBS=13")
	q.Env = map[string]string{"MAX_JOBS": "4"}
	_, found = Build(q)
	assert.Empty(t, found)
}

// Launches that fit alone need not fit together.
func TestShare(t *testing.T) {
	var both []*Ledger
	for range 2 {
		l, found := Build(request("0.5.18", founding(), fields{"tp_size": 4, "enable_hierarchical_cache": true, "hicache_size": 50}, kimi(100000)))
		require.Empty(t, found)
		both = append(both, l)
	}
	s, found := Share(both[:1])
	assert.Empty(t, found)
	assert.Equal(t, 1, s.Launches)
	s, found = Share(append(both, nil))
	assert.Equal(t, []finding.Code{CodeShared}, codes(found))
	assert.Equal(t, finding.Error, found[0].Severity)
	assert.Equal(t, both[0].NeedBytes*2, s.NeedBytes)
}

// A host where HiCache does not pay says so; a size whose pools are unknown is
// taken at its word.
func TestNotWorthAndNominal(t *testing.T) {
	l, found := Build(request("0.5.18", host(80*units.GB, 70*units.GB), tp8(1), kimi(159000)))
	assert.Contains(t, codes(found), CodeNotWorth)
	assert.False(t, l.Advice.Worth)

	l, found = Build(request("0.5.9", founding(), tp8(300)))
	f := findingOf(t, found, CodePoolsExceed)
	assert.Equal(t, "48", f.Fixes[0].Edits[0].Value)
	assert.Equal(t, 2400*units.GB, l.TotalBytes)
	l, _ = Build(request("0.5.9", founding(), tp8(1<<60)))
	assert.Positive(t, l.TotalBytes)

	l, _ = Build(Request{Args: args.New()})
	assert.Nil(t, l, "nothing is said of a host that is not known")
}

func TestGB(t *testing.T) {
	for b, want := range map[units.Bytes]string{
		2400 * units.GB: "2,400 GB", 300 * units.GB: "300 GB", 10 * units.GiB: "10.74 GB",
		-1234567890123: "-1,235 GB", 0: "0 GB", 999990000000: "999.99 GB", 12345678 * units.GB: "12,345,678 GB",
	} {
		assert.Equal(t, want, gb(b))
	}
}

// Whatever the figures, a ledger adds up and nothing wraps around.
func FuzzBuild(f *testing.F) {
	f.Add("0.5.23", int64(445e9), int64(8), int64(48), 20.0, int64(595e9), int64(10e9), "64gb")
	f.Add("0.4.6", int64(-1), int64(1<<40), int64(-5), 1e300, int64(1<<62), int64(1), "x")
	f.Fuzz(func(t *testing.T, version string, available, tp, size int64, offload float64, checkpoint, file int64, segment string) {
		r, err := release.Parse(version)
		if err != nil {
			return
		}
		q := request("0.5.18", host(units.Bytes(available), units.Bytes(available)), fields{"tp_size": tp % 4096, "enable_hierarchical_cache": true,
			"hicache_size": size, "cpu_offload_gb": offload, "weight_loader_disable_mmap": true, "hicache_storage_backend": "mooncake"}, kimi(1000))
		q.Release, q.Env = r, map[string]string{"MOONCAKE_GLOBAL_SEGMENT_SIZE": segment}
		q.Checkpoint = Checkpoint{Bytes: units.Bytes(checkpoint), LargestFile: units.Bytes(file)}
		l, _ := Build(q)
		require.NotNil(t, l)
		require.GreaterOrEqual(t, l.TotalBytes, units.Bytes(0))
		require.GreaterOrEqual(t, l.NeedBytes, l.TotalBytes)
		require.GreaterOrEqual(t, l.LoadBytes, units.Bytes(0))
	})
}

func BenchmarkBuild(b *testing.B) {
	q := request("0.5.23", founding(), tp8(48), kimi(159000))
	b.ReportAllocs()
	for b.Loop() {
		Build(q)
	}
}
