package launch

import (
	"strings"

	"github.com/sglplan/sglplan/internal/pyrepr"
	"github.com/sglplan/sglplan/planner/finding"
)

// log reads every arguments line of a log: a file can hold several starts, of
// which the last is the launch that is meant.
func (r *reader) log(name, text string) error {
	line, found := 0, (*Command)(nil)
	for l := range strings.Lines(text) {
		line++
		if c, err := FromServerArgs(l); err == nil {
			c.Source = finding.Position{File: name, Line: line}
			found = c
		}
	}
	if found == nil {
		return &ReadError{name, "no arguments can be read from its server_args line", nil}
	}
	r.commands = append(r.commands, found)
	return nil
}

// FromServerArgs reads the line in which a server logs its arguments,
// server_args=ServerArgs(...) to 0.5.18 and server_args={...} since. The
// fields keep SGLang's names; which of them are flags depends on the release.
func FromServerArgs(line string) (*Command, error) {
	i := argumentLine.FindStringIndex(line)
	if i == nil || len(line) > maxDocument {
		return nil, &NotLaunchError{strings.Fields(clip(line))}
	}
	fields := pyrepr.Fields([]byte(line[i[0]+len("server_args="):]))
	if len(fields) == 0 {
		return nil, &NotLaunchError{strings.Fields(clip(line))}
	}
	return &Command{Logged: fields, Env: map[string]string{}}, nil
}
