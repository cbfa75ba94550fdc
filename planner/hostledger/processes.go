package hostledger

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// Baseline is the anonymous host memory of one process of each kind. File
// pages of libraries are shared and reclaimable and are not in it.
type Baseline struct {
	Scheduler       figure.Bytes `json:"scheduler"`        // with peers: NCCL and IPC buffers
	SchedulerAlone  figure.Bytes `json:"scheduler_alone"`  // a launch of one rank
	Draft           figure.Bytes `json:"draft"`            // more per scheduler with a draft model
	Main            figure.Bytes `json:"main"`             // HTTP server and tokenizer manager
	MultimodalMain  figure.Bytes `json:"multimodal_main"`  // with image processors
	TokenizerWorker figure.Bytes `json:"tokenizer_worker"` // each extra one
	Other           figure.Bytes `json:"other"`            // detokenizer, data-parallel controller
}

// DefaultBaseline is measured at the low end (SGLang 0.5.17, dummy weights, no
// tokenizer: 1.2 to 2.4 GiB a scheduler, 0.65 the launcher, 0.62 the
// detokenizer) and anchored at a production host on the other (8 ranks and
// everything else about 40 GB).
func DefaultBaseline() Baseline {
	band := func(value, low, high float64) figure.Bytes {
		gb := func(f float64) units.Bytes { return units.Bytes(f * float64(units.GB)) }
		return figure.Band(gb(value), gb(low), gb(high), figure.Estimated)
	}
	return Baseline{
		Scheduler:       band(5, 1.9, 6),
		SchedulerAlone:  band(4, 1.3, 5),
		Draft:           band(0.5, 0.1, 1),
		Main:            band(2, 0.65, 3),
		MultimodalMain:  band(3, 1, 7),
		TokenizerWorker: band(2, 0.65, 3),
		Other:           band(1, 0.6, 1.5),
	}
}

// processesOf adds up the processes of a launch on this host.
func processesOf(q Request) figure.Bytes {
	b := q.Baseline
	if b == (Baseline{}) {
		b = DefaultBaseline()
	}
	p := q.Layout.Processes
	scheduler := b.Scheduler
	if q.Layout.Total <= 1 {
		scheduler = b.SchedulerAlone
	}
	if q.Draft {
		scheduler = scheduler.Plus(b.Draft)
	}
	main := b.Main
	if q.Multimodal {
		main = b.MultimodalMain
	}
	return scheduler.Times(int64(p.Schedulers)).
		Plus(main.Times(int64(p.Main))).
		Plus(b.TokenizerWorker.Times(int64(p.TokenizerWorkers))).
		Plus(b.Other.Times(int64(p.Detokenizers + p.DPController + p.WeightCacheDaemons)))
}
