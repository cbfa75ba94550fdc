package caching

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run ends as the same allocations one by one do.
func TestRunEqualsAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var one, run Allocator
		var held [][2]Block
		for range 40 {
			n := r.Int64N(12 << 20)
			if r.IntN(2) == 0 {
				n = r.Int64N(3 << 20)
			}
			switch count := 1 + r.Int64N(60); {
			case r.IntN(3) > 0:
				held = append(held, [2]Block{one.Alloc(n), run.Alloc(n)})
			case len(held) > 0 && r.IntN(2) == 0:
				i := r.IntN(len(held))
				one.Free(held[i][0])
				run.Free(held[i][1])
				held = append(held[:i], held[i+1:]...)
			default:
				var a, b []Block
				for range count {
					a = append(a, one.Alloc(n))
				}
				total := int64(0)
				run.AllocRun(n, count, func(x Block, k int64) {
					b = append(b, x)
					total += k
				})
				require.Equal(t, count, total)
				require.Equal(t, one.Live(), run.Live())
				for _, x := range a {
					one.Free(x)
				}
				for _, x := range b {
					run.Free(x)
				}
			}
			require.Equal(t, one.Reserved(), run.Reserved())
			require.Equal(t, one.Live(), run.Live())
			require.Equal(t, one.ReservedPeak(), run.ReservedPeak())
		}
		one.EmptyCache()
		run.EmptyCache()
		require.Equal(t, one.Reserved(), run.Reserved())
	}
}
