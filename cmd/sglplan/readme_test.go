package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/shell"
)

// TestDocumentedCommands runs every sglplan command that the README and the
// pages of docs/ show in a ```console block and compares what it prints with
// what stands below it. UPDATE_DOCS=1 writes the blocks anew.
func TestDocumentedCommands(t *testing.T) {
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("NO_COLOR", "1")
	t.Chdir(filepath.Join("..", ".."))
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	commands := 0
	for _, name := range append([]string{"README.md"}, files...) {
		old, err := os.ReadFile(name)
		require.NoError(t, err)
		now, n := rerun(t, string(old))
		commands += n
		if os.Getenv("UPDATE_DOCS") != "" && now != string(old) {
			require.NoError(t, os.WriteFile(name, []byte(now), 0o644))
			continue
		}
		require.Empty(t, cmp.Diff(string(old), now), name)
	}
	require.GreaterOrEqual(t, commands, 5, "the README shows the command at work")
}

// rerun returns the text with the output of every command in it made anew, and
// how many commands there were.
func rerun(t *testing.T, text string) (string, int) {
	var out strings.Builder
	commands, console := 0, false
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line)
		if strings.HasPrefix(line, "```") {
			console = strings.TrimSpace(line) == "```console"
			continue
		}
		if !console || !strings.HasPrefix(line, "$ ") {
			continue
		}
		cmd := strings.TrimPrefix(line, "$ ")
		for strings.HasSuffix(cmd, "\\\n") && i+1 < len(lines) {
			i++
			out.WriteString(lines[i])
			cmd = strings.TrimSuffix(cmd, "\\\n") + lines[i]
		}
		printed, ours := execute(t, cmd)
		if !ours {
			continue
		}
		commands++
		out.WriteString(printed)
		for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") && !strings.HasPrefix(lines[i+1], "```") {
			i++ // the output of the last time
		}
	}
	return out.String(), commands
}

// execute runs a documented command in this process; ours is false for
// commands of others.
func execute(t *testing.T, line string) (out string, ours bool) {
	words, err := shell.Fields(line, nil)
	require.NoError(t, err, line)
	switch {
	case len(words) > 0 && words[0] == "sglplan":
		words = words[1:]
	case len(words) > 3 && strings.Join(words[:3], " ") == "go run ./cmd/sglplan":
		words = words[3:]
	default:
		return "", false
	}
	var stdout, stderr bytes.Buffer
	run(words, strings.NewReader(""), &stdout, &stderr)
	require.Empty(t, stderr.String(), line)
	return stdout.String(), true
}
