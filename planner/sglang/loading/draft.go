package loading

import "github.com/sglplan/sglplan/planner/sglang/release"

// DraftBeforePools reports a release that loads the draft model before it
// reads the free memory for the pools, so that the draft's weights are charged
// to the KV budget: since 0.5.14 (ModelRunner.init splits loading and pool
// allocation into two phases). Before, the draft worker loaded after the
// target's pools and graphs and lived on what the fraction left over.
func DraftBeforePools(r release.Release) bool { return r.AtLeast("0.5.14") }
