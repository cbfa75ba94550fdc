package source

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/model/weights"
)

// BenchmarkTrillion reads the index and the headers of a checkpoint of a
// trillion parameters in 64 files (31 MB of headers, 22 MB of index) and counts
// a rank's share. cpu-ms/op is the time of all cores, which a busy machine does
// not stretch.
//
// A Python script that reads the same headers: internal/bench/headers.py on the
// folder that internal/bench/setup writes.
func BenchmarkTrillion(b *testing.B) {
	dir := trillion(b)
	l := weights.Layout{TP: 8, AttnTP: 8, EP: 1, MoETP: 8, Dense: 8, Vision: 8, PP: 1}
	b.ReportAllocs()
	tensors, before := 0, cpu()
	for b.Loop() {
		c := Read(dirFS(dir), "", 2)
		require.NotNil(b, c.Tally, c.Problems)
		c.Tally.Share(l, 61, 1, false)
		tensors = c.Tally.Tensors
	}
	b.ReportMetric(float64(cpu()-before)/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(tensors), "tensors")
}

// BenchmarkTrillionHeaders is the part of it that Python is compared with: the
// headers alone, one after the other.
func BenchmarkTrillionHeaders(b *testing.B) {
	dir := trillion(b)
	require.NoError(b, syscall.Unlink(dir+"/"+safetensors.IndexName))
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		require.NotNil(b, Read(dirFS(dir), "", 1).Tally)
	}
	b.ReportMetric(float64(cpu()-before)/1e6/float64(b.N), "cpu-ms/op")
}

func trillion(b *testing.B) string {
	dir := b.TempDir()
	_, err := bigcheckpoint.Write(dir, bigcheckpoint.Kimi(61, 384), 64)
	require.NoError(b, err)
	return dir
}

// cpu is the time that this process has had of all cores, in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
