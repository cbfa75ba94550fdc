package startup

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

func readStart(t *testing.T, name string) *serverlog.Start {
	t.Helper()
	f, err := os.Open(filepath.Join("serverlog", "testdata", name))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s, err := serverlog.Read(z)
	require.NoError(t, err)
	return s
}

func ptr[T any](v T) *T { return &v }

func TestCalibrate(t *testing.T) {
	g := func(v float64) *units.Bytes { return ptr(units.FromGiB(v)) }
	need := func(v float64) *figure.Bytes {
		n := units.FromGiB(v)
		return ptr(figure.Band(n, max(n-needBelow, 0), n+needAbove, figure.Measured))
	}
	for name, want := range map[string]planner.Calibration{
		"h200-0517-llama8b-tp2-hicache8.log.gz": {
			ModelPath: "meta-llama/Meta-Llama-3.1-8B", TPSize: 2, MemFraction: ptr(0.902),
			PreLoadFree: g(138.21), Weights: g(7.54), MaxTotalTokens: ptr(int64(1918949)), PoolEndFree: g(11.53),
			NeedStart: need(11.53 - 9.17), HostPoolPerRank: ptr(8 * units.GB),
		},
		"h200-0517-qwen3-32b-f0.96-chunk16384.log.gz": {
			ModelPath: "Qwen/Qwen3-32B", TPSize: 1, MemFraction: ptr(0.96),
			PreLoadFree: g(139.13), Weights: g(139.13 - 78.08), PoolEndFree: g(4.74), DiedInCapture: true,
		},
		// The draft is loaded before the pools and part of what loading took.
		"h200-0517-llama8b-eagle3.log.gz": {
			ModelPath: "meta-llama/Meta-Llama-3.1-8B", TPSize: 1, MemFraction: ptr(0.903),
			PreLoadFree: g(139.13), Weights: g(139.13 - 121.90), PoolEndFree: g(13.79),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Calibrate(readStart(t, name))
			require.NoError(t, err)
			want.Schema = planner.Schema
			near := cmp.Comparer(func(a, b units.Bytes) bool { return (a-b)*(a-b) <= 100 }) // two roundings of GiB
			require.Empty(t, cmp.Diff(want, got, near))
		})
	}
	_, err := Calibrate(readStart(t, "16_v0.5.21-qwen38-flash-ple-file-2026-10.log.gz"))
	require.ErrorIs(t, err, ErrNothingMeasured)
}
