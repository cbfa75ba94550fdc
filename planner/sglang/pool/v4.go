package pool

// compressed sizes DeepSeek-V4's pools: window, compressed latents at one of 4
// and 128 tokens (V4.1: also 1 and 2), index keys and the states that compress
// them (DSV4PoolConfigurator).
type compressed struct {
	bpft     float64 // bytes of a full token
	ratio    float64 // window tokens per full token
	page     int64
	shrink   int64 // HiSparse keeps one of shrink compressed rows
	context  int64
	reqs     int64 // max_running_requests per replica, -1 not given
	extra    int64 // decode slots beyond the running ones
	size     int64 // window
	guard    bool
	cap      int64   // window tokens by need, -1: by ratio
	capBytes float64 // and what they take
	ring4    int64
	statePer int64 // tokens of one state ring (window, or page from 0.5.21)

	perRequest bool // 0.5.15 on: the 128-token states follow requests
	ring128    int64
	row128     int64 // bytes of one row over its layers, 0: no such layers
	ring2      int64
	row2       int64

	// Padding of the pools at one and two tokens (0.5.23).
	padLayers [3]int64 // by ratio
	padMain   [3]float64
	indexRow  int64
}

// v4Index is an index key with its scales; v4IndexLow the 4-bit one of the
// pools at one and two tokens.
func v4Index(hi int64) int64    { return hi + hi/128*4 }
func v4IndexLow(hi int64) int64 { return hi/2 + hi/32 }

func (b *builder) newCompressed(s span) solver {
	m, a := b.m, b.a
	c := &compressed{page: b.page, shrink: b.hostRatio("0.5.12"), context: int64(max(1, m.ContextLen)), reqs: -1, cap: -1,
		size: int64(m.SlidingWindow), ratio: a.Float("swa_full_tokens_ratio"), perRequest: b.r.AtLeast("0.5.15")}
	if a.Has("max_running_requests") {
		c.reqs = b.perReplica(a.Int("max_running_requests"))
	}
	if a.Str("disaggregation_mode") == "decode" {
		c.extra = b.decodeExtraSlots()
	}
	c.ring4, c.ring128, c.ring2 = 8, 128, 2
	if b.spec.on() {
		c.ring4, c.ring128, c.ring2 = 16, 256, 1
		for c.ring2 < b.spec.draft+2 {
			c.ring2 *= 2
		}
	}
	c.guard = b.r.AtLeast("0.5.20")
	ratios := b.stageRatios(s)
	if b.r.AtLeast("0.5.21") {
		b.paged(c, ratios)
	} else {
		b.unpaged(c, ratios)
	}
	return c
}

// ratioCounts counts the layers of a stage by what they own.
type ratioCounts struct{ all, n1, n2, n4, n128 int64 }

// stageRatios counts compressed layers: all of ratio 4 and 128, and of 1 and 2
// those that are sources for others.
func (b *builder) stageRatios(s span) ratioCounts {
	v := b.m.V4
	stage := v.CompressRatios[min(s.start, len(v.CompressRatios)):min(s.end, len(v.CompressRatios))]
	n := ratioCounts{all: int64(len(stage))}
	for _, r := range stage {
		switch r {
		case 4:
			n.n4++
		case 128:
			n.n128++
		}
	}
	for _, l := range v.SourceLayers {
		if !s.holds(l) || l >= len(v.CompressRatios) {
			continue
		}
		switch v.CompressRatios[l] {
		case 1:
			n.n1++
		case 2:
			n.n2++
		}
	}
	return n
}

// stateBytes is the element of compression states (0.5.14 on by environment).
func (b *builder) stateBytes() int64 {
	switch lowered(b.env["SGLANG_DSV4_COMPRESS_STATE_DTYPE"]) {
	case "bfloat16", "bf16":
		if b.r.AtLeast("0.5.14") {
			return 2
		}
	}
	return 4
}

// unpaged prices a full token to 0.5.20: rows without page padding, the ring
// of the 4-token states addressed per window.
func (b *builder) unpaged(c *compressed, n ratioCounts) {
	m := b.m
	nope, rope, hi := float64(m.QKNopeHeadDim), float64(m.QKRopeHeadDim), int64(m.IndexHeadDim)
	kvb, head, sb := nope+2*rope+8, nope+rope, float64(b.stateBytes())
	w := float64(max(1, m.V4.WindowSize))
	n4, n128 := float64(n.n4), float64(n.n128)
	c.statePer = int64(w)
	c4State, indexState := 4*head*sb, 4*float64(hi)*sb
	ring4 := float64(c.ring4) / w
	ring128 := 0.0
	if !c.perRequest {
		ring128 = c.ratio * (float64(c.ring128) / w) * (2 * head * sb) * n128
	}
	c.bpft = c.ratio*kvb*float64(n.all) + 1/float64(4*c.shrink)*kvb*n4 + 1.0/128*kvb*n128 + 1.0/4*float64(v4Index(hi))*n4 +
		c.ratio*ring4*c4State*n4 + ring128 + c.ratio*ring4*indexState*n4
	b.inflate(c, n.all)
	if c.perRequest && n.n128 > 0 {
		c.row128 = 2 * int64(head) * b.stateBytes() * n.n128
	}
}

// inflate reserves one draft layer beside the target's.
func (b *builder) inflate(c *compressed, layers int64) float64 {
	f := 1.0
	if b.spec.on() && layers > 0 {
		f = float64(layers+1) / float64(layers)
	}
	c.bpft *= f
	return f
}

