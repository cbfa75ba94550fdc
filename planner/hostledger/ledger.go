// Package hostledger adds up the host memory that all ranks of a launch take
// together, pools and processes, against what the host or the container
// really has. Its judgement is its own: SGLang's check looks at each rank, or
// each replica, alone.
package hostledger

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/hicache"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Request is a launch and the host it will run on.
type Request struct {
	Release release.Release
	Args    *args.Args // resolved, or at least with the release's defaults
	Layout  ranks.Layout
	Env     map[string]string
	// Stages are the device pools of a rank of each pipeline stage; empty
	// where they could not be sized.
	Stages     [][]hicache.DevicePool
	MaxContext int64 // the model's context length, 0 unknown

	// Host has the limits of the launch's container laid over it already.
	Host machine.Host
	// GPUs are the visible devices in order, for their NUMA nodes; may be
	// shorter than the layout wants.
	GPUs       []machine.GPU
	Container  bool // the launch runs in a container of its own
	Multimodal bool
	Draft      bool // a draft model is loaded beside the target
	FourBit    bool // weights of 4-bit floats, whose kernels are heavy to compile
	Checkpoint Checkpoint
	// RankWeights is what the weights of one rank take on its GPU, for the
	// offloader; 0 unknown.
	RankWeights units.Bytes
	// Baseline is what processes take; the zero value takes the defaults.
	Baseline Baseline
	// Brief leaves out the advice, which takes most of the time, and what
	// rests on it (CodeNotWorth).
	Brief bool
}

// Checkpoint is what is known of the model's weight files; zeros are unknown.
type Checkpoint struct {
	Bytes       units.Bytes // all files together
	LargestFile units.Bytes
	Pickled     bool // .bin or .pt files, which are read whole
}

// Ledger is the host memory of a launch.
type Ledger struct {
	AvailableBytes units.Bytes   `json:"available_bytes"` // before the launch
	Limit          machine.Limit `json:"limit"`           // what bounds it
	Ranks          int           `json:"ranks"`           // on this host
	PerRankBytes   units.Bytes   `json:"per_rank_bytes"`  // host pools of the rank that pins most
	TotalBytes     units.Bytes   `json:"total_bytes"`     // host pools of all ranks of this host
	ReserveBytes   units.Bytes   `json:"reserve_bytes"`   // left to the system
	// LoadBytes is what processes, loading and offloaded weights take before
	// the pools are pinned.
	LoadBytes     units.Bytes        `json:"load_bytes"`
	NeedBytes     units.Bytes        `json:"need_bytes"`     // everything but the reserve, once serving
	HeadroomBytes units.Bytes        `json:"headroom_bytes"` // available less need and reserve; negative when over
	Guard         *hicache.Guard     `json:"guard"`          // SGLang's own check; nil without host pools
	Pools         []hicache.HostPool `json:"pools"`
	RatioUsed     float64            `json:"ratio_used,omitempty"`
	Auto          *hicache.Auto      `json:"auto,omitempty"`
	Advice        *Advice            `json:"advice,omitempty"`
	// StagingBytes is GPU memory of a rank for transfers to the host pools,
	// taken after graph capture and outside --mem-fraction-static.
	StagingBytes units.Bytes    `json:"gpu_staging_bytes,omitempty"`
	Entries      []figure.Entry `json:"ledger"`

	plan hicache.HostPools
	rest rest
}

// rest is everything but the host pools.
type rest struct {
	processes figure.Bytes
	loading   figure.Bytes // anonymous memory at the height of loading, gone afterwards
	pageCache units.Bytes  // of the checkpoint: reclaimable, but 0.5.21 takes it for used
	offload   figure.Bytes
	storage   figure.Bytes // of an L3 storage backend
}

// steady is what the launch holds beside its pools once it serves.
func (r rest) steady() figure.Bytes { return r.processes.Plus(r.offload).Plus(r.storage) }

// before is what it holds at the height of loading, before the pools.
func (r rest) before() figure.Bytes { return r.processes.Plus(r.offload).Plus(r.loading) }

// Build adds up the host memory of a launch and judges it. It returns nil
// where the available memory is not known.
func Build(q Request) (*Ledger, []finding.Finding) {
	if q.Host.AvailableBytes == nil {
		return nil, nil
	}
	available := min(max(*q.Host.AvailableBytes, 0), 1<<60)
	q.Host.AvailableBytes = &available
	l := &Ledger{
		AvailableBytes: available, Limit: q.Host.Limit, Ranks: q.Layout.OnThisHost,
		ReserveBytes: Reserve(q.Host), rest: restOf(q), Pools: []hicache.HostPool{},
	}
	if l.Limit == "" {
		l.Limit = machine.LimitMeminfo
	}
	found := l.addPools(q)
	l.LoadBytes = l.rest.before().Value
	l.NeedBytes = l.TotalBytes + l.rest.steady().Value
	l.HeadroomBytes = l.AvailableBytes + hugepageRelief(q, l.TotalBytes) - l.NeedBytes - l.ReserveBytes
	if l.Guard != nil && q.Args.Bool("enable_hierarchical_cache") && !q.Brief {
		l.Advice = advise(q, l)
	}
	l.Entries = l.entries()
	for i, f := range found {
		if f.Code == hicache.CodeGuardRefuses && len(f.Fixes) == 0 {
			found[i] = withFix(f, l)
		}
	}
	found = append(found, judge(q, l)...)
	found = append(found, numaFindings(q, l)...)
	return l, append(found, hostFindings(q, l)...)
}

