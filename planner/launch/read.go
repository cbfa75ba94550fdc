package launch

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// Bounds on what is read: of a file, and of one YAML document or script. The
// API server of Kubernetes takes objects up to 1.5 MiB.
const (
	maxFile     = 64 << 20
	maxDocument = 2 << 20
	maxScript   = 128 << 10 // also what keeps the parser's descent bounded
)

// A ReadError reports a file that cannot be read as any kind of launch.
type ReadError struct {
	File string
	Why  string
	Err  error
}

func (e *ReadError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Why) }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// kind is what a file is.
type kind int

const (
	kindScript kind = iota
	kindYAML
	kindUnit
	kindLog
)

// Read reads the launches of a file: a Compose file, Kubernetes manifests, a
// systemd unit, a batch job, a shell script or a server's own log. What it is
// follows from its content; name is what findings call it. A part that cannot
// be read becomes a finding and the rest is read all the same; the error, a
// *ReadError, is for input that gives nothing at all.
func Read(name string, in io.Reader) (File, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return File{}, &ReadError{name, err.Error(), err}
	}
	r := &reader{}
	if len(b) > maxFile {
		b = b[:maxFile]
		r.findings = append(r.findings, tooLarge(name, 0, fmt.Sprintf("Only the first %v were read.", units.Bytes(maxFile))))
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return File{}, &ReadError{name, "binary data, not a script, a manifest or a unit", nil}
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(b), "\uFEFF"), "\r\n", "\n")
	text = clean(text)
	switch kindOf(text) {
	case kindYAML:
		r.yaml(name, text)
	case kindUnit:
		r.unit(name, text)
	case kindLog:
		err = r.log(name, text)
	default:
		r.shellFile(name, text)
	}
	return r.file(), err
}

func tooLarge(file string, line int, detail string) finding.Finding {
	f := finding.New(CodeTooLarge, finding.Warning, "", detail)
	f.Position = &finding.Position{File: file, Line: line}
	return f
}

var (
	unitSection  = regexp.MustCompile(`(?m)^\[(Unit|Service|Container|Install|Slice)\]\s*$`)
	yamlMapping  = regexp.MustCompile(`(?m)^(?:- )?(?:"?(?:apiVersion|kind|services|version|name|metadata|x-[\w-]+|include|extends)"?)\s*:(?:\s|$)`)
	yamlDocument = regexp.MustCompile(`(?m)^---(?:\s|$)`)
	argumentLine = regexp.MustCompile(`server_args=(?:ServerArgs\(|\{)`)
)

// kindOf tells the kinds of file apart by what stands in them.
func kindOf(text string) kind {
	text = text[:min(len(text), 1<<20)] // what a file is shows early
	head := strings.TrimLeft(text, " \t\n")
	switch {
	case strings.HasPrefix(head, "#!"):
		return kindScript
	case unitSection.MatchString(text):
		return kindUnit
	case strings.HasPrefix(head, "{") && strings.Contains(text, `"kind"`), strings.HasPrefix(head, "{") && strings.Contains(text, `"services"`):
		return kindYAML
	case yamlMapping.MatchString(text), yamlDocument.MatchString(text) && !argumentLine.MatchString(text):
		return kindYAML
	case argumentLine.MatchString(text):
		return kindLog
	}
	return kindScript
}

// shellFile reads a shell script; a batch job is one with a head.
func (r *reader) shellFile(name, text string) {
	if len(text) > maxScript {
		text = text[:maxScript]
		r.findings = append(r.findings, tooLarge(name, 0, fmt.Sprintf("Of a script the first %v are read.", units.Bytes(maxScript))))
	}
	w := place{pos: finding.Position{File: name}, strict: true}
	r.batchHead(name, text, &w)
	sh := r.script(text, w, nil, func(p syntax.Pos) finding.Position {
		return finding.Position{File: name, Line: int(p.Line()), Column: int(p.Col())}
	}, 0)
	sh.run()
}
