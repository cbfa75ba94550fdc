package hicache

import (
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Reserve is what SGLang's own check of the host leaves alone, in every
// release.
const Reserve = 10 * units.GiB

// HostView is the host memory at the moment the pools are built: after
// weights, graphs and the processes' own memory.
type HostView struct {
	// AfterLoad is MemAvailable of the whole host then.
	AfterLoad units.Bytes
	// CgroupHeadroom is what SGLang's own reader (see CgroupHeadroom) makes of
	// the cgroups then; nil when no limit is visible. Releases before 0.5.21
	// do not look at it.
	CgroupHeadroom *units.Bytes
}

// seen is the memory that a release's guard works with.
func (v HostView) seen(r release.Release) units.Bytes {
	if r.AtLeast("0.5.21") && v.CgroupHeadroom != nil {
		return min(v.AfterLoad, *v.CgroupHeadroom)
	}
	return v.AfterLoad
}

// DividesHost reports whether a release's guard divides the host among the
// ranks of one replica on it. To 0.5.18 every rank looks at the whole host.
func DividesHost(r release.Release) bool { return r.AtLeast("0.5.19") }

// MustExceedDevice reports whether a release refuses a host pool that is not
// larger than the device pool it backs.
func MustExceedDevice(r release.Release) bool { return r.Before("0.5.15") }

// divisor is the number of ranks that a release's guard divides the host
// among.
func divisor(r release.Release, perReplica int) int64 {
	if !DividesHost(r) {
		return 1
	}
	return int64(max(perReplica, 1))
}

// share is what a rank may take by SGLang's own check, with taken bytes
// already pinned by itself and its peers. It can be negative.
func share(r release.Release, v HostView, perReplica int, taken units.Bytes) units.Bytes {
	return units.Bytes(floorDivInt(int64(max(v.seen(r), -largest)-Reserve-min(taken, largest)), divisor(r, perReplica)))
}

// Refusal is a pool that SGLang's own check does not let pass.
type Refusal struct {
	Pool      string      `json:"pool"`
	Requested units.Bytes `json:"requested_bytes"`
	Free      units.Bytes `json:"free_bytes"` // what the check offers it
}

// refused returns the first pool that does not pass with free bytes on offer
// to each of them: nobody else pins anything meanwhile, and what the rank
// pins itself is not looked at. all is the sum that MiniMax NVFP4 checks first.
func refused(pools []HostPool, free units.Bytes, all float64) *Refusal {
	if len(pools) > 0 && all > 0 {
		if need := float64(pools[0].Tokens) * all; need > float64(free) {
			return &Refusal{Pool: "kv, index and draft", Requested: units.Bytes(trunc(need)), Free: free}
		}
	}
	for _, p := range pools {
		if p.RequestedBytes > free {
			return &Refusal{Pool: p.Name, Requested: p.RequestedBytes, Free: free}
		}
	}
	return nil
}

// Verdict is what SGLang's own check of the host will say.
type Verdict string

// The verdicts. Depends means on the order in which ranks arrive: a rank that
// arrives after its peers have pinned their pools is offered less.
const (
	Pass    Verdict = "pass"
	Refuse  Verdict = "refuse"
	Depends Verdict = "depends"
)

// Guard is SGLang's own check of the host, which is not ours: to 0.5.18 every
// rank looks at the whole host alone, and no release counts what the replicas
// of plain data parallelism or other servers take.
type Guard struct {
	Verdict Verdict `json:"verdict"`
	// ShareBytes is what it offers a rank that arrives first.
	ShareBytes units.Bytes `json:"share_bytes"`
	// SureHicacheSize is the largest --hicache-size that passes in every order
	// of arrival; nil before 0.5.19 and where a size cannot be given.
	SureHicacheSize *int64 `json:"sure_hicache_size"`

	Refusal *Refusal `json:"refusal,omitempty"`
}

// judge gives the verdict on the pool sets of the ranks of a host. To 0.5.18
// all ranks read before any of them pins, as happens in life: they leave graph
// capture together.
func judge(r release.Release, v HostView, perReplica int, sets []stageSet) (Verdict, *Refusal) {
	var host units.Bytes
	for _, s := range sets {
		host = add(host, mul(s.perRank(), int64(s.ranks)))
	}
	verdict := Pass
	for _, s := range sets {
		own := units.Bytes(0)
		others := host - s.perRank()
		for _, p := range s.pools {
			if free := share(r, v, perReplica, own); p.RequestedBytes > free {
				return Refuse, &Refusal{Pool: p.Name, Requested: p.RequestedBytes, Free: free}
			}
			if DividesHost(r) && p.RequestedBytes > share(r, v, perReplica, own+others) {
				verdict = Depends
			}
			own = add(own, p.BytesPerRank)
		}
	}
	return verdict, nil
}
