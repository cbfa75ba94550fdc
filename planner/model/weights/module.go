package weights

import "strconv"

// Kind says what a module is and so which tensors it holds.
type Kind uint8

// The kinds of module.
const (
	Linear Kind = iota // a projection, [out, in] and perhaps a bias
	MoE                // the routed experts of a layer on this rank
	Vocab              // embedding or head, [rows, hidden]
	Param              // tensors that no scheme touches
	Rotary             // a cos/sin table of Out rows, In wide
	Absorb             // MLA's w_kc and w_vc, made of kv_b_proj after loading
	Drop               // gives up the modules from Out up to In: a class replaced them
	Gone               // given up so
)

// Name is a module's path in SGLang's module tree, kept in parts because a
// model has thousands of them: prefix "model.layers", layer 3, leaf
// "mlp.down_proj". Layer is -1 outside the layers.
type Name struct {
	Prefix string
	Layer  int
	Leaf   string
}

// String joins the parts: "model.layers.3.mlp.down_proj".
func (n Name) String() string {
	s := n.Prefix
	if n.Layer >= 0 {
		s += "." + strconv.Itoa(n.Layer)
	}
	if s == "" {
		return n.Leaf
	}
	if n.Leaf == "" {
		return s
	}
	return s + "." + n.Leaf
}

// Module is what one rank holds of a module. Sizes are this rank's, after
// sharding.
type Module struct {
	Name  Name
	Group Group
	Kind  Kind
	Split string // how it is sharded, for the table: "tp 8", "copy", "ep 4 tp 2"

	// Linear: [Out, In], fused from Parts matrices; Vocab: Out rows of In;
	// Param: Out x In elements, Parts times.
	Out, In int64
	Parts   int64
	Bias    bool
	DType   DType // as stored when no scheme applies

	// MoE: Experts on this rank, each 2 x Inter x In (gated; else Inter x In)
	// and In x Inter. Linear: Sharded marks a row-parallel input.
	Experts int64
	Inter   int64
	Plain   bool // MoE: experts without a gate matrix (relu2)
	RowIn   bool // Linear: the input dimension is split (row parallel)
	Dropped bool // made and given up at once
	Late    bool // Param: made once the weights are loaded

	// Absorb: Experts = heads on this rank, Out = nope, In = lora, Inter = v.

	Scheme Scheme
	Held   [12]Handle // its live tensors, by slot (see scheme.go)
}

// Gate returns the number of matrices that come before the activation.
func (m *Module) Gate() int64 {
	if m.Plain {
		return 1
	}
	return 2
}
