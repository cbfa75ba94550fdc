package capture

import (
	"strings"

	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// table is what an attention backend keeps for the captured decode batches.
type table struct {
	requests, rows int64 // of the largest captured batch; rows count draft tokens
	sizes          int64 // captured batches
	every          int64 // rows of all captured batches together
	context, page  int64
	windows        int64 // 2 when window layers have tables of their own
	draft          int64 // draft tokens of a request, 0 without a draft
}

// tablesOf are the buffers by backend, in bytes, after init_cuda_graph_state
// of each backend.
var tablesOf = map[string]func(p *plan, t table) int64{
	"fa3": (*plan).pageTables, "fa4": (*plan).pageTables, "trtllm_mha": (*plan).pageTables,
	"trtllm_mla": (*plan).pageTables, "flashmla": (*plan).pageTables, "cutlass_mla": (*plan).pageTables,
	"dsa": (*plan).pageTables, "nsa": (*plan).pageTables,
	"flashinfer": (*plan).flashinferTables, "triton": (*plan).tritonTables, "dsv4": (*plan).compressedTables,
}

// tables is the term of the captured decode batches; two backends share
// nothing, but only one of them decodes, so the larger counts.
func (p *plan) tables(captured []int64) activation.Term {
	top := captured[0]
	t := table{requests: top, rows: top * p.spec.verifyTokens(), sizes: int64(len(captured)), context: int64(p.info.ContextLen),
		page: max(1, p.a.Int("page_size")), windows: 1}
	if p.info.Window != nil {
		t.windows = 2
	}
	if p.spec.on() {
		t.draft = p.spec.verifyTokens()
	}
	for _, n := range captured {
		t.every += n * p.spec.verifyTokens()
	}
	var n int64
	for _, b := range p.back {
		if f := tablesOf[b]; f != nil {
			n = max(n, f(p, t))
		}
	}
	if p.tritonKernels() {
		n = max(0, n-mxfp4Holes*int64(mib))
	}
	return activation.Term{Name: "tables of decode graphs", Group: activation.Buffers,
		Bytes: figure.New(units.Bytes(n), figure.Estimated), Source: "SGLang: init_cuda_graph_state of the attention backend for the largest captured batch"}
}

// mxfp4Holes are the MiB of tables that fit into holes which the conversion of
// mxfp4 weights leaves; fitted on one launch of gpt-oss.
const mxfp4Holes = 260

// pageTables: a row of page numbers for each request, twice with windows and
// twice with a draft (plain decode and verification).
func (p *plan) pageTables(t table) int64 {
	n := t.requests * ((t.context + t.page - 1) / t.page) * 4 * t.windows
	if t.draft > 0 {
		n *= 2
	}
	return n
}

// compressedTables: DeepSeek-V4's backend pins an index of 4 bytes for every
// compressed token of the context, one in four, for each captured batch. That
// accounts for the 10 GiB that a 1M context is known to take.
func (p *plan) compressedTables(t table) int64 { return t.every * t.context }

// flashinferTables: token indices of 4 bytes for each wrapper, a custom mask
// of a byte, and an index workspace of 8 MiB that the library makes for every
// captured batch. MLA wrappers have no mask.
func (p *plan) flashinferTables(t table) int64 {
	wrapper := t.rows*t.context*4 + t.sizes*8*int64(mib)
	if p.latent() {
		return t.requests*t.context*4 + t.sizes*8*int64(mib)
	}
	return wrapper*t.windows + t.rows*t.context
}

// tritonTables: token indices of 8 bytes, fp32 partial outputs of every KV
// split, a custom mask of a byte: always to 0.5.16, only for drafts from
// 0.5.17.
func (p *plan) tritonTables(t table) int64 {
	n := t.rows * t.context * 8
	n += t.rows * p.heads() * p.tritonSplits() * (p.valueDim() + 1) * 4
	if p.info.Window != nil && p.info.SlidingWindow > 0 {
		n += t.rows * min(int64(p.info.SlidingWindow), t.context) * 8
	}
	if p.r.Before("0.5.17") || t.draft > 0 {
		n += t.rows * t.context
	}
	return n
}

// tritonSplits is the number of KV splits of triton's decode kernel. From
// 0.5.12 MLA has one for each multiprocessor of the card, to the next power of
// two, but no more than 32-token blocks in the context.
func (p *plan) tritonSplits() int64 {
	base := p.a.IntOr("triton_attention_num_kv_splits", 8)
	if !p.latent() || p.r.Before("0.5.12") {
		return base
	}
	blocks := (int64(p.info.ContextLen) + 31) / 32
	return max(base, min(powerOfTwo(multiprocessors(p.card.Name)), powerOfTwo(blocks)))
}

func powerOfTwo(n int64) int64 {
	k := int64(1)
	for k < n {
		k *= 2
	}
	return k
}

// fewer are the cards with at most 128 multiprocessors.
var fewer = []struct {
	name  string
	count int64
}{{"A100", 108}, {"A800", 108}, {"H20", 78}, {"L4", 58}, {"L20", 92}, {"A10", 72}, {"A30", 56}, {"T4", 40}, {"RTX 4090", 128}, {"RTX 3090", 82}, {"GB10", 48}, {"RTX PRO 5000", 110}, {"RTX PRO 4500", 82}, {"RTX PRO 4000", 70}, {"RTX PRO 2000", 34}, {"RTX 5080", 84}, {"H100 PCIe", 114}}

// multiprocessors counts those of a card; the large ones have 132 to 188.
func multiprocessors(card string) int64 {
	for _, c := range fewer {
		if at := strings.Index(card, c.name); at >= 0 && !digitAfter(card, at+len(c.name)) {
			return c.count
		}
	}
	return 132
}

func digitAfter(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
