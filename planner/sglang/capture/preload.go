package capture

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// What more than two ranks may take beyond the catalogue's figure: on H200
// cards 2.2 GiB were lost with 2 ranks, 2.3 with 16 and 3.5 with 8 ranks of
// expert-parallel attention.
const wideGroups = 0.9

// PreLoad estimates what is gone from the total of an idle card when its rank
// begins to load weights: the driver's reserve, the context and first kernels,
// process groups and custom all-reduce. A reading (--gpu-free) replaces it.
//
// From 0.5.10 --pre-warm-nccl makes the first communicator before the load;
// measured on H200: 0.84 GiB for two ranks.
func PreLoad(r release.Release, a *args.Args, card machine.Card) figure.Bytes {
	l := ranksOf(a)
	ranks := int(l.tp * l.pp)
	loss := machine.PreLoadLoss(card, ranks)
	if ranks > 2 {
		loss.High += units.FromGiB(wideGroups)
	}
	if ranks > 1 && r.AtLeast("0.5.10") && a.Bool("pre_warm_nccl") {
		warm := units.FromGiB(0.84)
		loss = loss.Plus(figure.Band(warm, 0, warm, figure.Estimated))
	}
	return loss
}