// paged prices a full token from 0.5.21 on: rows padded to the layout's page.
func (b *builder) paged(c *compressed, n ratioCounts) {
	m := b.m
	head, hi, sb := int64(m.QKNopeHeadDim+m.QKRopeHeadDim), int64(m.IndexHeadDim), b.stateBytes()
	c.statePer = c.page
	c.ratio = 0.1 // DSV4_DEFAULT_SWA_FULL_TOKENS_RATIO
	explicit := b.a.Given("swa_full_tokens_ratio") || !m.V4.IsV41
	if explicit {
		c.ratio = b.a.Float("swa_full_tokens_ratio")
	}
	lay := b.rowLayout()
	swaToken := lay.bytes(c.page, 0)*float64(n.all) + float64(c.ring4)/float64(c.page)*float64(4*head*sb+4*hi*sb)*float64(n.n4)
	if n.n4 == 0 {
		c.ring4 = 0
		swaToken = lay.bytes(c.page, 0) * float64(n.all)
	}
	full := b.lowAndHigh(c, n, lay, hi)
	c.cap = b.windowCap(explicit)
	if c.cap >= 0 {
		c.bpft = full
	} else {
		c.bpft = c.ratio*swaToken + full
	}
	f := b.inflate(c, n.all)
	if c.cap >= 0 {
		c.capBytes = float64(c.cap) * swaToken * f
	}
	if n.n128 > 0 {
		c.row128 = 2 * head * sb * n.n128
	}
	if n.n2 > 0 {
		c.row2 = 2 * head * 4 * n.n2
	}
}

// lowAndHigh sums the compressed rows that one full token adds, in the order
// in which the release adds them.
func (b *builder) lowAndHigh(c *compressed, n ratioCounts, lay rowLayout, hi int64) float64 {
	low := float64(v4IndexLow(hi))
	perLow := func(r int64) float64 {
		if b.r.Before("0.5.23") {
			return (lay.plain + low) / float64(r)
		}
		return (lay.bytes(c.page, r) + low) / float64(r)
	}
	sum := 0.0
	if n.n4 > 0 {
		sum += (1/float64(4*c.shrink)*lay.bytes(c.page, 4) + 1.0/4*float64(v4Index(hi))) * float64(n.n4)
	}
	if n.n128 > 0 {
		sum += 1.0 / 128 * lay.bytes(c.page, 128) * float64(n.n128)
	}
	for r, k := range [3]int64{0, n.n1, n.n2} {
		if k == 0 {
			continue
		}
		sum += perLow(int64(r)) * float64(k)
		if b.r.AtLeast("0.5.23") && !lay.unpadded {
			c.padLayers[r], c.padMain[r], c.indexRow = k, float64(c.page)*lay.bytes(c.page, int64(r)), v4IndexLow(hi)
		}
	}
	return sum
}

// rowLayout is how latent rows lie in pages.
type rowLayout struct {
	plain    float64 // bytes of a row without padding
	v41      bool
	fp4Low   bool // pools at one and two tokens are 4-bit
	fp4High  bool
	unpadded bool
}

// rowLayout reads SGLANG_DSV4_KV_LAYOUT and the backend (select_dsv4_kv_layout).
func (b *builder) rowLayout() rowLayout {
	m := b.m
	plain := float64(m.QKNopeHeadDim + 2*m.QKRopeHeadDim + 8)
	backend := b.a.Str("dsv4_attn_backend")
	if backend == "trtllm" {
		return rowLayout{plain: float64(m.HeadDim), unpadded: true}
	}
	mode, option := lowered(first(b.env["SGLANG_DSV4_KV_LAYOUT"], "v4")), lowered(first(b.env["SGLANG_DSV4_COMPRESSED_KV_LAYOUT"], "auto"))
	if backend == "flashmla_mega" && mode != "v41_new" {
		mode = "v41"
	}
	if mode == "v4" || (mode == "auto" && b.card.Major != 10) {
		return rowLayout{plain: plain}
	}
	return rowLayout{plain: plain, v41: true, fp4Low: option != "fp8", fp4High: option == "fp4"}
}

// bytes is the cost of a row in a pool at one of ratio tokens (0: the window
// pool), with the padding of its page.
func (l rowLayout) bytes(page, ratio int64) float64 {
	if l.unpadded {
		return l.plain
	}
	rows := page
	if ratio > 0 {
		rows = page / ratio
	}
	if rows <= 0 {
		return l.plain
	}
	row, unit := int64(584), int64(576)
	if l.v41 {
		row, unit = 528, 512
		low := ratio == 1 || ratio == 2
		if ratio > 0 && (l.fp4High || low && l.fp4Low) {
			row, unit = 288, 256
		}
	}
	return float64(ceilAlign(row*rows, unit)) / float64(rows)
}

// windowCap sizes the window pool from requests: only where no ratio was
// given, -1 else. Plain V4 declares its ratio, so this is V4.1 alone.
func (b *builder) windowCap(explicit bool) int64 {
	a, w := b.a, int64(b.m.SlidingWindow)
	if explicit || !a.Has("max_running_requests") || w == 0 {
		return -1
	}
	if a.Str("disaggregation_mode") != "decode" && a.Int("chunked_prefill_size") <= 0 {
		return -1
	}
	tails := 4 * b.perReplica(a.Int("max_running_requests"))
	switch {
	case a.Has("swa_prefix_tails"):
		tails = a.Int("swa_prefix_tails")
	case a.Bool("disable_radix_cache"):
		tails = 0
	}
	return ceilAlign(b.windowNeed()+tails*(w+b.page), b.page)
}
