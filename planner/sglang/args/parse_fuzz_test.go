package args

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// checkParse holds what is true of every command line.
func checkParse(t *testing.T, r release.Release, argv []string, config []byte) {
	t.Helper()
	a, fs := Parse(r, words(argv...), ParseOptions{
		Serve:    len(argv)%2 == 0,
		ReadFile: func(string) ([]byte, error) { return config, nil },
	})
	for _, f := range fs {
		require.NotEmpty(t, f.Summary, "%s is not defined", f.Code)
		require.GreaterOrEqual(t, f.Severity, finding.Info)
		require.NotEmpty(t, f.Detail)
	}
	i := indexOf(r)
	for j := range spans {
		if s := &spans[j]; s.covers(i) && s.hasDefault() {
			_, ok := a.Get(s.field)
			require.True(t, ok, s.field)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"--model-path m --tp 8", "--cuda-graph-max-bs 4", "--lora-paths {\"lora_name\":1}", "--config f.yaml --tp=", "-- x", "-h",
		"--cuda-graph-config {\"decode\":{\"bs\":[1]}}", "--chunked-prefill-size -1 --context-length 1.5Ki", "--mem nan --swa 1e999",
	} {
		f.Add(s, byte(53))
		f.Add(s, byte(20))
	}
	f.Fuzz(func(t *testing.T, line string, version byte) {
		if len(line) > 1<<12 {
			return
		}
		checkParse(t, versionAt(int(version)%len(versions)), strings.Split(line, " "), []byte(line))
	})
}

func FuzzConfigFile(f *testing.F) {
	for _, s := range []string{
		"tp-size: 8\n", "a: &a [*a]\n", "<<: {port: 1}\n", "x: !!int a\n", "cuda-graph-bs: [1, 2]\n", "? [a]\n: b\n",
		"a: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n", "port: 1:30:00\n", "json-model-override-args: {a: {b: [1.5, ~]}}\n",
	} {
		f.Add([]byte(s), byte(53))
		f.Add([]byte(s), byte(30))
	}
	f.Fuzz(func(t *testing.T, data []byte, version byte) {
		checkParse(t, versionAt(int(version)%len(versions)), []string{"--config", "f.yaml"}, data)
	})
}

func FuzzPythonNumbers(f *testing.F) {
	for _, s := range []string{"1_000", "-0", "+3", "1.5k", "1Ki", "inf", ".5", "1e", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pyInt(s)
		pyFloat(s)
		humanInt(s)
		fromJSON(s)
		_ = pyRepr(plainScalar(s))
	})
}
