package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// KnownCard is a card of the catalogue.
type KnownCard struct {
	Card              // Name as NVML gives it, the total nvidia-smi prints, compute capability
	Aliases  []string // short names, the first one is the usual spelling
	AlsoMiB  []int64  // other totals the same card prints: ECC on or off, older drivers
	LossGiB  float64  // total minus free when loading begins, one rank; 0 when not seen
	GroupGiB float64  // the same with the communicators of several ranks; 0 when not seen
	Seen     string   // where the total was seen
	LossSeen string   // where the losses were seen
}

// UnknownCardError reports a card name that is not in the catalogue.
type UnknownCardError struct {
	Name    string
	Nearest string // the nearest known name, "" when none is near
}

func (e *UnknownCardError) Error() string {
	hint := "write what nvidia-smi prints as the total, for example 8x97887MiB"
	if e.Nearest != "" {
		hint = fmt.Sprintf("the nearest known name is %s; or %s", e.Nearest, hint)
	}
	return fmt.Sprintf("unknown GPU %q: %s", clip(e.Name), hint)
}

// Catalogue returns the known cards in the order of the table.
func Catalogue() []KnownCard { return slices.Clone(cards) }

// Lookup finds a card by the name NVML gives it or by one of its short names.
// Case, spaces, hyphens and the words NVIDIA, GeForce and Tesla do not matter.
// A name that is not known is an *UnknownCardError with the nearest one.
func Lookup(name string) (KnownCard, error) {
	want := foldName(name)
	for _, c := range cards {
		for n := range c.names() {
			if foldName(n) == want {
				return c, nil
			}
		}
	}
	return KnownCard{}, &UnknownCardError{name, nearest(want)}
}

// ByTotal returns the cards that print this total. A total that no card prints
// by default is looked for among the unusual ones: ECC switched the other way,
// an older driver.
func ByTotal(mib int64) []KnownCard {
	if usual := choose(func(c KnownCard) bool { return c.TotalMiB == mib }); len(usual) > 0 {
		return usual
	}
	return choose(func(c KnownCard) bool { return slices.Contains(c.AlsoMiB, mib) })
}

func choose(fits func(KnownCard) bool) []KnownCard {
	var found []KnownCard
	for _, c := range cards {
		if fits(c) {
			found = append(found, c)
		}
	}
	return found
}

// names yields every spelling of a card.
func (c KnownCard) names() func(func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(c.Name) {
			return
		}
		for _, a := range c.Aliases {
			if !yield(a) {
				return
			}
		}
	}
}

// PreLoadLoss estimates what is gone from the total of an idle card when a
// rank begins to load weights: the driver's reserve, the CUDA context with its
// kernels and, with several ranks in a group, their communicators.
//
// Cards of the catalogue answer with what was seen in startup logs. For others
// the losses seen on one rank were 0.6 to 1.5 GiB, on several 0.6 to 3.0.
func PreLoadLoss(c Card, ranks int) figure.Bytes {
	known, err := Lookup(c.Name)
	if err != nil {
		known = KnownCard{}
	}
	if ranks > 1 {
		return loss(known.GroupGiB, 1.9, 0.6, 3.1)
	}
	return loss(known.LossGiB, 1.2, 0.6, 1.6)
}

// loss gives a seen figure the spread that logs of one card show (0.4 GiB, a
// third where the memory is the host's), and the whole range seen on any card
// where this one was not seen.
func loss(seen, usual, low, high float64) figure.Bytes {
	if seen > 0 {
		spread := max(0.4, seen/3)
		usual, low, high = seen, seen-spread, seen+spread
	}
	return figure.Band(units.FromGiB(usual), units.FromGiB(low), units.FromGiB(high), figure.Estimated)
}

// foldName keeps the letters and digits that tell cards apart.
func foldName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
	for _, brand := range []string{"nvidia", "geforce", "tesla"} {
		s = strings.TrimPrefix(s, brand)
	}
	return s
}

// nearest returns the usual spelling of the card whose name is fewest edits
// away, in the order of the table; at most a third of the letters may differ.
func nearest(want string) string {
	const longest = 64 // no card's name is longer
	if want == "" || len(want) > longest {
		return ""
	}
	best, at := "", max(1, len(want)/3)+1
	for _, c := range cards {
		for n := range c.names() {
			if d := editDistance(want, foldName(n)); d < at {
				best, at = c.Aliases[0], d
			}
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements between two
// short strings.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diag
			if a[i] != b[j] {
				replace++
			}
			diag = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// clip shortens text from outside for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
