package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestPages holds docs/ to the generator.
func TestPages(t *testing.T) {
	files, err := pages()
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../docs", name))
		require.NoError(t, err)
		if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); d != "" {
			t.Errorf("docs/%s is not what the generator writes (go run ./internal/pages):\n%s", name, d)
		}
	}
}

// TestPlotIsXML: a browser refuses an SVG that is not well formed.
func TestPlotIsXML(t *testing.T) {
	rows, err := plans()
	require.NoError(t, err)
	d := xml.NewDecoder(strings.NewReader(accuracyPlot(rows)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

func TestText(t *testing.T) {
	require.Equal(t, "0", thousands(0))
	require.Equal(t, "-1,234,567", thousands(-1234567))
	require.Equal(t, "999", thousands(999))
	require.Equal(t, "+0.010 %", percent(0.0001))
	require.Equal(t, "-12 %", percent(-0.12))
	require.Equal(t, "0 %", percent(0))
	require.InDelta(t, 3, stats{-1, 2, 3, -4, 5}.quantile(0.5), 0)
	require.InDelta(t, -9, stats{1, -9}.worst(), 0)
	require.Equal(t, "--tp-size 2", flags([]string{"python3", "-m", "sglang.launch_server", "--model-path", "x", "--tp-size", "2", "--port", "1"}))
}
