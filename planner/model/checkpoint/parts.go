package checkpoint

import "github.com/sglplan/sglplan/planner/model/weights"

// Part is a part of a model that both a config and a checkpoint can be asked
// about: coarse enough that names cannot put a tensor into the wrong one.
type Part uint8

// The parts.
const (
	Experts Part = iota
	Embedding
	Head
	Towers
	Tables // lookup tables beside the embedding
	Body   // everything else: attention, MLPs, routers, norms
	parts
)

var partNames = [...]string{"experts", "embedding", "lm_head", "vision and audio", "lookup tables", "attention and MLPs"}

// String returns the part's name in findings.
func (p Part) String() string { return partNames[p] }

// partOf maps the groups of package weights; position tables are made, not
// loaded, and belong to none.
func partOf(g weights.Group) (Part, bool) {
	switch g {
	case weights.Experts:
		return Experts, true
	case weights.Embedding:
		return Embedding, true
	case weights.LMHead:
		return Head, true
	case weights.Vision:
		return Towers, true
	case weights.LookupTables:
		return Tables, true
	case weights.Rope:
		return 0, false
	}
	return Body, true
}

// Sizes is the bytes of each part.
type Sizes [parts]int64

// Total returns the bytes of all parts.
func (s Sizes) Total() int64 {
	var n int64
	for _, b := range s {
		n += b
	}
	return n
}

// Stored sums the files' parts over the decoder's layers, prediction layers
// left out. narrowed is the same as a model in 16-bit types holds it.
func (t *Tally) Stored(layers int) (stored, narrowed Sizes) {
	sum := t.stage(0, layers)
	for g := range sum.bytes {
		p, ok := partOf(weights.Group(g))
		if !ok {
			p = Body
		}
		var n int64
		for _, b := range sum.bytes[g] {
			n += b
		}
		stored[p] += n
		narrowed[p] += n - sum.saved[g]
	}
	return stored, narrowed
}

// Described sums the parts of what a model's class would store, given by group
// (weights.Stored).
func Described(byGroup []weights.GroupSize) Sizes {
	var s Sizes
	for _, x := range byGroup {
		if p, ok := partOf(x.Group); ok {
			s[p] += x.Bytes
		}
	}
	return s
}
