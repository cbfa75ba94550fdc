package planner

import (
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// field returns the argument that a flag sets, as SGLang names it.
func field(flag string) string { return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_") }

// edited returns the command with the edits made: a flag that the command
// gives keeps its place and spelling and gets the new value, one that it does
// not give is added at the end, a removed one goes with its value.
func edited(cmd *launch.Command, given *args.Args, edits []finding.Edit) *launch.Command {
	c := *cmd
	c.Flags = slices.Clone(cmd.Flags)
	for _, e := range edits {
		c.Flags = apply(c.Flags, given, e)
	}
	return &c
}

func apply(words []launch.Word, given *args.Args, e finding.Edit) []launch.Word {
	at := -1
	if v, ok := given.Get(field(e.Flag)); ok && given.Given(field(e.Flag)) {
		at = slices.IndexFunc(words, func(w launch.Word) bool {
			return w.Pos == v.Origin.Pos && strings.HasPrefix(w.Text, "-")
		})
	}
	if at < 0 {
		at = slices.IndexFunc(words, func(w launch.Word) bool {
			name, _, _ := strings.Cut(w.Text, "=")
			return name == e.Flag
		})
	}
	if at < 0 {
		return add(words, e)
	}
	name, _, joined := strings.Cut(words[at].Text, "=")
	end := at + 1
	for !joined && end < len(words) && !isFlag(words[end].Text) {
		end++
	}
	var repl []launch.Word
	switch {
	case e.Remove:
	case joined:
		repl = []launch.Word{{Text: name + "=" + e.Value}}
	default:
		repl = add(nil, finding.Edit{Flag: name, Value: e.Value})
	}
	return slices.Replace(words, at, end, repl...)
}

func add(words []launch.Word, e finding.Edit) []launch.Word {
	if e.Remove {
		return words
	}
	words = append(words, launch.Word{Text: e.Flag})
	if e.Value == "" {
		return words
	}
	return append(words, valueWords(e.Value)...)
}

// valueWords splits the value of a list flag into its words.
func valueWords(v string) []launch.Word {
	var ws []launch.Word
	for _, f := range strings.Fields(v) {
		ws = append(ws, launch.Word{Text: f})
	}
	return ws
}

// isFlag tells a flag from a value; a negative number is a value.
func isFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && (s[1] < '0' || s[1] > '9') && s[1] != '.'
}
