package args

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// sample is a value that a flag accepts, as words, and what it becomes.
func (s *span) sample() ([]string, any) {
	if s.nargs == 'n' {
		return nil, s.constant
	}
	if s.choices != nil {
		c := s.choices[len(s.choices)-1]
		switch {
		case s.constant != nil:
			return []string{fmt.Sprint(c)}, s.constant
		case s.nargs != 0:
			return []string{fmt.Sprint(c)}, []any{c}
		}
		return []string{fmt.Sprint(c)}, c
	}
	text, value := "x", any("x")
	switch s.conv {
	case convInt, convHumanInt:
		text, value = "7", int64(7)
	case convFloat:
		text, value = "0.25", 0.25
	case convJSON:
		text, value = `{"a": 1}`, map[string]any{"a": int64(1)}
	case convJSONList:
		text, value = "[1]", []any{int64(1)}
	case convGraph:
		text, value = `{"decode": {"max_bs": 4}}`, map[string]any{"decode": map[string]any{"max_bs": int64(4)}}
	case convLoRAByName:
		return []string{"n=p"}, map[string]any{"n": "p"}
	}
	if s.nargs == '*' || s.nargs == '+' {
		value = []any{value}
	}
	return []string{text}, value
}

// TestEveryFlagOfEveryRelease names each spelling of each flag under each
// release: its own are accepted and set their field, those of another release
// are refused with the release that has them.
func TestEveryFlagOfEveryRelease(t *testing.T) {
	accepted, refused := 0, 0
	for i, v := range versions {
		r := release.MustParse(v)
		base, _ := Parse(r, words("--model-path", "m"), ParseOptions{})
		for j := range options {
			o := &options[j]
			s := o.at(i)
			switch {
			case s == nil:
				requireHint(t, r, i, o)
				refused++
			case s.act == actHelp || s.name == configFlag || s.use == useRefused:
				// --help ends, --config is a file, retired flags stop
			default:
				requireAccepted(t, r, o.text, s, base)
				accepted++
			}
		}
	}
	t.Logf("%d accepted, %d refused over %d releases", accepted, refused, len(versions))
}

func requireAccepted(t *testing.T, r release.Release, text string, s *span, base *Args) {
	t.Helper()
	texts, want := s.sample()
	if s.negates(text) {
		want = false
	}
	argv := append([]string{"--model-path", "m", text}, texts...)
	got, fs := Parse(r, words(argv...), ParseOptions{})
	if finding.Worst(fs) == finding.Error {
		t.Fatalf("%s %v: %+v", r, argv, fs)
	}
	v, _ := got.Get(s.field)
	if s.use == useIgnored {
		w, _ := base.Get(s.field)
		want = w.V
	}
	if !cmp.Equal(want, v.V) {
		t.Fatalf("%s %v: %s is %v, want %v", r, argv, s.field, v.V, want)
	}
	if s.use == useWorks && v.Origin.Kind != FromFlag {
		t.Fatalf("%s %v: origin %v", r, argv, v.Origin)
	}
}

func requireHint(t *testing.T, r release.Release, i int, o *option) {
	t.Helper()
	_, fs := Parse(r, words("--model-path", "m", o.text), ParseOptions{})
	candidates := withPrefix(o.text, i)
	k := slices.IndexFunc(fs, func(f finding.Finding) bool { return f.Flag == o.text && f.Severity == finding.Error })
	if len(candidates) == 1 { // a prefix of another flag by now
		return
	}
	if k < 0 {
		t.Fatalf("%s accepts %s: %+v", r, o.text, fs)
	}
	want := CodeFlagOtherRelease
	if len(candidates) > 1 {
		want = CodeAmbiguousFlag
	}
	if fs[k].Code != want || !strings.Contains(fs[k].Detail, history(Known(o.text))) || len(fs[k].Fixes) == 0 {
		t.Fatalf("%s %s: %+v", r, o.text, fs[k])
	}
}

func TestKnown(t *testing.T) {
	for flag, want := range map[string]string{
		"--cuda-graph-max-bs":      "it existed until 0.5.19",
		"--attn-dp-size":           "it exists since 0.5.22",
		"--model-path":             "it exists since 0.4.6",
		"--cuda-graph-tc-compiler": "it existed from 0.5.14 until 0.5.21",
		"--nonsense":               "",
	} {
		require.Equal(t, want, history(Known(flag)), flag)
	}
}

func TestTable(t *testing.T) {
	fs := Table(release.MustParse("0.5.23"))
	require.Len(t, fs, 531)
	i := slices.IndexFunc(fs, func(f Flag) bool { return f.Name == "--tp-size" })
	require.Equal(t, Flag{Name: "--tp-size", Aliases: []string{"--tensor-parallel-size"}, Field: "tp_size", Type: "int", Default: int64(1)}, fs[i])
}

