package args

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// words makes launch words of plain texts, numbered from 1.
func words(texts ...string) []launch.Word {
	out := make([]launch.Word, len(texts))
	for i, t := range texts {
		out[i] = launch.Word{Text: t, Pos: finding.Position{Word: i + 1}}
	}
	return out
}

func readLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var out []T
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var v T
		require.NoError(t, json.Unmarshal(sc.Bytes(), &v))
		out = append(out, v)
	}
	require.NoError(t, sc.Err())
	return out
}

// TestParseVectors holds Parse against the argument parsers of seven releases:
// what they refuse is refused for the same flag, what they accept is accepted.
func TestParseVectors(t *testing.T) {
	type row struct {
		Release string
		Argv    []string
		Refused string
	}
	passed, total := map[string]int{}, map[string]int{}
	for _, r := range readLines[row](t, "testdata/parse.jsonl.gz") {
		total[r.Release]++
		_, fs := Parse(release.MustParse(r.Release), words(r.Argv...), ParseOptions{})
		var errs []finding.Finding
		for _, f := range fs {
			if f.Severity == finding.Error {
				errs = append(errs, f)
			}
		}
		switch {
		case r.Refused == "" && len(errs) > 0:
			t.Errorf("%s %v: accepted by SGLang, refused here: %v", r.Release, r.Argv, errs)
		case r.Refused != "" && len(errs) == 0:
			t.Errorf("%s %v: refused by SGLang (%s), accepted here", r.Release, r.Argv, r.Refused)
		case r.Refused != "" && !strings.Contains(r.Refused, errs[0].Flag):
			t.Errorf("%s %v: refused for %q, here for %s", r.Release, r.Argv, r.Refused, errs[0].Flag)
		default:
			passed[r.Release]++
		}
	}
	t.Logf("passed %v of %v", passed, total)
}
