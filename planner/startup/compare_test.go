package startup

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/hostledger"
	"github.com/sglplan/sglplan/planner/units"
)

// planOfTwo is a plan for the launch of the log with two ranks.
func planOfTwo() *planner.Plan {
	gib := func(v float64) units.Bytes { return units.FromGiB(v) }
	band := func(v, low, high float64) *figure.Bytes {
		return ptr(figure.Band(gib(v), gib(low), gib(high), figure.Estimated))
	}
	p := &planner.Plan{
		Launch: planner.LaunchInfo{Resolved: map[string]any{"mem_fraction_static": 0.902, "page_size": int64(1), "kv_cache_dtype": "fp8_e4m3"}},
		GPU: &planner.GPU{
			PreLoad: *band(138.2, 137.5, 138.9), WeightsBytes: *band(7.56, 7.52, 7.63),
			MaxTotalNumTokens: ptr(figure.Band[int64](1918666, 1906778, 1930182, figure.Estimated)), MaxRunningRequests: 4096,
			PoolEndFreeBytes: band(11.51, 11.34, 11.53), NeedStartBytes: band(1.9, 1.8, 2.0),
		},
		Host: &hostledger.Ledger{PerRankBytes: 8 * units.GB},
	}
	ledger := `[{"name":"kv_pool","bytes":125756641321,"low_bytes":125756641321,"high_bytes":125756641321,"basis":"exact"}]`
	if err := json.Unmarshal([]byte(ledger), &p.GPU.Ledger); err != nil {
		panic(err)
	}
	return p
}

func TestCompare(t *testing.T) {
	s := readStart(t, sourceLog)
	entries := Compare(planOfTwo(), Measure(s))
	got := map[string]bool{}
	for _, e := range entries {
		got[e.Name] = e.Inside
		require.Equal(t, "log", e.Source)
	}
	require.Empty(t, cmp.Diff(map[string]bool{
		"pre_load_free": true, "weights": true, "max_total_num_tokens": true, "kv_pool": true, "pool_end_free": true,
		"need_start":           false, // 2.36 GiB
		"max_running_requests": true, "host_pools_per_rank": true,
	}, got))
	said := Outside(entries)
	require.Len(t, said, 1)
	require.Contains(t, said[0].Detail, "need_start: planned 1.90 GiB (1.80 GiB to 2.00 GiB, estimated), the log says 2.36 GiB")

	differ, _ := CompareArguments(planOfTwo(), s.Arguments())
	require.Equal(t, []Argument{{"kv_cache_dtype", "fp8_e4m3", "auto"}}, differ)
}
