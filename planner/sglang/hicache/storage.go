package hicache

import (
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// SegmentShares is among how many ranks the memory that Mooncake is to give to
// its store is shared out: every rank gave all of it before 0.5.9, then the
// ranks of a replica give it together, pipeline stages counted from 0.5.19.
func SegmentShares(r release.Release, l ranks.Layout) int {
	switch {
	case r.AtLeast("0.5.19"):
		return max(l.TP*l.PP, 1)
	case r.AtLeast("0.5.9"):
		return max(l.TP, 1)
	}
	return 1
}
