package args

import "strings"

// tier is one row of SGLang's table from GPU size to the two defaults that
// memory depends on: cards smaller than belowMiB (0: no limit).
type tier struct {
	belowMiB         int64
	chunk            int64 // chunked_prefill_size
	fewRanks, tensor int64 // largest decode graph for tp < 4 and for tp >= 4
}

// Tiers of _handle_gpu_memory_settings by release. 0.5.4.post1 raised the
// graph batch of 20 to 35 GiB cards, 0.5.20 doubled chunk and batch there.
var (
	tiers053 = []tier{
		{20 * 1024, 2048, 8, 8}, {35 * 1024, 2048, 16, 80}, {60 * 1024, 4096, 32, 160},
		{90 * 1024, 8192, 256, 512}, {160 * 1024, 8192, 256, 512}, {0, 16384, 512, 512},
	}
	tiers054 = withSmallCards(tier{35 * 1024, 2048, 24, 80})
	tiers520 = withSmallCards(tier{35 * 1024, 4096, 48, 160})
	// unknownCard is used where SGLang cannot read the GPU's size.
	unknownCard = tier{0, 4096, 160, 160}
)

func withSmallCards(t tier) []tier {
	out := append([]tier(nil), tiers053...)
	out[1] = t
	return out
}

func (x *resolver) tier() tier {
	if x.card.TotalMiB <= 0 {
		return unknownCard
	}
	table := tiers520
	switch {
	case x.r.Before("0.5.4.post1"):
		table = tiers053
	case x.r.Before("0.5.20"):
		table = tiers054
	}
	for _, t := range table {
		if t.belowMiB == 0 || x.card.TotalMiB < t.belowMiB {
			return t
		}
	}
	return unknownCard
}

// memory is _handle_gpu_memory_settings: chunk, captured sizes and the
// fraction, in this order because each enters the next.
func (x *resolver) memory() {
	if x.r.Before("0.5.3") {
		x.memoryBefore053()
		return
	}
	t := x.tier()
	x.fill("chunked_prefill_size", t.chunk, "gpu-size-chunk")
	x.decodeSizes(t)
	x.prefillSizes()
	x.fraction()
}

func (x *resolver) decodeSizes(t tier) {
	d := &x.g.decode
	if x.r.Before("0.5.14") {
		d.take(x.Args, "cuda_graph_max_bs", "cuda_graph_bs")
	}
	byDefault := !d.hasMax
	if byDefault {
		n := t.fewRanks
		if x.Int("tp_size") >= 4 {
			n = t.tensor
		}
		d.setMax(n)
	}
	if x.r.AtLeast("0.5.22") {
		x.capAtRequests(byDefault)
	}
	if x.r.AtLeast("0.5.20") {
		x.raiseForQwenVL()
	}
	if d.bs == nil {
		d.bs = x.decodeList(d.max)
	} else {
		d.setMax(maxOf(d.bs))
	}
}

// capAtRequests lowers a defaulted graph batch to --max-running-requests
// (0.5.22): larger graphs could never be replayed.
func (x *resolver) capAtRequests(byDefault bool) {
	if n := x.Int("max_running_requests"); byDefault && x.Has("max_running_requests") && x.g.decode.max > n {
		x.g.decode.setMax(n)
	}
}

// raiseForQwenVL is expand_multimodal_decode_graph_to_running_limit (0.5.20).
func (x *resolver) raiseForQwenVL() {
	n, d := x.Int("max_running_requests"), &x.g.decode
	if x.Has("max_running_requests") && n <= 512 && d.max < n && !d.locked("max_bs") && !d.locked("bs") && x.hopperQwenVL() {
		d.setMax(n)
	}
}

// hopperQwenVL is large_hopper_qwen3_vl_model_type.
func (x *resolver) hopperQwenVL() bool {
	return x.sm90() && x.card.TotalMiB >= 60*1024 && x.m.IsMultimodal &&
		(x.m.ModelType == "qwen3_vl" || x.m.ModelType == "qwen3_vl_moe")
}

