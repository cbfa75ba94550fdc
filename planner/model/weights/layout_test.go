package weights

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLayersOfStages(t *testing.T) {
	for _, c := range []struct {
		layers, pp int64
		partition  []int64
		want       [][2]int64
	}{
		{61, 4, nil, [][2]int64{{0, 15}, {15, 30}, {30, 45}, {45, 61}}}, // the last takes the rest
		{62, 4, nil, [][2]int64{{0, 15}, {15, 30}, {30, 46}, {46, 62}}},
		{48, 2, nil, [][2]int64{{0, 24}, {24, 48}}},
		{48, 2, []int64{20, 28}, [][2]int64{{0, 20}, {20, 48}}},
		{48, 2, []int64{1, 2, 3}, [][2]int64{{0, 24}, {24, 48}}}, // not of this many stages
		{3, 2, []int64{9, 9}, [][2]int64{{0, 3}, {3, 3}}},
		{1, 3, nil, [][2]int64{{0, 0}, {0, 0}, {0, 1}}},
	} {
		for stage, want := range c.want {
			from, to := Layout{PP: c.pp, Stage: int64(stage), Partition: c.partition}.Layers(c.layers)
			require.Equal(t, want, [2]int64{from, to}, "%d layers, stage %d of %d", c.layers, stage, c.pp)
		}
	}
}

func TestShapesThatDoNotDivide(t *testing.T) {
	b := &Builder{}
	require.EqualValues(t, 16, b.split("heads", 64, 4))
	require.EqualValues(t, 1, b.kvSplit(2, 8)) // copied
	require.NoError(t, b.err)
	b.split("heads", 28, 8)
	b.kvSplit(3, 8)
	require.EqualError(t, b.err, "heads: 28 does not divide by 8 ranks", "the first error stays")
	b = &Builder{}
	b.kvSplit(3, 8)
	require.ErrorContains(t, b.err, "multiple of the heads")
}

func TestSizesSaturate(t *testing.T) {
	require.EqualValues(t, 0, mul(-1, 5))
	require.EqualValues(t, maxTensor, mul(1<<40, 1<<40))
	r := NewReplay(1)
	h := r.New(Attention, FP32, 1<<40, 1<<40)
	require.EqualValues(t, maxTensor, r.Total())
	r.Free(h)
	r.Free(0)
	require.Zero(t, r.Total())
}
