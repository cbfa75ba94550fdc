package hostledger

import (
	"encoding/json"

	"github.com/sglplan/sglplan/planner/figure"
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
	case !readsWhole(q):
		return none, c.Bytes
	}
	file := c.LargestFile
	if file <= 0 {
		file = min(c.Bytes, 10*units.GB) // the usual size of a checkpoint's files
	}
	// The window of files stays nearly full, since reading runs ahead of copying.
	high := c.Bytes
	if n := filesInFlight(q); n < c.Bytes/file {
		high = min(file*n, c.Bytes)
	}
	low := max(min(file, high), high*3/4)
	return figure.Band(high, low, high, figure.Estimated).Times(int64(q.Layout.OnThisHost)), 0
}

// readsWhole reports a loader that reads files into memory of its own instead
// of mapping them.
func readsWhole(q Request) bool {
	return q.Checkpoint.Pickled || q.Release.AtLeast("0.4.8") && q.Args.Bool("weight_loader_disable_mmap")
}

// filesInFlight is how many files a rank holds in memory at once: two while
// one is parsed with a single thread; with threads a window of them, two more
// than threads, from 0.5.9, and the whole checkpoint before.
func filesInFlight(q Request) units.Bytes {
	var cfg struct {
		Multithread *bool `json:"enable_multithread_load"`
		Threads     int64 `json:"num_threads"`
	}
	// A configuration that cannot be read leaves the defaults, as for a rank
	// that never gets as far.
	_ = json.Unmarshal([]byte(q.Args.Str("model_loader_extra_config")), &cfg)
	threaded := q.Release.AtLeast("0.5.10")
	switch {
	case cfg.Multithread != nil:
		threaded = *cfg.Multithread
	case q.Release.AtLeast("0.5.11") && q.Args.Bool("weight_loader_prefetch_checkpoints") && !q.Args.Bool("weight_loader_disable_mmap"):
		threaded = cfg.Threads > 0
	}
	threads := int64(8)
	if cfg.Threads > 0 {
		threads = min(cfg.Threads, 1024)
	}
	switch {
	case !threaded || q.Release.Before("0.4.8.post1"):
		return 2
	case q.Release.Before("0.5.9"):
		return 1 << 20
	}
	return units.Bytes(threads + 2)
}
