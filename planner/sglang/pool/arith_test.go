package pool

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Python's own answers.
func TestFloatFloorDiv(t *testing.T) {
	for _, c := range [][3]float64{
		{7, 2, 3}, {-7, 2, -4}, {7, -2, -4}, {0.3, 0.1, 2}, {1, 0.1, 9}, {1e18, 3, 333333333333333312}, {0, 5, 0}, {10737418240, 66355.2, 161817},
	} {
		require.Equal(t, c[2], floatFloorDiv(c[0], c[1]), "%v // %v", c[0], c[1])
	}
	require.EqualValues(t, -4, floorDiv(-7, 2))
	require.EqualValues(t, 4, ceilDiv(7, 2))
	require.EqualValues(t, -3, trunc(-3.9))
	require.EqualValues(t, math.MaxInt64, trunc(math.Inf(1)))
	require.Zero(t, trunc(math.NaN()))
}

func TestStages(t *testing.T) {
	got, ok := stages(27, 2, nil)
	require.True(t, ok)
	require.Equal(t, []span{{0, 13}, {13, 27}}, got)
	got, ok = stages(10, 4, nil)
	require.True(t, ok)
	require.Equal(t, []span{{0, 2}, {2, 4}, {4, 7}, {7, 10}}, got)
	got, ok = stages(10, 2, map[string]string{"SGLANG_PP_LAYER_PARTITION": "4,6"})
	require.True(t, ok)
	require.Equal(t, []span{{0, 4}, {4, 10}}, got)
	for _, bad := range []string{"4", "4,5", "x,6", "-1,11"} {
		_, ok = stages(10, 2, map[string]string{"SGLANG_PP_LAYER_PARTITION": bad})
		require.False(t, ok, bad)
	}
}

// A pipeline serves what its smallest stage holds.
func TestSmallestStage(t *testing.T) {
	s := &Sizer{legacy: configuredTokens, page: 1, par: Parallel{PP: 2}, stages: []stage{
		{span{0, 13}, &uniform{cell: 100, page: 1}}, {span{13, 27}, &uniform{cell: 200, page: 1}},
	}, tight: 1, req: requests{era: requestsTokens, context: 1000}, foot: footprints{page: 1}}
	require.EqualValues(t, int64(10*gib/200), s.At(0.875, 80, 20).MaxTotalTokens)
}
