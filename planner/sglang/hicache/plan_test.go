package hicache

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

type fields map[string]any

// request is a launch of fields on a host with avail bytes after loading.
func request(version string, avail units.Bytes, f fields, pools ...DevicePool) Request {
	a := args.New()
	for k, v := range f {
		a.Set(k, v, args.Origin{Kind: args.FromFlag})
	}
	r := release.MustParse(version)
	l, _ := ranks.Of(r, a)
	return Request{Release: r, Args: a, Layout: l, Host: HostView{AfterLoad: avail}, Stages: [][]DevicePool{pools}}
}

func mla(tokens, page int64) DevicePool {
	return DevicePool{Name: "kv", Kind: Main, MLA: true, Layers: 61, RowBytes: 1152, Page: page, Tokens: tokens}
}

func codes(fs []finding.Finding) []finding.Code {
	var out []finding.Code
	for _, f := range fs {
		out = append(out, f.Code)
	}
	return out
}

// The founding case by release: DeepSeek-V3 rows of 70,272 bytes, 8 ranks, and
// the memory that is available when the pools are built.
func TestFoundingCaseByRelease(t *testing.T) {
	type want struct {
		Tokens   int64
		PerRank  units.Bytes
		Total    units.Bytes
		Verdict  Verdict
		Sure     int64 // -1: no certain size in this release
		Findings []finding.Code
	}
	const after = 402 * units.GB // 445 before the launch, less 43 for its processes
	size := func(gb int64) fields {
		return fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": gb}
	}
	tests := []struct {
		name    string
		version string
		fields  fields
		device  int64
		page    int64
		want    want
	}{
		{"0.5.18, 300: the hang", "0.5.18", size(300), 158976, 64,
			want{4269184, 300004098048, 2400032784384, Pass, -1, nil}},
		{"0.5.18, 48", "0.5.18", size(48), 158976, 64, want{683072, 48000835584, 384006684672, Pass, -1, nil}},
		{"0.5.9, 48, page 1", "0.5.9", size(48), 158976, 1, want{683061, 48000062592, 384000500736, Pass, -1, nil}},
		{"0.5.5, 48, page 1: rounded down", "0.5.5", size(48), 158976, 1, want{683060, 47999992320, 383999938560, Pass, -1, nil}},
		{"0.5.5, 48, page 64: rounded down", "0.5.5", size(48), 158976, 64, want{683008, 47996338176, 383970705408, Pass, -1, nil}},
		{"0.5.3, 48: power of two", "0.5.3", size(48), 158976, 1,
			want{683060, 64 * units.GiB, 512 * units.GiB, Pass, -1, []finding.Code{CodePowerOfTwo}}},
		{"0.5.3, 34: just below 32 GiB", "0.5.3", size(34), 158976, 1,
			want{483834, 32 * units.GiB, 256 * units.GiB, Pass, -1, nil}},
		{"0.5.19, 300", "0.5.19", size(300), 158976, 64,
			want{4269184, 300004098048, 2400032784384, Refuse, 26, []finding.Code{CodeGuardRefuses}}},
		{"0.5.20, 48", "0.5.20", size(48), 158976, 64,
			want{683072, 48000835584, 384006684672, Depends, 26, []finding.Code{CodeGuardDepends}}},
		{"0.5.23, 48", "0.5.23", size(48), 158976, 64,
			want{683072, 48000835584, 384006684672, Depends, 26, []finding.Code{CodeGuardDepends}}},
		{"0.5.23, 26", "0.5.23", size(26), 158976, 64, want{370048, 26004013056, 208032104448, Pass, 26, nil}},
		{"0.5.23, nothing", "0.5.23", fields{"tp_size": 8, "enable_hierarchical_cache": true}, 158976, 64,
			want{318016, 22347620352, 178780962816, Pass, 26, nil}},
		{"0.5.18, nothing", "0.5.18", fields{"tp_size": 8, "enable_hierarchical_cache": true}, 158976, 64,
			want{318016, 22347620352, 178780962816, Pass, -1, nil}},
		{"0.5.14, below the device pool", "0.5.14", size(8), 158976, 64,
			want{113856, 8000888832, 64007110656, Pass, -1, []finding.Code{CodeBelowDevice}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, found := Plan(request(tt.version, after, tt.fields, mla(tt.device, tt.page)))
			require.Len(t, h.Pools, 1)
			got := want{h.Pools[0].Tokens, h.PerRankBytes, h.TotalBytes, h.Guard.Verdict, -1, codes(found)}
			if h.Guard.SureHicacheSize != nil {
				got.Sure = *h.Guard.SureHicacheSize
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// Automatic sizing takes what the host leaves, down to almost nothing.
func TestAutomaticSizing(t *testing.T) {
	type want struct {
		Ratio  float64
		Tokens int64
		Bytes  units.Bytes
	}
	headroom := func(b units.Bytes) *units.Bytes { return &b }
	tests := []struct {
		name     string
		version  string
		device   int64
		avail    units.Bytes
		headroom *units.Bytes
		want     want
	}{
		{"default ratio fits", "0.5.23", 158976, 445 * units.GB, nil, want{2, 318016, 22347620352}},
		{"budget binds", "0.5.23", 1000000, 445 * units.GB, nil, want{0.587038, 587072, 41254723584}},
		{"container of 100 GB", "0.5.23", 158976, 445 * units.GB, headroom(100 * units.GB), want{0.758760, 120640, 8477614080}},
		{"0.5.21, page cache counted as used", "0.5.21", 158976, 445 * units.GB, headroom(20 * units.GB), want{0.078735, 12544, 881491968}},
		{"0.5.22, page cache credited", "0.5.22", 158976, 445 * units.GB, headroom(360 * units.GB), want{2, 318016, 22347620352}},
		{"30 GB for eight ranks", "0.5.23", 158976, 30 * units.GB, nil, want{0.163738, 26048, 1830445056}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := request(tt.version, tt.avail, fields{"tp_size": 8, "enable_hierarchical_cache": true}, mla(tt.device, 64))
			q.Host.CgroupHeadroom = tt.headroom
			h, found := Plan(q)
			assert.InDelta(t, tt.want.Ratio, h.RatioUsed, 1e-6)
			assert.Equal(t, tt.want.Tokens, h.Pools[0].Tokens)
			assert.Equal(t, tt.want.Bytes, h.PerRankBytes)
			assert.Equal(t, Pass, h.Guard.Verdict)
			assert.Equal(t, tt.want.Ratio < 2, len(found) > 0, "%v", found)
		})
	}
	h, found := Plan(request("0.5.23", 9*units.GB, fields{"tp_size": 8, "enable_hierarchical_cache": true}, mla(158976, 64)))
	assert.Equal(t, Refuse, h.Guard.Verdict)
	assert.Contains(t, codes(found), CodeNoneLeft)
}

func paged() []DevicePool {
	return []DevicePool{
		{Name: "c4", Kind: Paged, Layers: 21, RowBytes: 37440, Page: 256, Tokens: 1000000},
		{Name: "swa", Kind: PagedWindow, Layers: 43, RowBytes: 37440, Page: 128, Tokens: 100000},
	}
}

// DeepSeek-V4 pools are sized by an explicit ratio alone.
func TestPagedByRatio(t *testing.T) {
	tests := []struct {
		name    string
		version string
		fields  fields
		want    []finding.Code
	}{
		{"size", "0.5.18", fields{"enable_hierarchical_cache": true, "hicache_size": 48}, []finding.Code{CodeSizeUnsupported}},
		{"nothing, before automatic sizing", "0.5.20", fields{"enable_hierarchical_cache": true}, nil},
		{"nothing, with automatic sizing", "0.5.21", fields{"enable_hierarchical_cache": true}, []finding.Code{CodeRatioNeeded}},
		{"explicit ratio", "0.5.23", fields{"enable_hierarchical_cache": true, "hicache_ratio": 1.5}, nil},
		{"too old", "0.5.11", fields{"enable_hierarchical_cache": true, "hicache_ratio": 1.5}, []finding.Code{CodePoolUnsupported}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, found := Plan(request(tt.version, units.TB, tt.fields, paged()...))
			assert.Equal(t, tt.want, codes(found))
			if len(tt.want) == 0 {
				require.Len(t, h.Pools, 2)
				assert.Equal(t, tt.fields["hicache_ratio"] != nil, h.Pools[0].Pages == 5860)
			}
		})
	}
	old, _ := Plan(request("0.5.14", units.TB, fields{"enable_hierarchical_cache": true, "hicache_ratio": 0.5}, paged()...))
	assert.Equal(t, int64(3908), old.Pools[0].Pages, "one page more than on the device")
}

// Several pools from one size, by release.
func TestSizeOverSeveralPools(t *testing.T) {
	hybrid := func() []DevicePool {
		return []DevicePool{
			{Name: "kv", Kind: Main, Layers: 12, RowBytes: 1024, Page: 64, Tokens: 158976},
			{Name: "mamba", Kind: State, Layers: 36, RowBytes: 536576, Page: 1, Tokens: 240},
		}
	}
	f := fields{"tp_size": 4, "enable_hierarchical_cache": true, "hicache_size": 100}
	twice, found := Plan(request("0.5.16", 2*units.TB, f, hybrid()...))
	assert.InDelta(t, 200e9, float64(twice.PerRankBytes), 0.2e9)
	assert.InDelta(t, 800e9, float64(twice.TotalBytes), 0.5e9)
	assert.Contains(t, codes(found), CodeTwice)
	shared, _ := Plan(request("0.5.17", 2*units.TB, f, hybrid()...))
	assert.InDelta(t, 400e9, float64(shared.TotalBytes), 0.5e9)

	// The state part is refused after the KV part was let through.
	refused, _ := Plan(request("0.5.20", 445*units.GB, fields{"tp_size": 4, "enable_hierarchical_cache": true, "hicache_size": 300}, hybrid()...))
	require.NotNil(t, refused.Guard.Refusal)
	assert.Equal(t, "mamba", refused.Guard.Refusal.Pool)
}

// DSA with its index keys and a draft on top of the size.
func TestPoolsOnTop(t *testing.T) {
	pools := []DevicePool{
		{Name: "kv", Kind: Main, MLA: true, Layers: 78, RowBytes: 576, Page: 64, Tokens: 200000},
		{Name: "indexer", Kind: Indexer, Layers: 78, RowBytes: 132, Page: 64, Tokens: 200000},
		{Name: "draft", Kind: Draft, MLA: true, Layers: 1, RowBytes: 576, Page: 64, Tokens: 200000},
	}
	h, _ := Plan(request("0.5.17", 4*units.TB, fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 270}, pools...))
	assert.InDelta(t, 335.34e9, float64(h.PerRankBytes), 5e6)
	h, _ = Plan(request("0.5.17", 4*units.TB, fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 217}, pools...))
	assert.Less(t, h.PerRankBytes, 270*units.GB)

	inside, _ := Plan(request("0.5.9", 4*units.TB, fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 270}, pools...))
	assert.InDelta(t, 270e9, float64(inside.PerRankBytes), 5e6)
	assert.Len(t, inside.Pools, 1)
}

