package ranks

import (
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Processes counts the operating-system processes of a launch on one host by
// kind. They are spawned, so nothing is shared copy-on-write between them.
type Processes struct {
	Main             int `json:"main"`              // HTTP server and tokenizer manager in one process
	DPController     int `json:"dp_controller"`     // with data parallelism of either kind
	Schedulers       int `json:"schedulers"`        // one per rank, each with a CUDA context
	Detokenizers     int `json:"detokenizers"`      // workers, and a router where there are several
	TokenizerWorkers int `json:"tokenizer_workers"` // HTTP workers beside the main process
	// WeightCacheDaemons hold a second copy of the weights on the GPU for the
	// next start (--weight-cache-mode daemon).
	WeightCacheDaemons int `json:"weight_cache_daemons"`
}

// All returns the number of processes of every kind together.
func (p Processes) All() int {
	return p.Main + p.DPController + p.Schedulers + p.Detokenizers + p.TokenizerWorkers + p.WeightCacheDaemons
}

// processes counts what the launcher of a release starts on this host. A
// worker node runs the main process too, where it only waits.
func processes(r release.Release, a *args.Args, s sizes, l Layout) Processes {
	p := Processes{Main: 1, Schedulers: l.OnThisHost}
	if s.replicas > 1 || s.attentionDP > 1 {
		p.DPController = 1
	}
	if s.node == 0 {
		p.Detokenizers, p.TokenizerWorkers = headNode(r, a)
	}
	if r.AtLeast("0.5.18") && a.Str("weight_cache_mode") == "daemon" {
		p.WeightCacheDaemons = l.OnThisHost
	}
	return p
}

// headNode returns the detokenizers and the extra tokenizer workers of the
// first host. Several detokenizers (0.5.12 on) bring a router of their own.
func headNode(r release.Release, a *args.Args) (detokenizers, workers int) {
	detokenizers = 1
	if n := bounded(a.Int("detokenizer_worker_num")); r.AtLeast("0.5.12") && n > 1 {
		detokenizers = n + 1
	}
	if n := bounded(a.Int("tokenizer_worker_num")); r.AtLeast("0.5.2") && n > 1 {
		workers = n
	}
	return detokenizers, workers
}

func bounded(n int64) int { return int(min(max(n, 0), most)) }
