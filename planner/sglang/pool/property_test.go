package pool_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/sglang/pool"
)

// sizers are those of every nth vector.
func sizers(t testing.TB, every int) (out []*pool.Sizer) {
	cfgs := configs(t)
	n := 0
	lines(t, "testdata/kv_cell.jsonl.gz", func(b []byte) {
		if n++; n%every != 0 {
			return
		}
		var v vector
		require.NoError(t, json.Unmarshal(b, &v))
		if len(v.Runs) == 0 {
			return
		}
		r, a, m, draft := v.launch(cfgs)
		if s, _ := pool.New(r, a, m, draft, v.card(), nil); s != nil {
			out = append(out, s)
		}
	})
	return out
}

// More memory never gives fewer tokens. Where states share the budget SGLang's
// own arithmetic steps: a slot more costs its bytes in tokens, so there the
// slots must not fall.
func TestMonotone(t *testing.T) {
	for _, s := range sizers(t, 7) {
		states := false
		for _, p := range s.Pools() {
			states = states || p.Tokens == pool.CountSlots
		}
		last := int64(0)
		for i := range 400 {
			f := 0.6 + float64(i)*0.001
			r := s.At(f, 139.2, 61.7)
			if r.Refused != pool.None {
				continue
			}
			now := r.MaxTotalTokens
			if states {
				now = r.StateSlots
			}
			require.GreaterOrEqual(t, now, last, "f %v", f)
			last = now
		}
	}
}

// What the pools take never exceeds what the fraction leaves by more than what
// SGLang leaves out of its budget: padding, the request table, the draft.
func TestBytesFollowTokens(t *testing.T) {
	for _, s := range sizers(t, 11) {
		r := s.At(0.875, 139.2, 61.7)
		if r.Refused != pool.None {
			require.Zero(t, r.MaxRunningRequests)
			continue
		}
		require.Positive(t, r.Bytes.KV+r.Bytes.States)
		require.Positive(t, r.Bytes.Requests)
		require.GreaterOrEqual(t, r.Bytes.Total(), r.Bytes.KV)
		require.LessOrEqual(t, r.FullTokens, r.MaxTotalTokens)
	}
}

// Readings no card gives are refused or sized, never a panic or a wrapped
// number.
func TestAbsurdReadings(t *testing.T) {
	odd := []float64{0, -1, 1e-9, 80, 1e6, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, s := range sizers(t, 61) {
		for _, f := range odd {
			for _, pre := range odd {
				for _, avail := range odd {
					r := s.At(f, pre, avail)
					if r.Refused == pool.None {
						require.GreaterOrEqual(t, r.MaxTotalTokens, int64(1))
					}
				}
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	for _, s := range sizers(t, 29) {
		r := s.At(0.875, 139.2, 61.7)
		last := int64(math.MaxInt64)
		for _, n := range []int64{1, 100, 4096, 32768, 1 << 20} {
			c := s.Concurrent(&r, n)
			require.LessOrEqual(t, c.Requests, min(last, max(0, r.MaxRunningRequests)))
			require.Equal(t, n > s.ContextLen() && r.Refused == pool.None, c.TooLong)
			last = c.Requests
		}
	}
}

func TestAtDoesNotAllocate(t *testing.T) {
	for _, s := range sizers(t, 41) {
		require.Zero(t, testing.AllocsPerRun(20, func() { s.At(0.88, 139.2, 61.7) }))
	}
}

func BenchmarkAt(b *testing.B) {
	all := sizers(b, 41)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		all[i%len(all)].At(0.88, 139.2, 61.7)
		i++
	}
}
