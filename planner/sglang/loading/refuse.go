package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// refuses reports what SGLang's own quantisation methods stop at when they
// build a module of that size on a rank.
func (l *loader) refuses(m *weights.Module) error {
	switch {
	case m.Kind == weights.Linear && m.Scheme.Kind == weights.FP8Block:
		return blocksLinear(m)
	case m.Kind != weights.MoE:
		return nil
	}
	switch s := m.Scheme; {
	case s.Kind == weights.FP8Block, s.Kind == weights.MXFP4Fp8 && l.back.moe != runMXFP4:
		if l.rules.PadInter == 0 && s.Rows > 0 {
			return divides(m.Name.Leaf+" width", m.Inter, s.Rows)
		}
	case s.Kind == weights.MXFP4Fp8 && l.card.Major != 10:
		return divides(m.Name.Leaf+" width", m.Inter, 128)
	case s.Kind == weights.Int4 && l.lay.A2A && l.rel.AtLeast("0.5.17"):
		return &weights.ShapeError{What: "experts", Size: m.Experts, Ranks: l.lay.EP, Why: "int4 experts run on Marlin, which no all-to-all backend serves"}
	}
	return nil
}

// blocksLinear follows validate_block_quant_shapes.
func blocksLinear(m *weights.Module) error {
	s := m.Scheme
	if m.RowIn {
		return divides(m.Name.Leaf+" input", m.In, s.Cols)
	}
	if m.Parts == 2 {
		return divides(m.Name.Leaf, m.Out/2, s.Rows)
	}
	return nil
}

func divides(what string, n, block int64) error {
	if block > 0 && n%block != 0 {
		return &weights.ShapeError{What: what, Size: n, Block: block}
	}
	return nil
}