// A decode server's pools that nobody asked for.
func TestDecodeRetraction(t *testing.T) {
	heads := DevicePool{Name: "kv", Kind: Main, Layers: 32, RowBytes: 4096, Page: 1, Tokens: 1000000}
	decode := fields{"disaggregation_mode": "decode"}
	tests := []struct {
		name    string
		version string
		fields  fields
		pool    DevicePool
		want    float64
	}{
		{"0.5.17 has none", "0.5.17", decode, heads, 0},
		{"0.5.18 one to one", "0.5.18", decode, heads, 1},
		{"0.5.19 a fifth", "0.5.19", decode, heads, 0.2},
		{"0.5.22 at least a request", "0.5.22", decode, heads, 0.5},
		{"0.5.22 received on the host", "0.5.22", fields{"disaggregation_mode": "decode", "disaggregation_decode_host_receive_threshold": 0.5}, heads, 1},
		{"MLA keeps tensors", "0.5.22", decode, mla(1000000, 64), 0},
		{"asked for tensors", "0.5.22", fields{"disaggregation_mode": "decode", "disaggregation_decode_retraction_backup": "cpu_tensor"}, heads, 0},
		{"offload instead", "0.5.22", fields{"disaggregation_mode": "decode", "disaggregation_decode_enable_offload_kvcache": true}, heads, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := request(tt.version, 2*units.TB, tt.fields, tt.pool)
			q.MaxContext = 500001
			h, _ := Plan(q)
			assert.InDelta(t, tt.want, h.RatioUsed, 1e-9)
		})
	}
}