// decodeList is the list of captured decode batches up to top.
func (x *resolver) decodeList(top int64) []int64 {
	var l []int64
	switch {
	case x.Bool("disable_cuda_graph_padding"):
		l = steps64(nil, 1, top, 1)
	case x.isNone("speculative_algorithm"):
		l = append(l, 1, 2, 4, 8, 12)
		l = steps64(l, 16, 256, 8)
		l = steps64(l, 272, 511, 16)
		l = steps64(l, 512, top, 32)
	default:
		last := int64(64)
		if x.r.Before("0.5.4.post2") {
			last = 63 // 64 itself was left out until then
		}
		l = steps64(l, 1, 8, 1)
		l = steps64(l, 10, 32, 2)
		l = steps64(l, 40, last, 4)
		l = steps64(l, 72, 256, 8)
		l = steps64(l, 272, top, 16)
	}
	l = upTo(l, top)
	if x.r.AtLeast("0.5.10") && (len(l) == 0 || l[len(l)-1] != top) && !contains(l, top) {
		l = append(l, top)
	}
	return l
}

// prefillSizes sets the largest prefill graph and its list of token counts.
func (x *resolver) prefillSizes() {
	if x.r.Before("0.5.3.post3") {
		return
	}
	p := &x.g.prefill
	if x.r.Before("0.5.14") {
		p.take(x.Args, "piecewise_cuda_graph_max_tokens", "piecewise_cuda_graph_tokens")
	}
	if !p.hasMax {
		p.setMax(x.prefillLimit())
	}
	if x.r.Within("0.5.13", "0.5.16") && x.Has("context_length") {
		p.setMax(min(p.max, x.Int("context_length")))
	}
	if p.bs == nil {
		p.bs = x.prefillList(p.max)
	}
}

// prefillLimit is the default of the largest prefill graph, in tokens.
func (x *resolver) prefillLimit() int64 {
	chunk := x.Int("chunked_prefill_size")
	n := chunk
	switch {
	case x.r.Before("0.5.7"):
		return 4096
	case x.r.AtLeast("0.5.8") && x.m.mla() && x.r.AtLeast("0.5.23"):
		n = min(8192, chunk)
	case x.r.AtLeast("0.5.8") && x.m.mla():
		n = 2048
	}
	if x.r.AtLeast("0.5.19") && x.Int("pp_size") > 1 && x.g.prefill.backend == graphBreakable && !x.g.prefill.locked("bs") {
		n = min(n, 8192)
	}
	if x.r.AtLeast("0.5.10") {
		if x.Has("max_total_tokens") {
			n = min(n, x.Int("max_total_tokens"))
		}
		if strings.Contains(strings.ToLower(x.Str("model_path")), "llama-2") {
			n = min(n, 4096)
		}
	}
	return n
}

// prefillList is the list of captured prefill sizes, in tokens.
func (x *resolver) prefillList(top int64) []int64 {
	l := steps64(nil, 4, 32, 4)
	l = steps64(l, 48, 256, 16)
	l = steps64(l, 288, 512, 32)
	switch {
	case x.r.Before("0.5.8"):
		l = steps64(l, 640, 4096, 128)
		l = steps64(l, 4352, top, 256)
	case x.r.Before("0.5.9"):
		l = steps64(l, 640, 1024, 64)
		l = steps64(l, 1280, 4096, 256)
		l = steps64(l, 4608, top, 512)
	default:
		l = steps64(l, 576, 1024, 64)
		l = steps64(l, 1280, 4096, 256)
		l = steps64(l, 4608, top, 512)
	}
	return upTo(l, top)
}

// maxListed bounds a generated list: a user can name any number, and SGLang
// would build the list too, but nothing here needs more.
const maxListed = 1 << 17

// steps64 appends from, from+by, ... up to and including last.
func steps64(l []int64, from, last, by int64) []int64 {
	for n := from; n <= last && len(l) < maxListed; n += by {
		l = append(l, n)
	}
	return l
}

func upTo(l []int64, top int64) []int64 {
	out := l[:0]
	for _, n := range l {
		if n <= top {
			out = append(out, n)
		}
	}
	return out
}

func contains(l []int64, n int64) bool {
	for _, v := range l {
		if v == n {
			return true
		}
	}
	return false
}

func maxOf(l []int64) int64 {
	var top int64
	for i, n := range l {
		if i == 0 || n > top {
			top = n
		}
	}
	return top
}
