package near

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClosest(t *testing.T) {
	words := []string{"--mem-fraction-static", "--max-total-tokens", "--tp", "check", "recommend"}
	for text, want := range map[string]string{
		"--mem-fracton-static":   "--mem-fraction-static",
		"--MEM_FRACTION_STATIC":  "--mem-fraction-static",
		"--mem-fraction-sattic":  "--mem-fraction-static",
		"--tq":                   "--tp",
		"chekc":                  "check",
		"recomend":               "recommend",
		"--nothing-like-it":      "",
		"":                       "",
		strings.Repeat("a", 1e6): "",
	} {
		require.Equal(t, want, Closest(text, slices.Values(words)), text)
	}
}
