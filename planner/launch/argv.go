package launch

import (
	"path"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

// A NotLaunchError reports words in which no SGLang launch can be recognised.
type NotLaunchError struct{ Words []string }

func (e *NotLaunchError) Error() string {
	shown := strings.Join(e.Words[:min(len(e.Words), 6)], " ")
	if shown == "" {
		return "no launch command given (put it after --, for example: -- python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B)"
	}
	return "no SGLang launch in: " + shown + " (expected python3 -m sglang.launch_server ..., sglang serve ..., a docker run line, or the flags alone)"
}

// Words gives plain words their places in the command, counted from 1.
func Words(argv []string) []Word {
	ws := make([]Word, len(argv))
	for i, a := range argv {
		ws[i] = Word{Text: a, Pos: finding.Position{Word: i + 1}}
	}
	return ws
}

// FromArgv recognises one launch in an argument vector: the server's module
// under an interpreter and any wrappers, `sglang serve`, or bare flags.
func FromArgv(argv []string) (*Command, error) { return FromWords(Words(argv)) }

// FromWords is FromArgv for words that already have their places.
func FromWords(ws []Word) (*Command, error) {
	if len(ws) == 0 {
		return nil, &NotLaunchError{}
	}
	c := &Command{Env: map[string]string{}}
	if strings.HasPrefix(ws[0].Text, "-") && ws[0].Text != "-" {
		c.Flags = slices.Clone(ws)
		return c, nil
	}
	end := entry(ws)
	if end < 0 {
		return nil, &NotLaunchError{texts(ws)}
	}
	c.Prefix, c.Flags = slices.Clone(ws[:end]), slices.Clone(ws[end:])
	c.readPrefix()
	return c, nil
}

// entry returns the index of the word after the one that starts the server, or
// -1.
func entry(ws []Word) int {
	for i, w := range ws {
		prev := ""
		if i > 0 {
			prev = ws[i-1].Text
		}
		switch {
		case prev == "-m" && (w.Text == "sglang.launch_server" || w.Text == "sglang.srt.entrypoints.http_server"):
			return i + 1
		case strings.HasSuffix(w.Text, "sglang/launch_server.py"), path.Base(w.Text) == "launch_server.py":
			return i + 1
		case w.Text == "serve" && (path.Base(prev) == "sglang" || prev == "sglang.cli.main"):
			return i + 1
		}
	}
	return -1
}

// Serve reports a launch by `sglang serve`, which takes the model as its first
// bare word.
func (c *Command) Serve() bool {
	return len(c.Prefix) > 0 && c.Prefix[len(c.Prefix)-1].Text == "serve"
}

// readPrefix takes VAR=value assignments and the interpreter from the words
// before the flags.
func (c *Command) readPrefix() {
	for i, w := range c.Prefix {
		name, value, ok := strings.Cut(w.Text, "=")
		if ok && isName(name) {
			c.Env[name] = value
		}
		if i+1 < len(c.Prefix) && c.Prefix[i+1].Text == "-m" && strings.HasPrefix(path.Base(w.Text), "python") {
			c.Python = w.Text
		}
	}
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func texts(ws []Word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Text
	}
	return out
}
