package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	inTicks = regexp.MustCompile("`((?:planner|cmd|gpu|hostmem|hub|internal|packaging|preflight|testdata|docs|examples)/[A-Za-z0-9_./-]+)`")
)

// TestPointers: every file and folder that the documentation points to is
// there.
func TestPointers(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	pages = append(pages, root+"/CONTRIBUTING.md", root+"/CHANGELOG.md")
	for _, page := range pages {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			require.True(t, exists(filepath.Join(filepath.Dir(page), m[1])), "%s links to %s", page, m[1])
		}
		for _, m := range inTicks.FindAllStringSubmatch(string(b), -1) {
			require.True(t, exists(filepath.Join(root, strings.TrimSuffix(m[1], "."))), "%s names %s", page, m[1])
		}
	}
}

// exists takes a pattern.
func exists(name string) bool {
	found, err := filepath.Glob(name)
	return err == nil && len(found) > 0
}
