package args

import (
	"slices"

	"github.com/sglplan/sglplan/internal/near"
)

// nearest returns the spelling at position at that is closest to what was
// written, "" when none is close.
func nearest(at int, flag string) string {
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
