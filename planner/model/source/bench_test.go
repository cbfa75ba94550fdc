package source

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/model/weights"
)

// BenchmarkTrillion reads the headers and the index of a checkpoint of a
// trillion parameters and counts a rank's share. live-MB is the heap that is in
// use at the end of a read, before it is collected.
func BenchmarkTrillion(b *testing.B) {
	dir := b.TempDir()
	_, err := bigcheckpoint.Write(dir, bigcheckpoint.Kimi(61, 384), 64)
	require.NoError(b, err)
	l := weights.Layout{TP: 8, AttnTP: 8, EP: 1, MoETP: 8, Dense: 8, Vision: 8, PP: 1}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	b.ResetTimer()
	tensors := 0
	for b.Loop() {
		c := Read(dirFS(dir), "", 2)
		require.NotNil(b, c.Tally, c.Problems)
		c.Tally.Share(l, 61, 1, false)
		tensors = c.Tally.Tensors
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "alloc-MiB/op")
	b.ReportMetric(float64(tensors), "tensors")
}
