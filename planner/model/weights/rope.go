package weights

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/sglplan/sglplan/planner/model"
)

// ropeKey tells distinct tables apart: SGLang keeps one per set of arguments
// (get_rope's cache).
type ropeKey struct {
	rows, dim int64
	base      string
	variant   string
}

// ropeSpec is a layer's rotary embedding as its class asks for it.
type ropeSpec struct {
	dim     int64
	max     int64
	base    float64
	scaling model.Section // rope_scaling or rope_parameters, nil for none
	variant string        // what else keeps tables apart (rotation style, owner)
}

// ropeSection returns rope_parameters or rope_scaling, whichever is there:
// transformers 5 moved the one into the other.
func ropeSection(t model.Section) model.Section {
	if s := t.Sub("rope_parameters"); s != nil {
		return s
	}
	return t.Sub("rope_scaling")
}

// ropeBase returns rope_theta from wherever it stands.
func ropeBase(t model.Section, def float64) float64 {
	if v, ok := t.Float("rope_theta"); ok {
		return v
	}
	if v, ok := ropeSection(t).Float("rope_theta"); ok {
		return v
	}
	return def
}

// ropeType names the scaling: "default" without one.
func ropeType(s model.Section) string {
	if t := s.Str("rope_type"); t != "" {
		return t
	}
	if t := s.Str("type"); t != "" {
		return t
	}
	return "default"
}

// rows returns the length of the cos/sin table: the model's maximum, times the
// factor for the scalings that stretch it (rotary_embedding.py).
func (r ropeSpec) rows() int64 {
	factor, ok := r.scaling.Float("factor")
	if !ok {
		factor = 1
	}
	n := r.max
	switch ropeType(r.scaling) {
	case "yarn", "deepseek_yarn":
		if o, ok := r.scaling.Int("original_max_position_embeddings"); ok {
			n = o
		}
	case "linear", "dynamic":
	default:
		factor = 1
	}
	rows := float64(n) * factor
	if math.IsNaN(rows) || rows < 0 || rows > maxSize {
		return 0
	}
	return int64(rows)
}

// rope adds the cos/sin table of a layer, once per distinct table.
func (b *Builder) rope(r ropeSpec) {
	scaling, _ := json.Marshal(map[string]any(r.scaling))
	k := ropeKey{r.rows(), r.dim, fmt.Sprint(r.base), r.variant + string(scaling)}
	if b.ropes[k] {
		return
	}
	if b.ropes == nil {
		b.ropes = map[ropeKey]bool{}
	}
	b.ropes[k] = true
	b.ropeTables(k.rows, k.dim, ropeType(r.scaling))
}

func (b *Builder) ropeTables(rows, dim int64, kind string) {
	b.add(Module{Name: Name{Leaf: "rotary_emb"}, Group: Rope, Kind: Rotary, Out: rows, In: dim, Split: "copy"})
	if kind == "deepseek_yarn" && b.Rules.DeepseekRopeCopies {
		// cos_cached_total and sin_cached_total of DeepseekScalingRotaryEmbedding
		b.param("rotary_emb.cos_cached_total", Rope, FP32, rows, dim)
		b.param("rotary_emb.sin_cached_total", Rope, FP32, rows, dim)
	}
}

// textRope is the usual table: head_dim x partial_rotary_factor wide, as long
// as max_position_embeddings.
func (b *Builder) textRope(dim, defMax int64, defBase float64) ropeSpec {
	if f, ok := b.T.Float("partial_rotary_factor"); ok && f > 0 && f <= 1 {
		dim = int64(float64(dim) * f)
	} else if f, ok := ropeSection(b.T).Float("partial_rotary_factor"); ok && f > 0 && f <= 1 {
		dim = int64(float64(dim) * f)
	}
	return ropeSpec{dim: dim, max: b.context(b.size(defMax, "max_position_embeddings")), base: ropeBase(b.T, defBase), scaling: ropeSection(b.T)}
}

// context returns the position limit: a draft's is replaced by its target's.
func (b *Builder) context(n int64) int64 {
	if b.Draft != nil && b.Draft.Context > 0 {
		return b.Draft.Context
	}
	return n
}
