package hostledger

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/sglang/loading"
	"github.com/sglplan/sglplan/planner/units"
)

// restOf is everything that the launch takes beside its host pools.
func restOf(q Request) rest {
	peak, cache := loadingOf(q)
	return rest{
		processes: processesOf(q), loading: peak, pageCache: cache,
		offload: offloadOf(q), storage: storageOf(q),
	}
}

// loadingOf is the anonymous memory at the height of loading on this host, and
// the page cache that the checkpoint leaves. Mapped safetensors cost page
// cache alone, which all ranks share and the kernel drops when it is needed.
func loadingOf(q Request) (peak figure.Bytes, cache units.Bytes) {
	none := figure.New(units.Bytes(0), figure.Exact)
	c := q.Checkpoint
	c.Bytes, c.LargestFile = sane(c.Bytes), sane(c.LargestFile)
	switch format := q.Args.Str("load_format"); {
	case format == "dummy" || c.Bytes <= 0:
		return none, 0
	case !loading.ReadsWhole(q.Args, c.Pickled):
		return none, c.Bytes
	}
	file := c.LargestFile
	if file <= 0 {
		file = min(c.Bytes, 10*units.GB) // the usual size of a checkpoint's files
	}
	// The window of files stays nearly full, since reading runs ahead of copying.
	high := c.Bytes
	if n := units.Bytes(loading.FilesInFlight(q.Release, q.Args)); n < c.Bytes/file {
		high = min(file*n, c.Bytes)
	}
	low := max(min(file, high), high*3/4)
	return figure.Band(high, low, high, figure.Estimated).Times(int64(q.Layout.OnThisHost)), 0
}
