package pool_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/pool"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// FuzzNew: no configuration and no arguments make the arithmetic panic, and a
// pool that is not refused holds at least one token.
func FuzzNew(f *testing.F) {
	for _, c := range configs(f) {
		b, err := json.Marshal(c.Top)
		require.NoError(f, err)
		if len(b) < 6<<10 {
			f.Add(b, uint8(4), int64(1), int64(32), int64(0), "EAGLE")
			f.Add(b, uint8(1), int64(64), int64(0), int64(100000), "")
		}
	}
	rels := []release.Release{release.MustParse("0.5.5"), release.MustParse("0.5.9"), release.MustParse("0.5.13"), release.MustParse("0.5.18"), release.Newest}
	f.Fuzz(func(t *testing.T, b []byte, tp uint8, page, reqs, cap int64, algorithm string) {
		top, err := model.ParseSection(bytes.NewReader(b))
		if err != nil {
			return
		}
		a := args.New()
		for k, v := range map[string]any{
			"tp_size": int64(tp), "page_size": page, "speculative_algorithm": algorithm, "speculative_num_draft_tokens": reqs, "pp_size": int64(tp % 3),
			"swa_full_tokens_ratio": float64(page) / 100, "mamba_full_memory_ratio": 0.9, "chunked_prefill_size": cap, "disable_radix_cache": page%2 == 0,
		} {
			a.Set(k, v, args.Origin{})
		}
		if reqs != 0 {
			a.Set("max_running_requests", reqs, args.Origin{})
			a.Set("max_total_tokens", cap, args.Origin{})
		}
		for _, r := range rels {
			m, _ := modelcfg.Derive(r, &model.Config{Top: top}, modelcfg.Options{})
			s, _ := pool.New(r, a, m, m, machine.Card{Major: 9, TotalMiB: 143771}, nil)
			if s == nil {
				continue
			}
			for _, avail := range []float64{-3, 20, 61.7} {
				if got := s.At(0.875, 80, avail); got.Refused == pool.None {
					require.Positive(t, got.MaxTotalTokens)
				}
			}
		}
	})
}
