package cases

import (
	"maps"
	"slices"
)

// Edge is a launch whose fraction was raised until it died.
type Edge struct {
	Case  Case    // the launch as the release would start it, where it was tried, else one of them
	Lived float64 // the largest fraction below the first that died
	Died  float64 // the smallest that died
	// Through is the largest fraction above Died that lived, because less free
	// memory makes the release leave its prefill graphs out; 0 where none did.
	Through float64
	Rows    []Case // every fraction that was tried, in order
}

// Searched reports an edge that is known to 0.03.
func (e Edge) Searched() bool { return e.Died-e.Lived < 0.03 }

// Edges returns the launches of which at least one fraction lived and a larger
// one died.
func Edges(rows []Case) []Edge {
	groups := map[string][]Case{}
	for _, c := range rows {
		if c.Edge != "" && c.Observed.Fraction > 0 && c.Outcome != ConfigError && c.Outcome != HostOOM {
			groups[c.Edge] = append(groups[c.Edge], c)
		}
	}
	var out []Edge
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		if e, ok := edgeOf(groups[k]); ok {
			out = append(out, e)
		}
	}
	return out
}

func edgeOf(rows []Case) (e Edge, ok bool) {
	slices.SortFunc(rows, func(a, b Case) int {
		switch {
		case a.Observed.Fraction < b.Observed.Fraction:
			return -1
		case a.Observed.Fraction > b.Observed.Fraction:
			return 1
		}
		return 0
	})
	e.Rows, e.Case = rows, rows[0]
	for _, c := range rows {
		f := c.Observed.Fraction
		if !slices.Contains(c.Argv, "--mem-fraction-static") {
			e.Case = c
		}
		switch {
		case c.Outcome == OOMPool: // too small a fraction: the other edge
		case c.Outcome == Ready && e.Died == 0:
			e.Lived = f
		case c.Outcome == Ready:
			e.Through = f
		case e.Died == 0:
			e.Died = f
		}
	}
	return e, e.Lived > 0 && e.Died > 0
}
