package pool

import "math"

const gib = 1 << 30

// floorDiv divides toward minus infinity, as Python's // does on integers.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// floatFloorDiv is Python's // on floats, rounding included: the quotient is
// derived from the exact remainder, not from the rounded quotient.
func floatFloorDiv(x, y float64) float64 {
	mod := math.Mod(x, y)
	div := (x - mod) / y
	if mod != 0 && (y < 0) != (mod < 0) {
		div--
	}
	if div == 0 {
		return 0
	}
	f := math.Floor(div)
	if div-f > 0.5 {
		f++
	}
	return f
}

// trunc is Python's int() of a float: toward zero. Values beyond 64 bits stop
// at their edge.
func trunc(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// floorAlign rounds down to a multiple, ceilAlign up.
func floorAlign(n, to int64) int64 { return floorDiv(n, to) * to }
func ceilAlign(n, to int64) int64  { return ceilDiv(n, to) * to }
func ceilDiv(a, b int64) int64     { return -floorDiv(-a, b) }

func clamp(n, low, high int64) int64 { return max(min(n, high), low) }
