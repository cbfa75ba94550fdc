package launch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/finding"
)

const podText = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: s, image: 'lmsysorg/sglang:v0.5.18', command: [python3, -m, sglang.launch_server, --model-path, m]}]}\n"

func codesOf(f File) []finding.Code {
	var out []finding.Code
	for _, g := range f.Findings {
		out = append(out, g.Code)
	}
	return out
}

// TestLargeManifest: a document that is too large is said, and the launches
// before and after it are read.
func TestLargeManifest(t *testing.T) {
	big := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: sglang-data}\ndata:\n" +
		strings.Repeat("  key: "+strings.Repeat("x", 1000)+"\n", 50_000)
	f, err := Read("big.yaml", strings.NewReader(podText+big+"---\n"+podText))
	require.NoError(t, err)
	require.Len(t, f.Commands, 2)
	require.Equal(t, []finding.Code{CodeTooLarge}, codesOf(f))
	require.Equal(t, 5, f.Findings[0].Position.Line)
	require.Equal(t, 50_014, f.Commands[1].Source.Line, "lines are those of the file")
}

// TestFileBound: of more than the bound, what stands before it is read.
func TestFileBound(t *testing.T) {
	f, err := Read("endless.yaml", endless{strings.NewReader(podText + "---\n")})
	require.NoError(t, err)
	require.Len(t, f.Commands, 1)
	require.Contains(t, codesOf(f), CodeTooLarge)
}

// endless goes on with comments for ever.
type endless struct{ first *strings.Reader }

func (e endless) Read(p []byte) (int, error) {
	if e.first.Len() > 0 {
		return e.first.Read(p)
	}
	for i := range p {
		p[i] = '#'
		if i%80 == 79 {
			p[i] = '\n'
		}
	}
	return len(p), nil
}

// TestScriptsThatGrow: nothing that a script can write makes the reader take
// more than a moment or a few megabytes.
func TestScriptsThatGrow(t *testing.T) {
	const launch = "\npython3 -m sglang.launch_server --model-path m $A\n"
	for name, script := range map[string]string{
		"doubling":        "A=xxxxxxxx\n" + strings.Repeat("A=$A$A\n", 60) + launch,
		"lists":           "A=(a a a a)\n" + strings.Repeat("A=(\"${A[@]}\" \"${A[@]}\")\n", 40) + launch,
		"loops":           strings.Repeat("for i in {1..60}; do\n", 8) + "B=1\n" + strings.Repeat("done\n", 8) + launch,
		"launches":        strings.Repeat("for i in {1..60}; do\n", 4) + launch + strings.Repeat("done\n", 4),
		"braces":          "A=" + strings.Repeat("{a,b}", 40) + "; echo " + strings.Repeat("{a,b}", 40) + launch,
		"counting":        "echo {1..2000000000}" + launch,
		"recursion":       "f() { f; f; }\nf" + launch,
		"eval":            "A='eval $A'\neval $A" + launch,
		"shells":          strings.Repeat("bash -c '", 1) + strings.Repeat("x", 10) + "'" + launch,
		"replacing":       "A=" + strings.Repeat("x", 60_000) + "\nA=${A//x/$A}\n" + launch,
		"deep conditions": strings.Repeat("if [ $Q ]; then\n", 300) + "A=1" + launch + strings.Repeat("fi\n", 300),
	} {
		f, err := Read("s.sh", strings.NewReader("#!/bin/bash\n"+script))
		require.NoError(t, err, name)
		require.True(t, len(f.Commands) > 0 || slices.Contains(codesOf(f), CodeTooLarge), name)
		require.LessOrEqual(t, len(f.Commands), maxLaunches, name)
	}
}

// TestDeepNesting: the parsers must not run out of stack, which would end the
// program that imports this.
func TestDeepNesting(t *testing.T) {
	for _, s := range []string{
		"$(", "(", "{ ", "if ", "! ", "\"$(", "$((", "case x in y) ", "${a:-", "while ", "[[ ( ", "f() ", "a && ", "a | ", "`", "<(", "a=(", "$[", "{a,", "for i in ",
		"time ", "coproc ", "else ", "function f ", "\"${a:-", "&", "<<E\n", "((a=", "((-", "((1?",
		"((" + strings.Repeat("-", 60_000) + "1))\n", "((" + strings.Repeat("a=", 30_000) + "1))\n", "((" + strings.Repeat("1?1:", 15_000) + "1))\n",
	} {
		_, err := Read("x.sh", strings.NewReader("#!/bin/sh\n"+strings.Repeat(s, (maxScript-20)/len(s))))
		require.NoError(t, err)
		_, err = Read("x.yaml", strings.NewReader("services: {a: {image: sglang, command: [sh, -c, '"+strings.Repeat(s, 100_000/len(s))+"']}}"))
		require.NoError(t, err)
	}
	for _, s := range []string{"[", "{a: ", "- ", "? "} {
		_, err := Read("x.yaml", strings.NewReader("services: sglang\nx:\n "+strings.Repeat(s, 500_000/len(s))))
		require.NoError(t, err)
	}
	_, err := FromServerArgs("server_args=ServerArgs(a=" + strings.Repeat("[{'a':(", 100_000))
	require.NoError(t, err)
}

// TestAliasesThatGrow: aliases are followed one at a time.
func TestAliasesThatGrow(t *testing.T) {
	var b strings.Builder
	b.WriteString("x0: &x0 [sglang]\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [*x%d, *x%d]\n", i, i, i-1, i-1)
	}
	b.WriteString("services:\n  a:\n    image: lmsysorg/sglang:v0.5.18\n    command: *x39\n    environment: *x39\n")
	f, err := Read("compose.yaml", strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Empty(t, f.Commands)
}

// TestNotText: binary input is refused.
func TestNotText(t *testing.T) {
	_, err := Read("a.out", strings.NewReader("\x7fELF\x00\x00"))
	var re *ReadError
	require.ErrorAs(t, err, &re)
}