// Options and layouts that end the start when the pools are built.
func TestRefusedCombinations(t *testing.T) {
	heads := DevicePool{Name: "kv", Kind: Main, Layers: 32, RowBytes: 4096, Page: 1, Tokens: 1000}
	wide := heads
	wide.KeyRowBytes = 3000
	states := DevicePool{Name: "mamba", Kind: State, Layers: 32, RowBytes: 4096, Page: 1, Tokens: 100}
	index := DevicePool{Name: "indexer", Kind: Indexer, Layers: 61, RowBytes: 132, Page: 64, Tokens: 1000}
	tests := []struct {
		name    string
		version string
		fields  fields
		pools   []DevicePool
		want    []finding.Code
	}{
		{"unified memory", "0.5.20", fields{"enable_unified_memory": true}, []DevicePool{heads}, []finding.Code{CodeCombination}},
		{"unified memory later", "0.5.21", fields{"enable_unified_memory": true}, []DevicePool{heads}, nil},
		{"context parallel heads", "0.5.18", fields{"dcp_size": 2}, []DevicePool{heads}, []finding.Code{CodeCombination}},
		{"context parallel latents", "0.5.18", fields{"dcp_size": 2}, []DevicePool{mla(1000, 64)}, nil},
		{"context parallel with a store", "0.5.18", fields{"dcp_size": 2, "hicache_storage_backend": "file"}, []DevicePool{mla(1000, 64)}, []finding.Code{CodeCombination}},
		{"context parallel DSA", "0.5.22", fields{"dcp_size": 2}, []DevicePool{mla(1000, 64), index}, []finding.Code{CodeCombination}},
		{"wide keys by layer", "0.5.18", fields{"hicache_mem_layout": "layer_first"}, []DevicePool{wide}, []finding.Code{CodeLayoutUnsupported}},
		{"states by layer", "0.5.18", fields{"hicache_mem_layout": "layer_first"}, []DevicePool{heads, states}, []finding.Code{CodeLayoutUnsupported}},
		{"states page first in 0.5.14", "0.5.14", fields{}, []DevicePool{heads, states}, []finding.Code{CodeLayoutUnsupported}},
		{"states before", "0.5.13", fields{}, []DevicePool{heads, states}, nil},
		{"latents by head", "0.5.18", fields{"hicache_mem_layout": "page_head"}, []DevicePool{mla(1000, 64)}, []finding.Code{CodeLayoutUnsupported}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.fields["enable_hierarchical_cache"], tt.fields["hicache_size"] = true, 20
			_, found := Plan(request(tt.version, units.TB, tt.fields, tt.pools...))
			var got []finding.Code
			for _, f := range found {
				if f.Severity == finding.Error {
					got = append(got, f.Code)
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// GPU memory for write-back: 64 pages of 64 tokens of a Kimi cache.
func TestStaging(t *testing.T) {
	f := fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 48}
	h, _ := Plan(request("0.5.18", 402*units.GB, f, mla(158976, 64)))
	assert.Equal(t, units.Bytes(64*64*70272), h.StagingBytes)
	f["hicache_mem_layout"] = "page_first_direct"
	h, _ = Plan(request("0.5.18", 402*units.GB, f, mla(158976, 64)))
	assert.Zero(t, h.StagingBytes)
	h, _ = Plan(request("0.5.13", 402*units.GB, f, mla(158976, 64)))
	assert.Zero(t, h.StagingBytes)
}

// A fixed size gives all pipeline stages the tokens of the poorest one from
// 0.5.15 on.
func TestStagesShareTokens(t *testing.T) {
	stage := func(layers int64) []DevicePool {
		return []DevicePool{{Name: "kv", Kind: Main, Layers: layers, RowBytes: 4096, Page: 1, Tokens: 10000}}
	}
	f := fields{"pp_size": 2, "enable_hierarchical_cache": true, "hicache_size": 10}
	q := request("0.5.15", units.TB, f)
	q.Stages = [][]DevicePool{stage(30), stage(20)}
	h, _ := Plan(q)
	tokens := int64(10e9)/(30*4096) + 1
	assert.Equal(t, units.Bytes(tokens*(30+20)*4096), h.TotalBytes)
	q.Release = release.MustParse("0.5.14")
	h, _ = Plan(q)
	assert.InDelta(t, 20e9, float64(h.TotalBytes), 1e6)
}

// More memory never makes a verdict worse, more ranks never need less.
func TestMonotone(t *testing.T) {
	rank := map[Verdict]int{Refuse: 0, Depends: 1, Pass: 2}
	for _, version := range []string{"0.5.3", "0.5.9", "0.5.18", "0.5.19", "0.5.23"} {
		last := -1
		for avail := 20 * units.GB; avail < 1200*units.GB; avail += 7 * units.GB {
			h, _ := Plan(request(version, avail, fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 48}, mla(158976, 64)))
			require.GreaterOrEqual(t, rank[h.Guard.Verdict], last)
			last = rank[h.Guard.Verdict]
		}
		var total units.Bytes
		for tp := int64(1); tp <= 16; tp++ {
			h, _ := Plan(request(version, units.TB, fields{"tp_size": tp, "enable_hierarchical_cache": true, "hicache_size": 48}, mla(158976, 64)))
			require.Greater(t, h.TotalBytes, total)
			total = h.TotalBytes
		}
	}
}

// The certain size passes and one more does not, with and without index keys.
func TestSureSizeIsLargest(t *testing.T) {
	sets := [][]DevicePool{
		{mla(158976, 64)},
		{mla(158976, 64), {Name: "indexer", Kind: Indexer, Layers: 61, RowBytes: 132, Page: 64, Tokens: 158976}},
	}
	for _, pools := range sets {
		for avail := 60 * units.GB; avail < units.TB; avail += 41 * units.GB {
			q := request("0.5.23", avail, fields{"tp_size": 8, "enable_hierarchical_cache": true, "hicache_size": 1}, pools...)
			h, _ := Plan(q)
			n := *h.Guard.SureHicacheSize
			if n > 0 {
				require.Equal(t, Pass, WithSize(q, n).Guard.Verdict)
			}
			require.NotEqual(t, Pass, WithSize(q, n+1).Guard.Verdict)
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add("0.5.23", int64(8), int64(48), 0.0, int64(61), int64(1152), int64(64), int64(158976), int64(445e9))
	f.Add("0.5.3", int64(0), int64(-1), -3.5, int64(-1), int64(0), int64(0), int64(0), int64(-5))
	f.Add("0.5.19", int64(1), int64(1<<62), 1e300, int64(1<<40), int64(1<<40), int64(1), int64(1<<60), int64(1<<62))
	f.Fuzz(func(t *testing.T, version string, tp, size int64, ratio float64, layers, row, page, tokens, avail int64) {
		r, err := release.Parse(version)
		if err != nil {
			return
		}
		fs := fields{"tp_size": tp % 64, "enable_hierarchical_cache": true, "hicache_size": size}
		if ratio != 0 {
			fs["hicache_ratio"] = ratio
		}
		q := request("0.5.23", units.Bytes(avail), fs, DevicePool{Name: "kv", Kind: Main, Layers: layers, RowBytes: row, Page: page, Tokens: tokens})
		q.Release = r
		h, _ := Plan(q)
		require.GreaterOrEqual(t, h.TotalBytes, units.Bytes(0))
	})
}
