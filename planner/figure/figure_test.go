package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
)

func TestArithmetic(t *testing.T) {
	a := Band[units.Bytes](10, 8, 13, Estimated)
	b := New[units.Bytes](4, Measured)
	require.Empty(t, cmp.Diff(Bytes{14, 12, 17, Estimated}, a.Plus(b)))
	require.Empty(t, cmp.Diff(Bytes{6, 4, 9, Estimated}, a.Minus(b)))
	require.Empty(t, cmp.Diff(Bytes{-6, -9, -4, Estimated}, b.Minus(a)))
	require.Empty(t, cmp.Diff(Bytes{30, 24, 39, Estimated}, a.Times(3)))
	require.Empty(t, cmp.Diff(Bytes{100, 98, 105, Estimated}, Percent[units.Bytes](100, 2, 5)))
	require.Empty(t, cmp.Diff(Bytes{5, 5, 9, Assumed}, Band[units.Bytes](5, 7, 9, Assumed)), "a band always holds its value")
	require.True(t, a.Holds(8) && a.Holds(13) && !a.Holds(14))
}

func TestWorse(t *testing.T) {
	order := []Basis{Exact, Measured, Estimated, Assumed}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, order[max(i, j)], Worse(a, b))
		}
	}
}
