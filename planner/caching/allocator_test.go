package caching

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
)

func TestAllocatorSegments(t *testing.T) {
	for n, want := range map[int64]units.Bytes{
		1: 2 * units.MiB, 1 << 20: 2 * units.MiB, // small ones share 2 MiB
		1<<20 + 1: 20 * units.MiB, 10<<20 - 512: 20 * units.MiB, // large ones below 10 MiB share 20
		10 << 20: 10 * units.MiB, 11<<20 + 1: 12 * units.MiB, // others have their own, to 2 MiB
	} {
		var a Allocator
		a.Alloc(n)
		require.Equal(t, want, a.Reserved(), "%d bytes", n)
	}
}

func TestAllocatorRounding(t *testing.T) {
	var a Allocator
	a.Alloc(0)
	a.Alloc(513)
	require.Equal(t, units.Bytes(512+1024), a.Live())
}

func TestAllocatorSplitsAndMerges(t *testing.T) {
	var a Allocator
	x := a.Alloc(64 << 20)
	a.Free(x)
	y := a.Alloc(16 << 20) // splits the cached 64 MiB
	z := a.Alloc(48 << 20) // the rest
	require.Equal(t, 64*units.MiB, a.Reserved())
	a.Free(y)
	a.Alloc(20 << 20) // 16 MiB free, too small
	require.Equal(t, 84*units.MiB, a.Reserved())
	a.Free(z) // merges with y to 64 MiB again
	a.Alloc(64 << 20)
	require.Equal(t, 84*units.MiB, a.Reserved())
}

// A remainder of at most 1 MiB stays with a large block.
func TestAllocatorKeepsSmallRemainder(t *testing.T) {
	var a Allocator
	a.Free(a.Alloc(12 << 20))
	a.Alloc(11 << 20)
	require.Equal(t, 12*units.MiB, a.Live())
}

func TestAllocatorBestFit(t *testing.T) {
	var a Allocator
	big, fit := a.Alloc(100<<20), a.Alloc(50<<20)
	a.Free(big)
	a.Free(fit)
	require.Equal(t, fit, a.Alloc(40<<20), "the smallest block that fits")
	require.Equal(t, big, a.Alloc(100<<20))
}

func TestAllocatorEmptyCache(t *testing.T) {
	var a Allocator
	keep, whole := a.Alloc(32<<20), a.Alloc(32<<20)
	part := a.Alloc(16 << 20)
	a.Free(whole)
	a.Free(part)
	a.EmptyCache()
	require.Equal(t, 32*units.MiB, a.Reserved())
	a.Free(keep)
	held := a.Alloc(8 << 20) // splits the kept segment, which therefore stays
	a.EmptyCache()
	require.Equal(t, 32*units.MiB, a.Reserved())
	a.Free(held)
	a.EmptyCache()
	require.Zero(t, a.Reserved())
}

// Whatever the order: live bytes never exceed what is reserved, nothing is
// lost, and after freeing everything the cache can be emptied to zero.
func TestAllocatorProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a Allocator
		var held []Block
		for range 300 {
			if len(held) > 0 && r.IntN(5) < 2 {
				i := r.IntN(len(held))
				a.Free(held[i])
				held = append(held[:i], held[i+1:]...)
			} else {
				held = append(held, a.Alloc(r.Int64N(1<<(9+r.IntN(20)))))
			}
			require.LessOrEqual(t, a.Live(), a.Reserved())
			require.LessOrEqual(t, a.Live(), a.Peak())
		}
		for _, b := range held {
			a.Free(b)
		}
		require.Zero(t, a.Live())
		a.EmptyCache()
		require.Zero(t, a.Reserved())
		a.Reset()
		require.Zero(t, a.Peak())
	}
}
