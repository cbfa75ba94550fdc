// Package near finds the known word that somebody meant: flags, options and
// verbs that are spelled almost right.
package near

import (
	"iter"
	"strings"
)

// longest bounds what is compared: no flag is longer, so a longer text has no
// neighbour.
const longest = 128

// Closest returns the word nearest to text, "" when none is near. It compares
// without regard to case and to dashes against underscores, and accepts one
// error in four letters.
func Closest(text string, all iter.Seq[string]) string {
	if len(text) > longest {
		return ""
	}
	want := plain(text)
	best, bestAt := "", max(1, len(want)/4)+1
	for c := range all {
		if d := distance(want, plain(c), bestAt); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.TrimLeft(strings.ReplaceAll(strings.ToLower(s), "_", "-"), "-")
}

// distance is the number of letters to insert, drop, replace or swap to turn a
// into b, or limit when it is at least that.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least >= limit {
			return limit
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(b)], limit)
}
