// Package figure carries a number together with how it is known: its basis
// and the band the truth lies in.
package figure

import (
	"math"

	"github.com/sglplan/sglplan/planner/units"
)

// Basis says how a figure is known.
type Basis string

// The bases, from the surest to the least sure.
const (
	Exact     Basis = "exact"     // SGLang's own integer arithmetic on known inputs
	Measured  Basis = "measured"  // read from NVML, /proc, a log, or given by the user as a reading
	Estimated Basis = "estimated" // a model, with low and high
	Assumed   Basis = "assumed"   // a stated default; the finding names the option that overrides it
)

var order = map[Basis]int{Exact: 0, Measured: 1, Estimated: 2, Assumed: 3}

// Worse returns the less sure of two bases: what a sum of both rests on.
func Worse(a, b Basis) Basis {
	if order[a] >= order[b] {
		return a
	}
	return b
}

// Of is a value with its band. Low <= Value <= High always holds; the three
// are equal when Basis is Exact.
type Of[T ~int64] struct {
	Value T     `json:"value"`
	Low   T     `json:"low"`
	High  T     `json:"high"`
	Basis Basis `json:"basis"`
}

// Bytes is a size with its band; Tokens a token count with its band.
type (
	Bytes  = Of[units.Bytes]
	Tokens = Of[int64]
)

// New returns a figure without a band.
func New[T ~int64](v T, b Basis) Of[T] { return Of[T]{v, v, v, b} }

// Band returns a figure with a band, widened where needed so that it holds v.
func Band[T ~int64](v, low, high T, b Basis) Of[T] { return Of[T]{v, min(low, v), max(high, v), b} }

// Percent returns an estimated figure within minus lo and plus hi percent.
func Percent[T ~int64](v T, lo, hi float64) Of[T] {
	return Band(v, T(math.Floor(float64(v)*(1-lo/100))), T(math.Ceil(float64(v)*(1+hi/100))), Estimated)
}

// Plus adds two figures; the bands add up and the worse basis remains.
func (f Of[T]) Plus(g Of[T]) Of[T] {
	return Of[T]{f.Value + g.Value, f.Low + g.Low, f.High + g.High, Worse(f.Basis, g.Basis)}
}

// Minus subtracts g from f; the bands add up and the worse basis remains.
func (f Of[T]) Minus(g Of[T]) Of[T] {
	return Of[T]{f.Value - g.Value, f.Low - g.High, f.High - g.Low, Worse(f.Basis, g.Basis)}
}

// Times multiplies a figure by a whole number.
func (f Of[T]) Times(n int64) Of[T] {
	return Of[T]{f.Value * T(n), f.Low * T(n), f.High * T(n), f.Basis}
}

// Holds reports whether v lies inside the band.
func (f Of[T]) Holds(v T) bool { return f.Low <= v && v <= f.High }
