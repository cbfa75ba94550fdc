package hicache

import "math"

// floorDiv is Python's // on floats: the exact quotient rounded down, which
// math.Floor(a/b) is not where a/b rounds up to a whole number.
func floorDiv(a, b float64) float64 {
	mod := math.Mod(a, b)
	div := (a - mod) / b
	if mod != 0 && (b < 0) != (mod < 0) {
		div--
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return floor
}

// floorDivInt is Python's // on whole numbers, b > 0.
func floorDivInt(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// trunc is Python's int() on a float, bounded so that a hostile size or ratio
// cannot overflow what is computed from it.
func trunc(f float64) int64 {
	const most = 1 << 50 // tokens; a petabyte of single bytes
	switch {
	case math.IsNaN(f):
		return 0
	case f > most:
		return most
	case f < -most:
		return -most
	}
	return int64(f)
}

// largest bounds every product and sum of sizes: an exabyte, four of which
// still add up without overflow. A typing error reports it and does not wrap.
const largest = 1 << 61

// mul multiplies non-negative sizes and stops at the largest one.
func mul[A, B ~int64](a A, b B) A {
	if a <= 0 || b <= 0 {
		return 0
	}
	if int64(a) > largest/int64(b) {
		return largest
	}
	return a * A(b)
}

// add adds non-negative sizes and stops at the largest one.
func add[A ~int64](a, b A) A { return min(a+b, largest) }
