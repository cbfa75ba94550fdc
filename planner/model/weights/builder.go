package weights

import (
	"strconv"

	"github.com/sglplan/sglplan/planner/model"
)

// Bounds on what a config may ask for, far above any model: a config beyond
// them is refused before anything is built from it.
const (
	maxLayers  = 512
	maxExperts = 2048
	maxSize    = 1 << 34
)

// Builder collects the modules of one rank. A family's function calls its
// methods in the order in which SGLang's class makes the modules. The first
// error stays; what follows it does nothing harmful.
type Builder struct {
	C      *model.Config
	T      model.Section // the section that describes the language model
	Layout Layout
	Rules  Rules
	Draft  *Draft // set when the model is built as a draft

	mods   []Module
	ropes  map[ropeKey]bool
	stale  [][2]int // modules replaced but not yet given up
	err    error
	prefix string
	layer  int
}

// Draft describes the target a draft model is built for.
type Draft struct {
	Target  *model.Config
	Context int64 // the target's context length, which replaces the draft's own; 0 when unknown
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// need returns a size that the class cannot do without.
func (b *Builder) need(keys ...string) int64 {
	n, ok := b.T.FirstInt(keys...)
	if !ok {
		b.fail(&ConfigError{keys[0], "missing or not a whole number"})
		return 1
	}
	return b.bounded(keys[0], n)
}

// size returns a size with a default.
func (b *Builder) size(def int64, keys ...string) int64 {
	n, ok := b.T.FirstInt(keys...)
	if !ok {
		return def
	}
	return b.bounded(keys[0], n)
}

func (b *Builder) bounded(key string, n int64) int64 {
	if n < 0 || n > maxSize {
		b.fail(&ConfigError{key, "out of range: " + strconv.FormatInt(n, 10)})
		return 1
	}
	return n
}

func (b *Builder) flag(key string, def bool) bool {
	if v, ok := b.T.Bool(key); ok {
		return v
	}
	return def
}

// layers reads the number of layers under a key.
func (b *Builder) layers(keys ...string) int64 {
	n := b.need(keys...)
	if n < 1 || n > maxLayers {
		b.fail(&ConfigError{keys[0], "out of range: " + strconv.FormatInt(n, 10)})
		return 1
	}
	return n
}

// split divides a size by a group of ranks; SGLang refuses what leaves a rest.
func (b *Builder) split(what string, n, ranks int64) int64 {
	if ranks <= 1 {
		return n
	}
	if n%ranks != 0 {
		b.fail(&ShapeError{What: what, Size: n, Ranks: ranks})
	}
	return n / ranks
}

// kvSplit divides KV heads: one copy per rank where there are more ranks.
func (b *Builder) kvSplit(n, ranks int64) int64 {
	if n >= ranks {
		return b.split("KV heads", n, ranks)
	}
	if n > 0 && ranks%n != 0 {
		b.fail(&ShapeError{What: "KV heads", Size: n, Ranks: ranks, Why: "the ranks must be a multiple of the heads"})
	}
	return 1
}

// oneStage refuses pipeline stages, as some classes do.
func (b *Builder) oneStage() {
	if b.Layout.PP > 1 {
		b.fail(&ShapeError{What: "pipeline stages", Size: b.Layout.PP, Ranks: 1, Why: "the class has no pipeline parallelism"})
	}
}

// at sets where the following modules are in the tree.
func (b *Builder) at(prefix string, layer int) { b.prefix, b.layer = prefix, layer }

func (b *Builder) add(m Module) *Module {
	m.Name.Prefix, m.Name.Layer = b.prefix, b.layer
	b.mods = append(b.mods, m)
	return &b.mods[len(b.mods)-1]
}

var tpText = func() (s [65]string) {
	for i := range s {
		s[i] = "tp " + strconv.Itoa(i)
	}
	s[0], s[1] = "copy", "copy"
	return s
}()

func splitText(n int64) string {
	if n >= 0 && n < int64(len(tpText)) {
		return tpText[n]
	}
	return "tp " + strconv.FormatInt(n, 10)
}

// column adds a projection whose outputs are split over ranks.
func (b *Builder) column(leaf string, g Group, ranks, in int64, outs ...int64) *Module {
	var out int64
	for _, o := range outs {
		out += b.split(leaf, o, ranks)
	}
	return b.add(Module{Name: Name{Leaf: leaf}, Group: g, Kind: Linear, Out: out, In: in, Parts: int64(len(outs)), Split: splitText(ranks)})
}

// row adds a projection whose inputs are split over ranks.
func (b *Builder) row(leaf string, g Group, ranks, in, out int64) *Module {
	return b.add(Module{Name: Name{Leaf: leaf}, Group: g, Kind: Linear, Out: out, In: b.split(leaf, in, ranks), Parts: 1, Split: splitText(ranks), RowIn: ranks > 1})
}

// whole adds a projection that every rank holds in full.
func (b *Builder) whole(leaf string, g Group, in, out int64) *Module {
	return b.column(leaf, g, 1, in, out)
}

// bias gives the last projection a bias.
func (m *Module) bias(on bool) *Module { m.Bias = on; return m }

// drop gives up what was added from index from up to index to.
func (b *Builder) drop(from, to int) {
	b.add(Module{Kind: Drop, Group: Other, Out: int64(from), In: int64(to), Split: "copy"})
}

// raw keeps a module from being quantised, as SGLang does where it builds it
// without a quantisation config.
func (m *Module) raw() *Module { m.Scheme.Kind = Never; return m }

// heads describes grouped-query attention.
type heads struct {
	q, kv, dim, vdim int64
	bias, outBias    bool
	gate             bool // an output gate doubles q (Qwen3-Next)
}

// gqa adds the fused q, k, v projection and the output projection.
func (b *Builder) gqa(ranks, hidden int64, h heads) { b.gqaFrom(ranks, hidden, hidden, h) }

// gqaFrom is gqa with an input of another width.
func (b *Builder) gqaFrom(ranks, in, hidden int64, h heads) {
	q, kv := b.split("attention heads", h.q, ranks), b.kvSplit(h.kv, ranks)
	qw := q
	if h.gate {
		qw *= 2
	}
	b.add(Module{Name: Name{Leaf: "self_attn.qkv_proj"}, Group: Attention, Kind: Linear, Parts: 3, Split: splitText(ranks),
		Out: qw*h.dim + kv*(h.dim+h.vdim), In: in, Bias: h.bias})
	b.add(Module{Name: Name{Leaf: "self_attn.o_proj"}, Group: Attention, Kind: Linear, Parts: 1, Split: splitText(ranks),
		Out: hidden, In: q * h.vdim, Bias: h.outBias, RowIn: ranks > 1})
}

// mlp adds a gated MLP split over ranks.
func (b *Builder) mlp(leaf string, g Group, ranks, hidden, inter int64) {
	b.column(leaf+".gate_up_proj", g, ranks, hidden, inter, inter)
	b.row(leaf+".down_proj", g, ranks, inter, hidden)
}

// norms adds weight vectors of the given widths, in full on every rank.
func (b *Builder) norms(widths ...int64) {
	for _, w := range widths {
		b.param("norm", Norms, BF16, w)
	}
}

// param adds a tensor that no scheme touches.
func (b *Builder) param(leaf string, g Group, d DType, shape ...int64) *Module {
	n := int64(1)
	for _, s := range shape {
		n = mul(n, s)
	}
	return b.add(Module{Name: Name{Leaf: leaf}, Group: g, Kind: Param, Out: n, In: 1, Parts: 1, DType: d, Split: "copy"})
}

// experts adds the routed experts of a layer: n of them over the EP ranks,
// each split over the MoE's TP ranks.
func (b *Builder) experts(leaf string, n, hidden, inter int64) *Module {
	return b.moe(leaf, n, 0, hidden, inter)
}

// moe is experts with some of the n fused shared experts: these are on every
// rank, whatever EP does with the rest.
func (b *Builder) moe(leaf string, n, fused, hidden, inter int64) *Module {
	l := b.Layout
	if n > maxExperts {
		b.fail(&ConfigError{"experts", "out of range: " + strconv.FormatInt(n, 10)})
		n = 1
	}
	n += l.Redundant - fused
	text := splitText(l.MoETP)
	if l.EP > 1 {
		text = "ep " + strconv.FormatInt(l.EP, 10)
		if l.MoETP > 1 {
			text += " " + splitText(l.MoETP)
		}
	}
	return b.add(Module{Name: Name{Leaf: leaf}, Group: Experts, Kind: MoE, Split: text,
		Experts: b.split("experts", n, l.EP) + fused, In: hidden, Inter: b.split("expert width", inter, l.MoETP)})
}

// vocabPad is the padding of vocabulary tables (DEFAULT_VOCAB_PADDING_SIZE).
const vocabPad = 64

// table adds an embedding or head of padded rows split over ranks.
func (b *Builder) table(leaf string, g Group, ranks, vocab, hidden int64) *Module {
	rows := b.split("vocabulary", roundUp(vocab, vocabPad), ranks)
	return b.add(Module{Name: Name{Leaf: leaf}, Group: g, Kind: Vocab, Out: rows, In: hidden, Parts: 1, Split: splitText(ranks)})
}

// headRanks returns over how many ranks the head is split.
func (b *Builder) headRanks() int64 {
	if b.Layout.DPHead {
		return b.Layout.AttnTP
	}
	return b.Layout.TP
}
