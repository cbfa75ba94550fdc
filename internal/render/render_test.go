package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

// plans reads what `sglplan check -o json` printed: one plan, or several.
func plans(t *testing.T, name string) []*planner.Plan {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "plans", name+".json"))
	require.NoError(t, err)
	var several struct {
		Launches []*planner.Plan `json:"launches"`
	}
	require.NoError(t, json.Unmarshal(b, &several))
	if len(several.Launches) > 0 {
		return several.Launches
	}
	var p planner.Plan
	require.NoError(t, json.Unmarshal(b, &p))
	return []*planner.Plan{&p}
}

var planNames = []string{"founding", "winner", "recommend", "ok", "undecided", "refused", "sweep", "two"}

// golden compares with testdata/golden; UPDATE_GOLDEN=1 writes it anew.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "%s (UPDATE_GOLDEN=1 writes it anew)", name)
}

func textOfPlans(t *testing.T, ps []*planner.Plan, o Options) string {
	t.Helper()
	var b bytes.Buffer
	for _, p := range ps {
		show := Text
		if len(p.Sweep) > 0 {
			show = Sweep
		}
		require.NoError(t, show(&b, p, o))
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for _, name := range planNames {
		golden(t, name+".txt", []byte(textOfPlans(t, plans(t, name), Options{Width: 80})))
	}
	for name, o := range map[string]Options{
		"founding-narrow.txt": {Width: 40}, "founding-wide.txt": {Width: 140}, "founding-ascii.txt": {Width: 80, ASCII: true}, "founding-color.txt": {Width: 80, Color: true},
	} {
		golden(t, name, []byte(textOfPlans(t, plans(t, "founding"), o)))
	}
}

func TestFormatsGolden(t *testing.T) {
	for _, name := range []string{"founding", "undecided", "two", "sweep"} {
		ps := plans(t, name)
		for ext, write := range map[string]func(io.Writer, []*planner.Plan) error{"html": HTML, "xml": JUnit, "github": GitHub} {
			var b bytes.Buffer
			require.NoError(t, write(&b, ps))
			golden(t, name+"."+ext, b.Bytes())
		}
	}
}

// TestFoundingFitsAScreen: verdict, reason, bars, mend and command come in 25
// lines, the details after.
func TestFoundingFitsAScreen(t *testing.T) {
	before, _, ok := strings.Cut(textOfPlans(t, plans(t, "founding"), Options{Width: 80}), "\nweights ")
	require.True(t, ok)
	require.Contains(t, before, "--hicache-size 48\n")
	require.LessOrEqual(t, strings.Count(before, "\n"), 25)
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestLinesFit: at any width and in any style no line is wider than the
// terminal unless it is a single word, and colours change no character.
func TestLinesFit(t *testing.T) {
	for _, name := range planNames {
		for width := 40; width <= 160; width += 7 {
			plain := textOfPlans(t, plans(t, name), Options{Width: width})
			for line := range strings.Lines(plain) {
				line = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), ` \`), " ")
				if len(strings.Fields(line)) > 1 {
					require.LessOrEqual(t, columnsOf(line), width, "%s at %d: %q", name, width, line)
				}
			}
			painted := textOfPlans(t, plans(t, name), Options{Width: width, Color: true})
			require.Empty(t, cmp.Diff(plain, escapes.ReplaceAllString(painted, "")), "%s at %d", name, width)
		}
		for _, r := range textOfPlans(t, plans(t, name), Options{Width: 80, ASCII: true}) {
			require.Less(t, r, rune(unicode.MaxASCII), "%s: %q", name, r)
		}
	}
}

// hostile fills every text of a plan that comes from outside with characters
// that act on terminals and CI systems.
func hostile(p *planner.Plan) *planner.Plan {
	const bad = "a\x1b[31mb\x1b]0;t\x07\u009b2J\u202ec\r\n::error::d\x00\t</script><b>&'\""
	p.Launch.ModelPath, p.Launch.SGLangVersion = bad, bad
	p.Source = &planner.Source{File: bad, Line: 3, Container: bad}
	if p.GPU != nil {
		p.GPU.Name = bad
	}
	if p.Recommend != nil {
		p.Recommend.Argv = append(p.Recommend.Argv, strings.ReplaceAll(bad, "\x00", ""), "--flag", bad)
		for i := range p.Recommend.Changed {
			p.Recommend.Changed[i].Value = bad
		}
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		f.Detail, f.Flag, f.Summary = f.Detail+bad, bad, bad
		f.Position = &finding.Position{File: bad, Line: 2, Container: bad}
		f.Fixes = append(f.Fixes, finding.Fix{Title: bad, Edits: []finding.Edit{{Flag: bad, Value: bad}}})
	}
	return p
}

// TestHostileWords: nothing from outside acts on a terminal, on GitHub's
// workflow commands, on XML or on a page.
func TestHostileWords(t *testing.T) {
	for _, name := range planNames {
		var ps []*planner.Plan
		for _, p := range plans(t, name) {
			ps = append(ps, hostile(p))
		}
		for _, r := range textOfPlans(t, ps, Options{Width: 80}) {
			require.False(t, unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r), "%s: %q", name, r)
		}
		var b bytes.Buffer
		require.NoError(t, GitHub(&b, ps))
		for line := range strings.Lines(b.String()) {
			require.Regexp(t, `^(::(error|warning|notice) [^\r]*\n|[A-Z]+: [^\r]*\n)$`, line)
			require.NotContains(t, line[2:], "\n::")
		}
		b.Reset()
		require.NoError(t, JUnit(&b, ps))
		require.NoError(t, xml.Unmarshal(b.Bytes(), new(junitSuites)))
		b.Reset()
		require.NoError(t, HTML(&b, ps))
		require.NotContains(t, b.String(), "</script>")
		require.NotContains(t, b.String(), "<b>")
	}
}

// TestHTMLStandsAlone: no script, nothing from the network.
func TestHTMLStandsAlone(t *testing.T) {
	for _, name := range planNames {
		var b bytes.Buffer
		require.NoError(t, HTML(&b, plans(t, name)))
		for _, word := range []string{"<script", "http:", "https:", "url(", "@import", "<link", "<img", "javascript:"} {
			require.NotContains(t, b.String(), word, name)
		}
		require.Contains(t, b.String(), "prefers-color-scheme: dark")
	}
}

func TestUpgrade(t *testing.T) {
	u := &planner.UpgradePlan{
		From: plans(t, "ok")[0], To: plans(t, "founding")[0], Argv: []string{"sglang", "serve", "--x", "1"}, Rewritten: true,
		Changes: []planner.Change{{Field: "page_size", From: 1, To: nil}, {Field: "cuda_graph_bs", From: []int{1}, To: strings.Repeat("9", 60)}},
	}
	var b bytes.Buffer
	require.NoError(t, Upgrade(&b, u, Options{Width: 80}))
	golden(t, "upgrade.txt", b.Bytes())
}

// TestCommandSurvivesTheShell: what is printed is the argument vector again
// once a shell has read it.
func TestCommandSurvivesTheShell(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab -='\"\\$`{}*?\n\t\x1b\u202eé[]()<>|&;#!~%")
	for range 200 {
		argv := []string{"python3"}
		for range r.IntN(8) {
			var w []rune
			for range 1 + r.IntN(12) {
				w = append(w, letters[r.IntN(len(letters))])
			}
			argv = append(argv, string(w))
		}
		got := Command(argv, "  ", 60)
		require.Equal(t, argv, words(t, got), got)
	}
}

// words reads a printed command as a shell does.
func words(t *testing.T, command string) []string {
	t.Helper()
	p := syntax.NewParser()
	f, err := p.Parse(strings.NewReader(command), "")
	require.NoError(t, err, command)
	require.Len(t, f.Stmts, 1)
	call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	require.True(t, ok)
	out, err := expand.Fields(&expand.Config{}, call.Args...)
	require.NoError(t, err)
	return out
}
