package serverlog

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"compress/gzip"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// golden is a Start with the arguments that matter.
type golden struct {
	*Start
	Arguments map[string]any `json:"arguments,omitempty"`
}

var shown = []string{"model_path", "tp_size", "mem_fraction_static", "chunked_prefill_size", "hicache_size", "port", "kv_cache_dtype"}

func asGolden(t *testing.T, s *Start) string {
	t.Helper()
	g := golden{Start: s}
	for _, name := range shown {
		if v, ok := s.Arguments()[name]; ok {
			if g.Arguments == nil {
				g.Arguments = map[string]any{}
			}
			g.Arguments[name] = v
		}
	}
	b, err := json.MarshalIndent(g, "", " ")
	require.NoError(t, err)
	return string(b) + "\n"
}

func openLog(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	return z
}

// TestLogs reads real logs of starts and compares everything that was read
// with the JSON beside each. Write it anew with UPDATE_GOLDEN=1.
func TestLogs(t *testing.T) {
	names, err := filepath.Glob("testdata/*.log.gz")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s, err := Read(openLog(t, name))
			require.NoError(t, err)
			got, file := asGolden(t, s), strings.TrimSuffix(name, ".log.gz")+".json"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got))
		})
	}
}
