// Package hicache computes the host memory that a rank of an SGLang launch
// pins for its hierarchical cache: the pools and their sizes by release, what
// SGLang's own check of the host will say to them, the size it chooses when
// none is given, and the cgroup headroom as it reads it. It is arithmetic on
// plain values and reads no machine.
package hicache

// Kind says how the host mirror of a device pool gets its size.
type Kind string

// The kinds of device pools. Sized pools take a share of --hicache-size (or
// their own device tokens times the ratio); the others follow one of them.
const (
	Main        Kind = "main"         // full attention, MHA/GQA or MLA rows; sized
	Window      Kind = "window"       // sliding-window layers; sized
	State       Kind = "state"        // recurrent states, one slot a request or checkpoint; sized, page 1
	Indexer     Kind = "indexer"      // DSA index keys, on the pages of Main
	IndexKeys   Kind = "index_keys"   // MiniMax sparse index keys, on the pages of Main
	QSAIndex    Kind = "qsa_index"    // QSA index rows, on the pages of Main, inside its share of the size
	NVFP4Index  Kind = "nvfp4_index"  // MiniMax NVFP4 index rows, on the pages of Main, inside the size
	Draft       Kind = "draft"        // a draft model's rows, one for every slot of Main
	DraftIndex  Kind = "draft_index"  // the index keys of a DSA draft, on the pages of Draft
	DraftWindow Kind = "draft_window" // a draft model's window rows, one for every slot of Window
	Paged       Kind = "paged"        // DeepSeek-V4 pages that follow the full token count
	PagedWindow Kind = "paged_window" // DeepSeek-V4 pages that follow the window token count
	Envelope    Kind = "envelope"     // whole device pages of a unified pool; both sides share one host buffer
)

// DevicePool is one GPU memory pool of a rank as far as its host mirror needs
// it. Layer counts are those of this rank (its pipeline stage, and its shard
// where context-parallel ranks share layers).
type DevicePool struct {
	Name string // as it appears in the plan: kv, swa, mamba, indexer, draft, c4, ...
	Kind Kind
	MLA  bool // compressed latent rows (MLA, DSA) rather than heads

	Layers int64
	// OwnedLayers counts the layers that hold index keys of their own, where
	// others reuse them (shared top-k). 0 means all.
	OwnedLayers int64
	// PackedLayers are draft layers whose rows ride in this pool's host rows
	// (EAGLE-style NextN layers from 0.5.18, every model from 0.5.19).
	PackedLayers int64

	// RowBytes is what one token (State: one slot) takes in one layer, keys
	// and values together, in the store dtype. For Paged, PagedWindow and
	// Envelope it is one whole device page of one layer.
	RowBytes int64
	// PlainRowBytes is RowBytes without scales, where a draft's rows carry
	// them: to 0.5.17 drafts are mirrored without. 0 means RowBytes.
	PlainRowBytes int64
	// SideBytes is taken once per slot beside the layers (State, 0.5.22 on).
	SideBytes int64

	Page   int64 // tokens in a page on this rank; 1 for State
	Tokens int64 // capacity of the device pool in tokens (slots), without its padding page

	// DeviceBytes is the size of the pool's tensors including padding, as
	// SGLang's own size query reports it. 0 takes Layers x RowBytes x
	// (Tokens + Page).
	DeviceBytes int64
	// PackedBytes is the same for the packed draft pools. 0 takes
	// PackedLayers x RowBytes x (Tokens + Page).
	PackedBytes int64

	// KeyRowBytes is the part of RowBytes that keys take where keys and values
	// have different widths: they are then two buffers. 0 means one buffer.
	KeyRowBytes int64
}

// sized reports whether the pool takes part in the split of --hicache-size.
func (p DevicePool) sized() bool { return p.Kind == Main || p.Kind == Window || p.Kind == State }

// bytesPerToken is SGLang's size_per_token of the host mirror.
func (p DevicePool) bytesPerToken() int64 {
	return max(add(mul(p.RowBytes, p.Layers+p.PackedLayers), p.SideBytes), 1)
}

// deviceBytes is what the device tensors take, packed drafts not included.
func (p DevicePool) deviceBytes() int64 {
	if p.DeviceBytes > 0 {
		return p.DeviceBytes
	}
	layers := p.Layers
	if p.OwnedLayers > 0 {
		layers = p.OwnedLayers
	}
	rows := p.Tokens + p.Page
	if p.Kind == Indexer || p.Kind == DraftIndex {
		// Index buffers are rows of whole pages, (tokens + page + 1) / page of them.
		rows = (p.Tokens + p.Page + 1) / p.Page * p.Page
	}
	return add(mul(mul(p.RowBytes, layers), rows), mul(p.SideBytes, rows))
}

// packedBytes is what the packed drafts of the pool take on the device.
func (p DevicePool) packedBytes() int64 {
	if p.PackedBytes > 0 || p.PackedLayers == 0 {
		return p.PackedBytes
	}
	q := p
	q.Layers, q.OwnedLayers, q.SideBytes, q.DeviceBytes = p.PackedLayers, 0, 0, 0
	return q.deviceBytes()
}

// sane bounds what a caller hands in, so that the arithmetic needs no guards.
func (p DevicePool) sane() DevicePool {
	const most = 1 << 50
	for _, n := range []*int64{&p.Layers, &p.OwnedLayers, &p.PackedLayers, &p.RowBytes, &p.SideBytes, &p.Tokens,
		&p.DeviceBytes, &p.PackedBytes, &p.KeyRowBytes, &p.PlainRowBytes} {
		*n = min(max(*n, 0), most)
	}
	p.Page = min(max(p.Page, 1), most)
	p.KeyRowBytes = min(p.KeyRowBytes, p.RowBytes)
	return p
}

// saneStages returns bounded copies of the pools of every stage.
func saneStages(stages [][]DevicePool) [][]DevicePool {
	out := make([][]DevicePool, len(stages))
	for i, pools := range stages {
		out[i] = make([]DevicePool, len(pools))
		for j, p := range pools {
			out[i][j] = p.sane()
		}
	}
	return out
}

// SharesSize reports pools that divide --hicache-size by what their device
// pools take, so that their own sizes mean nothing before those are known.
func SharesSize(pools []DevicePool) bool {
	n := 0
	for _, p := range pools {
		if p.sized() {
			n++
		}
	}
	return n > 1
}