// addPools sizes the host pools against the memory that will be there when
// they are built.
func (l *Ledger) addPools(q Request) []finding.Finding {
	if len(q.Stages) == 0 {
		return l.addNominalPools(q)
	}
	plan, found := hicache.Plan(poolRequest(q, l.rest))
	l.plan = plan
	if plan.Settings.Reason == hicache.None {
		return found
	}
	l.PerRankBytes, l.TotalBytes = plan.PerRankBytes, plan.TotalBytes
	l.Pools, l.RatioUsed, l.Auto, l.StagingBytes = plan.Pools, plan.RatioUsed, plan.Auto, plan.StagingBytes
	if plan.Pools == nil {
		l.Pools = []hicache.HostPool{}
		return found
	}
	guard := plan.Guard
	l.Guard = &guard
	return found
}

// addNominalPools takes --hicache-size at its word where the device pools are
// not known: every rank pins at least about that much.
func (l *Ledger) addNominalPools(q Request) []finding.Finding {
	size := q.Args.Int("hicache_size")
	if !q.Args.Bool("enable_hierarchical_cache") || size <= 0 {
		return nil
	}
	size = min(size, 1e9)
	l.PerRankBytes = units.Bytes(size) * units.GB
	l.TotalBytes = l.PerRankBytes * units.Bytes(min(l.Ranks, 4))
	for range max(l.Ranks-4, 0) {
		l.TotalBytes = min(l.TotalBytes+l.PerRankBytes, 1<<61)
	}
	return nil
}

// poolRequest is the request for the pools, with the host as it will be.
func poolRequest(q Request, r rest) hicache.Request {
	return hicache.Request{
		Release: q.Release, Args: q.Args, Layout: q.Layout, Stages: q.Stages,
		Host: viewAfterLoad(q, r), Env: q.Env, MaxContext: q.MaxContext,
	}
}

// viewAfterLoad is the host as SGLang's check will find it: less what the
// launch's own processes and offloaded weights took. It reads the whole host's
// MemAvailable whatever the container's limit is; from 0.5.21 the cgroups
// bound that.
func viewAfterLoad(q Request, r rest) hicache.HostView {
	available := *q.Host.AvailableBytes
	if m := q.Host.MemAvailableBytes; m != nil {
		available = max(available, *m)
	}
	taken := r.processes.Value + r.offload.Value
	v := hicache.HostView{AfterLoad: available - taken}
	if room := hicache.HeadroomOf(q.Release, q.Host); room != nil {
		left := *room - taken
		if !hicache.CreditsCache(q.Release) {
			left -= r.pageCache
		}
		left = max(left, 0)
		v.CgroupHeadroom = &left
	}
	return v
}

// Reserve is what is left to the system and everything else on the host:
// 10 GiB, which SGLang's own check leaves too, or 2 % of a large host.
func Reserve(h machine.Host) units.Bytes { return max(hicacheReserve, hostSize(h)/50) }

// hostSize is the memory of the host, or of the container where one bounds it.
func hostSize(h machine.Host) units.Bytes {
	for _, b := range []*units.Bytes{h.LimitBytes, h.TotalBytes, h.AvailableBytes} {
		if b != nil && *b > 0 {
			return *b
		}
	}
	return 0
}

// hicacheReserve is what SGLang's own check leaves to the host.
const hicacheReserve = hicache.Reserve

// entries are the lines of the ledger; they add up to what is available.
func (l *Ledger) entries() []figure.Entry {
	out := make([]figure.Entry, 0, len(l.Pools)+6)
	for _, p := range l.Pools {
		out = append(out, figure.Line("host_pool_"+p.Name, figure.New(p.BytesPerRank, figure.Exact).Times(int64(l.Ranks)), "of all ranks, pinned"))
	}
	if rest := l.TotalBytes - sum(out); len(l.Pools) == 0 && rest > 0 {
		out = append(out, figure.Line("host_pools", figure.New(rest, figure.Estimated), "--hicache-size of every rank; the pools themselves are not known"))
	} else if rest != 0 { // pipeline stages of different sizes
		out = append(out, figure.Line("host_pool_stages", figure.New(rest, figure.Exact), "what other pipeline stages take more or less"))
	}
	r := l.rest
	add := func(name string, f figure.Bytes, note string) {
		if f.High > 0 {
			out = append(out, figure.Line(name, f, note))
		}
	}
	add("processes", r.processes, "anonymous memory of schedulers, HTTP server and detokenizer")
	add("cpu_offload", r.offload, "weights kept on the host")
	add("storage_backend", r.storage, "memory of the L3 store's client")
	out = append(out,
		figure.Line("reserve", figure.New(l.ReserveBytes, figure.Assumed), "left to the system"),
		figure.Line("headroom", figure.New(l.HeadroomBytes, figure.Estimated), "negative when over"))
	add("loading", r.loading, "at the height of loading, gone before the pools are pinned")
	return out
}

func sum(entries []figure.Entry) units.Bytes {
	var n units.Bytes
	for _, e := range entries {
		n += e.Bytes
	}
	return n
}
