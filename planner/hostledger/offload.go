package hostledger

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/units"
)

// offloadOf is the host memory of weights that ranks keep off their GPUs.
func offloadOf(q Request) figure.Bytes {
	n := int64(q.Layout.OnThisHost)
	if group := q.Args.Int("offload_group_size"); group > 0 {
		return groupOffload(q, group, n)
	}
	gib := q.Args.Float("cpu_offload_gb")
	if gib <= 0 {
		return figure.New(units.Bytes(0), figure.Exact)
	}
	x := sane(units.FromGiB(min(gib, 1<<20)))
	// Pinned by torch parameter by parameter, each rounded up to a power of
	// two: 1.3 times for the usual matrices, at most twice.
	return figure.Band(x*13/10, x, 2*x, figure.Estimated).Times(n)
}

// groupOffload is the second offloader: of every group of layers some are kept
// off the GPU, pinned by each rank or once for the host.
func groupOffload(q Request, group, n int64) figure.Bytes {
	part := min(max(q.Args.IntOr("offload_num_in_group", 1), 0), group)
	x := units.Bytes(float64(sane(q.RankWeights)) * float64(part) / float64(group))
	switch q.Args.Str("offload_mode") {
	case "meta":
		return figure.New(units.Bytes(0), figure.Exact)
	case "shm_cpu":
		n = 1
	}
	if x <= 0 {
		return figure.New(units.Bytes(0), figure.Assumed)
	}
	return figure.Band(x, x/2, 2*x, figure.Estimated).Times(n)
}

// mostBytes bounds what one rank can be said to take, so that all ranks of a
// host add up without overflow: 8 TiB.
const mostBytes = 8 * units.TiB

func sane(b units.Bytes) units.Bytes { return min(max(b, 0), mostBytes) }

// mooncakeSegment is the memory that one Mooncake store client gives to the
// store when nothing else is said.
const mooncakeSegment = 4 * units.GiB

// storageOf is the memory of the L3 backends that have a store of their own in
// each rank. Those whose size stands in files of their own are left out.
func storageOf(q Request) figure.Bytes {
	if q.Args.Str("hicache_storage_backend") != "mooncake" {
		return figure.New(units.Bytes(0), figure.Exact)
	}
	segment, basis := mooncakeSegment, figure.Assumed
	if s, ok := mooncakeSize(q.Env["MOONCAKE_GLOBAL_SEGMENT_SIZE"]); ok {
		segment, basis = s, figure.Measured
	}
	var extra map[string]any
	if json.Unmarshal([]byte(q.Args.Str("hicache_storage_backend_extra_config")), &extra) == nil {
		switch v := extra["global_segment_size"].(type) {
		case string:
			if s, ok := mooncakeSize(v); ok {
				segment, basis = s, figure.Measured
			}
		case float64:
			segment, basis = units.Bytes(min(max(v, 0), float64(mostBytes))), figure.Measured
		}
	}
	segment /= units.Bytes(hicache.SegmentShares(q.Release, q.Layout))
	const localBuffer = 16 * units.MiB
	return figure.New(segment+localBuffer, basis).Times(int64(q.Layout.OnThisHost))
}

// mooncakeSize reads a size as the store's client does: "4gb" in powers of
// two, or plain bytes.
func mooncakeSize(s string) (units.Bytes, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	unit := int64(1)
	if t, ok := strings.CutSuffix(s, "gb"); ok {
		s, unit = strings.TrimSpace(t), int64(units.GiB)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(mostBytes)/unit {
		return 0, false
	}
	return units.Bytes(n * unit), true
}
