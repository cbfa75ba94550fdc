package args

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// TestParseCorpus parses the commands of public launches under the release
// that ran them, the newest where none is known. Four do not parse, rightly.
func TestParseCorpus(t *testing.T) {
	type row struct {
		ID, Release string
		Argv        []string
	}
	refused := map[string][]finding.Code{
		// No release has had --disable-prefill-overlap.
		"llama31-8b-3060x4-hicache40": {CodeUnknownFlag},
		// Release not known: the abbreviation was a flag until 0.5.19.
		"mimo-v25-pro-h200-tp16-loaderror": {CodeAmbiguousFlag},
		// A fork with flags of its own.
		"minicpm-sala-bf16kv-graph-fail": {CodeValueInvalid, CodeUnknownFlag},
		"minicpm-sala-fp8kv-oom-serving": {CodeValueInvalid, CodeUnknownFlag},
	}
	rows := readLines[row](t, "testdata/parse_corpus.jsonl.gz")
	for _, r := range rows {
		v := release.Newest
		if r.Release != "" {
			v = release.MustParse(r.Release)
		}
		_, fs := Parse(v, words(r.Argv...), ParseOptions{})
		var codes []finding.Code
		for _, f := range fs {
			if f.Severity == finding.Error {
				codes = append(codes, f.Code)
			}
		}
		require.Equal(t, refused[r.ID], codes, "%s (%s): %v", r.ID, v, fs)
	}
	require.NotEmpty(t, rows)
}

func TestNearestRelease(t *testing.T) {
	for in, want := range map[string]struct {
		release string
		code    finding.Code
	}{
		"0.5.9":            {"0.5.9", ""},
		"0.5.10.post1":     {"0.5.10.post1", ""},
		"0.5.23":           {"0.5.23", ""},
		"0.5.23.post1":     {"0.5.23", CodeReleaseNewer},
		"0.6.1":            {"0.5.23", CodeReleaseNewer},
		"0.5.23.dev3":      {"0.5.23", CodeReleaseBetween},
		"0.5.12.dev202605": {"0.5.12", CodeReleaseBetween},
		"0.5.3rc0":         {"0.5.3", CodeReleaseBetween},
		"0.5.0":            {"0.4.10.post2", CodeReleaseBetween},
		"0.4.6":            {"0.4.6", ""},
		"0.3.2":            {"0.4.6", CodeReleaseOlder},
	} {
		r, fs := Nearest(release.MustParse(in))
		require.Equal(t, want.release, r.String(), in)
		if want.code == "" {
			require.Empty(t, fs, in)
			continue
		}
		require.Len(t, fs, 1, in)
		require.Equal(t, want.code, fs[0].Code, in)
	}
	r, fs := Nearest(release.Release{})
	require.Equal(t, release.Newest.String(), r.String())
	require.Empty(t, fs)
}
