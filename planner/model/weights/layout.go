package weights

import "fmt"

// Layout is how a launch spreads a model over ranks, seen from one rank: all
// sizes are group sizes, at least 1.
type Layout struct {
	TP     int64 // tensor parallel ranks of a stage
	AttnTP int64 // ranks that share one attention (TP without DP attention)
	EP     int64 // ranks over which experts are spread
	MoETP  int64 // ranks that share one expert
	Dense  int64 // ranks that share a dense MLP where moe_dense_tp_size counts
	Vision int64 // ranks that share the vision tower
	PP     int64
	Stage  int64

	DPAttention bool
	DPHead      bool // --enable-dp-lm-head
	A2A         bool // an all-to-all backend (DeepEP and the like) moves tokens
	Redundant   int64
	Partition   []int64 // SGLANG_PP_LAYER_PARTITION, nil for even stages
}

// First and Last say whether the rank is on that pipeline stage.
func (l Layout) First() bool { return l.Stage == 0 }

// Last reports the last stage.
func (l Layout) Last() bool { return l.Stage == l.PP-1 }

// Layers returns the half-open range of a stage's layers: even, the last
// stages one more where it does not divide (get_pp_indices).
func (l Layout) Layers(n int64) (from, to int64) {
	if int64(len(l.Partition)) == l.PP && l.PP > 1 {
		for _, k := range l.Partition[:l.Stage] {
			from += k
		}
		from = min(max(from, 0), n)
		return from, min(max(from+l.Partition[l.Stage], from), n)
	}
	base, rest := n/l.PP, n%l.PP
	from = l.Stage * base
	if extra := l.Stage - (l.PP - rest); extra >= 0 {
		return from + extra, from + extra + base + 1
	}
	return from, from + base
}

// A ShapeError reports a model that cannot be split as asked: SGLang's own
// classes refuse it while they are built.
type ShapeError struct {
	What  string // "attention heads"
	Size  int64
	Ranks int64
	Why   string // the rule, "" for plain divisibility
	Block int64  // of the quantisation, where a rank's part, Size, must be made of whole ones
}

func (e *ShapeError) Error() string {
	if e.Block > 0 {
		return fmt.Sprintf("%s: a rank's part is %d, which is not made of whole blocks of %d", e.What, e.Size, e.Block)
	}
	if e.Why != "" {
		return fmt.Sprintf("%s: %d over %d ranks: %s", e.What, e.Size, e.Ranks, e.Why)
	}
	return fmt.Sprintf("%s: %d does not divide by %d ranks", e.What, e.Size, e.Ranks)
}

// A ConfigError reports a config.json without what its class needs.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return "config.json: " + e.Field + ": " + e.Why }

// An UnknownError reports an architecture or scheme that is not covered.
type UnknownError struct{ What, Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("%s %q is not covered", e.What, e.Name) }
