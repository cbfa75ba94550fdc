package hicache

import (
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// HostPool is one pool that a rank pins.
type HostPool struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// BytesPerRank is what the rank pins for it: RequestedBytes, a padding row
	// in the index pools, and the allocator's rounding where a release rounds.
	BytesPerRank  units.Bytes `json:"bytes_per_rank"`
	Tokens        int64       `json:"tokens"` // slots; for State, states
	BytesPerToken int64       `json:"bytes_per_token"`
	Pages         int64       `json:"pages"`
	// RequestedBytes is the figure that SGLang logs and lays before its guard.
	RequestedBytes units.Bytes `json:"requested_bytes"`
	DeviceTokens   int64       `json:"device_tokens"`

	page    int64
	buffers []units.Bytes // one entry per allocation, before rounding
}

// build makes the host pools of one rank with a size or a ratio, in the order
// in which SGLang makes them. least holds the smallest token count among the
// pipeline stages for each sized pool, nil where stages are not synchronised.
func build(r release.Release, pools []DevicePool, s Settings, least map[string]int64) []HostPool {
	if s.Reason == HiSparse {
		return buildHiSparse(r, pools, s)
	}
	if has(pools, Envelope) {
		return buildEnvelope(pools, s)
	}
	if has(pools, Paged) {
		return buildPaged(r, pools, s)
	}
	shares := split(r, pools, s.SizeGB)
	var out []HostPool
	made := map[Kind]HostPool{}
	add := func(h HostPool) { out, made[h.Kind] = append(out, h), h }
	for _, p := range pools {
		if !p.sized() {
			continue
		}
		if p.Kind == Main && insideIndexer(r) {
			if x, ok := find(pools, Indexer); ok {
				p.RowBytes += x.RowBytes
				p.DeviceBytes = 0
			}
		}
		tokens := unroundedTokens(p, shares[p.Name], s)
		if n, ok := least[p.Name]; ok && s.SizeGB > 0 {
			tokens = min(tokens, n)
		}
		add(sizedPool(r, p, tokens))
	}
	for _, p := range pools {
		if h, ok := follower(r, p, made); ok {
			add(h)
		}
	}
	return out
}

// insideIndexer: 0.5.9 and 0.5.10 keep DSA index keys inside the rows of the
// one host pool; before, they are not mirrored; after, they are a pool of
// their own on top of the size.
func insideIndexer(r release.Release) bool { return r.AtLeast("0.5.9") && r.Before("0.5.11") }

// unroundedTokens is the token count before page rounding: what fits the
// share of the size, or the device tokens times the ratio.
func unroundedTokens(p DevicePool, shareGB float64, s Settings) int64 {
	if s.SizeGB > 0 {
		return max(trunc(floorDiv(shareGB*1e9, float64(p.bytesPerToken()))), 0)
	}
	return max(trunc(float64(p.Tokens)*s.Ratio), 0)
}

// pagesOf rounds to pages: down until 0.5.5.post2, from 0.5.5.post3 to one
// page more than fits, even where the count is exact.
func pagesOf(r release.Release, tokens, page int64) int64 {
	n := tokens / max(page, 1)
	if r.AtLeast("0.5.5.post3") {
		n++
	}
	return n
}

func sizedPool(r release.Release, p DevicePool, tokens int64) HostPool {
	return rowsPool(p, pagesOf(r, tokens, p.Page))
}

// rowsPool is a pool of whole pages of rows.
func rowsPool(p DevicePool, pages int64) HostPool {
	spt := p.bytesPerToken()
	h := HostPool{
		Name: p.Name, Kind: p.Kind, Pages: pages, Tokens: mul(pages, p.Page),
		BytesPerToken: spt, DeviceTokens: p.Tokens, page: p.Page,
	}
	h.RequestedBytes = units.Bytes(mul(h.Tokens, spt))
	h.buffers = []units.Bytes{h.RequestedBytes}
	if p.KeyRowBytes > 0 { // keys and values of different widths are two buffers
		keys := units.Bytes(mul(h.Tokens, p.KeyRowBytes*(p.Layers+p.PackedLayers)))
		h.buffers = []units.Bytes{keys, h.RequestedBytes - keys}
	}
	return h
}

// follower makes the pools whose slots follow a sized one.
func follower(r release.Release, p DevicePool, made map[Kind]HostPool) (HostPool, bool) {
	leader, ok := made[leaderOf[p.Kind]]
	if !ok || !r.AtLeast(since[p.Kind]) {
		return HostPool{}, false
	}
	switch p.Kind {
	case Indexer, DraftIndex:
		return indexPool(r, p, leader), true
	case IndexKeys, QSAIndex, NVFP4Index:
		p.Page = leader.page
		return rowsPool(p, leader.Pages), true
	default:
		return draftPool(r, p, leader), true
	}
}

// leaderOf names the pool whose slots a following pool takes over.
var leaderOf = map[Kind]Kind{
	Indexer: Main, IndexKeys: Main, QSAIndex: Main, NVFP4Index: Main,
	Draft: Main, DraftIndex: Draft, DraftWindow: Window,
}

// since is the release from which a following pool exists.
var since = map[Kind]string{
	Indexer: "0.5.11", IndexKeys: "0.5.15", QSAIndex: "0.5.22", NVFP4Index: "0.5.23",
	Draft: "0.5.11", DraftIndex: "0.5.18", DraftWindow: "0.5.18",
}

// indexPool is a DSA index pool. The guard counts the leader's pages; the
// buffer has a row of its own more. From 0.5.22 layers without index keys of
// their own are left out.
func indexPool(r release.Release, p DevicePool, leader HostPool) HostPool {
	if r.AtLeast("0.5.22") && p.OwnedLayers > 0 {
		p.Layers = p.OwnedLayers
	}
	page := leader.page
	p.Page = page
	h := rowsPool(p, leader.Pages)
	rows := (leader.Tokens + page + 1) / page
	h.buffers = []units.Bytes{units.Bytes(mul(mul(rows, page), p.bytesPerToken()))}
	return h
}

// draftPool gives every slot of the target a draft slot. To 0.5.22 it goes
// through the ratio of the two pools and its page rounding, which usually adds
// a page; from 0.5.23 a full-attention draft gets exactly the target's slots.
func draftPool(r release.Release, p DevicePool, leader HostPool) HostPool {
	p.Page = leader.page
	if r.Before("0.5.18") && p.PlainRowBytes > 0 {
		p.RowBytes = p.PlainRowBytes
	}
	if r.AtLeast("0.5.23") && p.Kind == Draft {
		return rowsPool(p, leader.Pages)
	}
	device := max(p.Tokens, 1)
	ratio := float64(leader.Tokens) / float64(device)
	return rowsPool(p, pagesOf(r, trunc(float64(device)*ratio), p.Page))
}
