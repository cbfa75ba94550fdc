package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestDocsAreCurrent holds the generated pages to the code. Write them anew
// with: go run ./cmd/sglplan docs docs
func TestDocsAreCurrent(t *testing.T) {
	for name, want := range pages(newRoot()) {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, string(got)), name)
	}
}

// TestEveryVerbHasAnExample keeps --help useful.
func TestEveryVerbHasAnExample(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "version" {
			continue
		}
		require.NotEmpty(t, c.Example, c.Name())
	}
}
