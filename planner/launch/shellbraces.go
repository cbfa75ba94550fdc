package launch

import (
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// braces expands {a,b} and {1..4}. A word that would become more than
// maxBraces words stays as it is.
func (sh *shell) braces(w *syntax.Word) []*syntax.Word {
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return []*syntax.Word{w}
	}
	var out []*syntax.Word
	if !bracesInto(&out, nil, split.Parts) {
		return []*syntax.Word{w}
	}
	return out
}

// bracesInto adds every word that rest can become after the parts done;
// false when there are too many.
func bracesInto(out *[]*syntax.Word, done, rest []syntax.WordPart) bool {
	for i, p := range rest {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			done = append(slices.Clip(done), p)
			continue
		}
		elems, ok := braceElems(b)
		if !ok {
			return false
		}
		for _, e := range elems {
			if !bracesInto(out, done, slices.Concat(e.Parts, rest[i+1:])) {
				return false
			}
		}
		return true
	}
	if len(*out) >= maxBraces {
		return false
	}
	*out = append(*out, &syntax.Word{Parts: done})
	return true
}

// braceElems returns the alternatives of one brace expansion.
func braceElems(b *syntax.BraceExp) ([]*syntax.Word, bool) {
	if !b.Sequence {
		return b.Elems, true
	}
	from, err1 := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	step := 1
	if len(b.Elems) > 2 {
		n, err := strconv.Atoi(b.Elems[2].Lit())
		if err != nil || n == 0 {
			return nil, false
		}
		step = max(n, -n)
	}
	if err1 != nil || err2 != nil || step < 0 || from > 1<<30 || from < -1<<30 || to > 1<<30 || to < -1<<30 || max(to-from, from-to)/step >= maxBraces {
		return nil, false // letters, or too many
	}
	if to < from {
		step = -step
	}
	var out []*syntax.Word
	for n := from; (step > 0 && n <= to) || (step < 0 && n >= to); n += step {
		out = append(out, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strconv.Itoa(n)}}})
	}
	return out, true
}
