package args

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/internal/near"
)

// nearest returns the spelling at position at that is closest to what was
// written, "" when none is close.
func nearest(at int, flag string) string {
	if len(flag) > 2 && !strings.HasPrefix(flag, "--") { // -tp: a long name behind a single dash
		if long := withPrefix("-"+flag, at); len(long) == 1 || len(long) > 1 && long[0] == "-"+flag {
			return long[0]
		}
	}
	return near.Closest(flag, func(yield func(string) bool) {
		for i := range options {
			if options[i].at(at) != nil && !yield(options[i].text) {
				return
			}
		}
	})
}

func nearestAnywhere(flag string) string {
	return near.Closest(flag, func(yield func(string) bool) {
		for i := range options {
			if !yield(options[i].text) {
				return
			}
		}
	})
}

func nearestChoice(s *span, text string) string {
	return near.Closest(text, slices.Values(textsOf(s.choices)))
}

// wholeNear is the whole number below a decimal one, "" for any other text.
func wholeNear(text string) string {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.Abs(f) > 1<<53 {
		return ""
	}
	return strconv.FormatInt(int64(f), 10)
}
