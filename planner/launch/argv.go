package launch

import (
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
	return "no SGLang launch in: " + clip(shown) + " (expected python3 -m sglang.launch_server ..., sglang serve ..., a docker run line, or the flags alone)"
}

// FromArgv recognises one launch in an argument vector: the server's module
// under an interpreter and any wrappers, `sglang serve`, a container's command
// line, or bare flags. The error is a *NotLaunchError.
func FromArgv(argv []string) (*Command, error) { return FromWords(Words(argv)) }

// FromWords is FromArgv for words that already have their places.
func FromWords(ws []Word) (*Command, error) {
	f, err := Lines(ws)
	if err != nil {
		return nil, err
	}
	c := f.Commands[0]
	if len(f.Commands) > 1 {
		c.Findings = append(c.Findings, finding.New(CodeSeveral, finding.Warning, "", "The command starts several servers; only the first was judged."))
	}
	return c, nil
}

// Lines recognises every launch in a command: a shell text in it can start
// several servers.
func Lines(ws []Word) (File, error) {
	if len(ws) == 0 {
		return File{}, &NotLaunchError{}
	}
	if strings.HasPrefix(ws[0].Text, "-") && ws[0].Text != "-" {
		return File{Commands: []*Command{{Flags: slices.Clone(ws), Env: map[string]string{}}}}, nil
	}
	var r reader
	ws = slices.Clone(ws)
	for i := range ws {
		ws[i].Text = clean(ws[i].Text)
	}
	r.recognise(ws, place{})
	if len(r.commands) == 0 {
		return File{}, &NotLaunchError{texts(ws)}
	}
	return r.file(), nil
}

// file is what was collected.
func (r *reader) file() File { return File{Commands: r.commands, Findings: r.findings} }

// Serve reports a launch by `sglang serve`, which takes the model as its first
// bare word.
func (c *Command) Serve() bool {
	return len(c.Prefix) > 0 && c.Prefix[len(c.Prefix)-1].Text == "serve"
}

// clip shortens text from outside for a message.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
