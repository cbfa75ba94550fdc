package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
)

func TestWithoutServers(t *testing.T) {
	gib := func(n units.Bytes) *units.Bytes { b := n * units.GiB; return &b }
	m := Machine{GPUs: []GPU{{FreeBytes: gib(3), UsedBytes: gib(137), Processes: []Process{{PID: 7, Bytes: gib(130)}, {PID: 8, Bytes: gib(6)}}}}}
	r := Running{Procs: []Proc{{PID: 7, Name: "sglang::scheduler"}, {PID: 8, Name: "python3"}}}
	got := WithoutServers(m, r)
	require.Empty(t, cmp.Diff([]GPU{{FreeBytes: gib(133), UsedBytes: gib(7), Processes: []Process{{PID: 8, Bytes: gib(6)}}}}, got.GPUs))
	require.Len(t, m.GPUs[0].Processes, 2, "the machine given stays as it was")
}