// TestUnknownWords: what is known only at run time is neither guessed nor
// refused.
func TestUnknownWords(t *testing.T) {
	ws := []launch.Word{{Text: "--model-path"}, {Text: "m"}, {Text: "--tp-size"}, {Text: "$TP", Unknown: true},
		{Text: "--port=$PORT", Unknown: true}, {Text: "--trust-remote-code"}, {Text: "$EXTRA", Unknown: true},
		{Text: "--cuda-graph-bs-decode"}, {Text: "1"}, {Text: "$BS", Unknown: true}}
	a, fs := Parse(release.MustParse("0.5.23"), ws, ParseOptions{})
	var codes []finding.Code
	for _, f := range fs {
		require.Equal(t, finding.Warning, f.Severity, f.Detail)
		codes = append(codes, f.Code)
	}
	require.Equal(t, []finding.Code{CodeValueUnknown, CodeValueUnknown, CodeWordsUnknown, CodeValueUnknown}, codes)
	for field, want := range map[string]any{"tp_size": int64(1), "port": int64(30000), "cuda_graph_bs_decode": nil} {
		v, ok := a.Get(field)
		require.True(t, ok)
		require.Equal(t, want, v.V, field)
		require.Equal(t, FromUnknown, v.Origin.Kind, field)
		require.False(t, a.Given(field))
	}
	_, fs = Parse(release.MustParse("0.5.23"), []launch.Word{{Text: "--model-path"}, {Text: "$MODEL", Unknown: true}}, ParseOptions{})
	require.Equal(t, finding.Warning, finding.Worst(fs))
}

// TestServe covers what `sglang serve` adds to the parser.
func TestServe(t *testing.T) {
	a, fs := Parse(release.Newest, words("org/model", "--model-type", "llm", "--tp", "8"), ParseOptions{Serve: true})
	require.Empty(t, fs)
	require.Equal(t, "org/model", a.Str("model_path"))
	require.Equal(t, int64(8), a.Int("tp_size"))
	_, fs = Parse(release.Newest, words("org/model", "--model-type=diffusion"), ParseOptions{Serve: true})
	require.Len(t, fs, 1)
	require.Equal(t, CodeOtherBackend, fs[0].Code)
	_, fs = Parse(release.Newest, words("org/model"), ParseOptions{})
	require.Equal(t, finding.Error, finding.Worst(fs))
}

// TestHints shows what a person is told.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		release string
		argv    string
		want    string
		fix     string
	}{
		{"0.5.23", "--hicach-size 48", "SGLang 0.5.23 has no --hicach-size. Nearest: --hicache-size.", "write --hicache-size"},
		{"0.5.23", "--tp_size 8", "SGLang 0.5.23 has no --tp_size. Nearest: --tp-size.", "write --tp-size"},
		{"0.5.17", "-tp 2", "SGLang 0.5.17 has no -tp. Nearest: --tp-size.", "write --tp-size"},
		{"0.5.9", "--hicache-size 48.5", `--hicache-size "48.5": not a whole number.`, "write 48"},
		{"0.5.9", "--hicache-size 1e2", `--hicache-size "1e2": not a whole number.`, "write 100"},
		{"0.5.9", "--hicache-size many", `--hicache-size "many": not a whole number.`, ""},
		{"0.5.9", "--attn-dp-size 8", "SGLang 0.5.9 has no --attn-dp-size: it exists since 0.5.22.", "remove --attn-dp-size"},
		{"0.5.23", "--cuda-graph-max-bs 64", "--cuda-graph-max-bs could be --cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill in SGLang 0.5.23. --cuda-graph-max-bs itself is no flag of this release: it existed until 0.5.19.", "write --cuda-graph-max-bs-decode"},
		{"0.5.23", "--nsa-prefill-backend fa3", "SGLang 0.5.23 has no --nsa-prefill-backend: it existed from 0.5.4 until 0.5.19.", "use --dsa-prefill-backend instead"},
		{"0.5.23", "--trust-remote-code=true", `--trust-remote-code takes no value, "true" was given.`, "write the switch alone"},
		{"0.5.23", "--kv-cache-dtype fp8_e4m2", `--kv-cache-dtype "fp8_e4m2": not one of auto, fp8_e5m2, fp8_e4m3, mxfp8, bf16, bfloat16, nvfp4, fp4_mx_block16.`, "write fp8_e5m2"},
		{"0.5.5", "--hicache-mem-layout page_head", `--hicache-mem-layout "page_head": not one of layer_first, page_first, page_first_direct. SGLang 0.5.6 to 0.5.23 accept it.`, ""},
	} {
		_, fs := Parse(release.MustParse(c.release), words(append([]string{"--model-path", "m"}, strings.Fields(c.argv)...)...), ParseOptions{})
		require.Len(t, fs, 1, c.argv)
		require.Equal(t, c.want, fs[0].Detail)
		require.Equal(t, finding.Error, fs[0].Severity)
		require.NotNil(t, fs[0].Position, c.argv)
		if c.fix != "" {
			require.NotEmpty(t, fs[0].Fixes, c.argv)
			require.Equal(t, c.fix, fs[0].Fixes[0].Title)
		}
	}
}
