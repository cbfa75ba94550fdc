package table

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = "../flags.json"

func read(t *testing.T) *Table {
	t.Helper()
	tab, err := Read(source)
	require.NoError(t, err)
	return tab
}

func readDump(t *testing.T, version string) *Dump {
	t.Helper()
	d, err := ReadDump("testdata/" + version + ".json.gz")
	require.NoError(t, err)
	return d
}

// TestDumpMatchesTable compares the table with what the parser of the release
// itself said when it was dumped.
func TestDumpMatchesTable(t *testing.T) {
	require.Empty(t, read(t).Diff(readDump(t, "0.5.23")))
}

// TestMergeRebuildsNewest takes 0.5.23 out of the table and merges it back from
// its dump, as a maintainer adds a release.
func TestMergeRebuildsNewest(t *testing.T) {
	want, got := read(t), read(t)
	got.drop("0.5.23")
	require.NotEmpty(t, got.Diff(readDump(t, "0.5.23")))
	require.NoError(t, got.Merge(readDump(t, "0.5.23")))
	require.Empty(t, got.Diff(readDump(t, "0.5.23")))
	require.Equal(t, want.Versions, got.Versions)
	for _, f := range want.Flags {
		i := slices.IndexFunc(got.Flags, func(g *Flag) bool { return g.Name == f.Name })
		require.GreaterOrEqual(t, i, 0, f.Name)
		g := got.Flags[i]
		for _, v := range want.Versions {
			ws, gs := want.at(f, v), got.at(g, v)
			require.Equal(t, ws == nil, gs == nil, "%s in %s", f.Name, v)
			if ws != nil {
				require.Equal(t, ws.Shape, gs.Shape, "%s in %s", f.Name, v)
				require.Equal(t, f.field(ws), g.field(gs), "%s in %s", f.Name, v)
				require.True(t, sameNames(f.aliases(ws), g.aliases(gs)), "%s in %s", f.Name, v)
			}
		}
	}
}

// drop takes the newest version out of the table.
func (t *Table) drop(version string) {
	t.Versions = t.Versions[:t.index(version)]
	last := t.Versions[len(t.Versions)-1]
	for _, f := range t.Flags {
		f.Spans = slices.DeleteFunc(f.Spans, func(s *Span) bool { return s.From == version })
		for _, s := range f.Spans {
			if s.To == version {
				s.To = last
			}
		}
	}
	t.Flags = slices.DeleteFunc(t.Flags, func(f *Flag) bool { return len(f.Spans) == 0 })
}

// TestGeneratedIsCurrent holds the embedded table and the source together.
func TestGeneratedIsCurrent(t *testing.T) {
	tab := read(t)
	for path, generate := range map[string]func() ([]byte, error){
		"../../flags_data.go": tab.Generate, "../../../release/known.go": tab.GenerateBounds,
	} {
		want, err := generate()
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.FromSlash(path))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run go generate in planner/sglang/args")
	}
}

// TestWriteKeepsTable writes the table and reads it back.
func TestWriteKeepsTable(t *testing.T) {
	want := read(t)
	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, want.Write(path))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestMergeRefusesKnownRelease(t *testing.T) {
	require.ErrorContains(t, read(t).Merge(readDump(t, "0.5.23")), "is there already")
}
