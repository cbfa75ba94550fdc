package loading

import (
	"encoding/json"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// A checkpoint's way through the host's memory.

// ReadsWhole reports a loader that reads weight files into memory of its own
// instead of mapping them. Pickled files (.bin, .pt) are never mapped.
func ReadsWhole(a *args.Args, pickled bool) bool {
	return pickled || a.Bool("weight_loader_disable_mmap")
}

// AllFiles is more files than a checkpoint has.
const AllFiles = 1 << 20

// FilesInFlight is how many files a rank that reads whole files holds in
// memory at once: two while one is parsed with a single thread; with threads a
// window of them, two more than threads, from 0.5.9, and the whole checkpoint
// before (AllFiles).
func FilesInFlight(r release.Release, a *args.Args) int64 {
	var cfg struct {
		Multithread *bool `json:"enable_multithread_load"`
		Threads     int64 `json:"num_threads"`
	}
	// A configuration that cannot be read leaves the defaults, as for a rank
	// that never gets as far.
	_ = json.Unmarshal([]byte(a.Str("model_loader_extra_config")), &cfg)
	threaded := r.AtLeast("0.5.10")
	switch {
	case cfg.Multithread != nil:
		threaded = *cfg.Multithread
	case a.Bool("weight_loader_prefetch_checkpoints") && !a.Bool("weight_loader_disable_mmap"):
		threaded = cfg.Threads > 0
	}
	threads := int64(8)
	if cfg.Threads > 0 {
		threads = min(cfg.Threads, 1024)
	}
	switch {
	case !threaded || r.Before("0.4.8.post1"):
		return 2
	case r.Before("0.5.9"):
		return AllFiles
	}
	return threads + 2
}

// CanDropCache reports a release that can drop each file from the page cache
// once it is loaded: --weight-loader-drop-cache-after-load.
func CanDropCache(r release.Release) bool { return r.AtLeast("0.5.12") }
