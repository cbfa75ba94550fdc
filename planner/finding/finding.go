// Package finding is what the planner says about a launch, as data: renderers
// turn it into text, JSON or annotations. A finding has a stable code, and each
// code is defined once, next to the rule that raises it, with the text that
// `sglplan explain` prints.
package finding

import (
	"fmt"
	"slices"
	"sort"
)

// Severity of a finding. The zero value is invalid, so a finding that forgot
// its severity cannot pass for harmless.
type Severity int

// The severities: an error rejects the launch, a warning is printed, an info
// tells what was assumed.
const (
	_ Severity = iota
	Info
	Warning
	Error
)

// String returns the name used in JSON: info, warning or error.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", int(s))
}

// MarshalText writes the JSON name; an invalid severity is an error.
func (s Severity) MarshalText() ([]byte, error) {
	if s < Info || s > Error {
		return nil, fmt.Errorf("finding: invalid severity %d", int(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads the JSON name.
func (s *Severity) UnmarshalText(b []byte) error {
	for _, v := range []Severity{Info, Warning, Error} {
		if v.String() == string(b) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("finding: unknown severity %q", b)
}

// Code names a kind of finding for ever, for example
// "host-pool-exceeds-memory".
type Code string

// Position is where in the input a finding points. Word is the index of the
// word in the launch command (counted from 1), File, Line and Column the place
// in a script or manifest; zero means not known.
type Position struct {
	Word      int    `json:"word,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Container string `json:"container,omitempty"`
}

// Edit is one change to the command: Flag set to Value, or removed.
type Edit struct {
	Flag   string `json:"flag"`
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// Fix is one way out: a verb phrase and the flag edits that do it.
type Fix struct {
	Title string `json:"title"`
	Edits []Edit `json:"edits,omitempty"`
}

// Finding is one thing said about a launch.
type Finding struct {
	Code     Code             `json:"code"`
	Severity Severity         `json:"severity"`
	Flag     string           `json:"flag,omitempty"`
	Position *Position        `json:"position,omitempty"`
	Summary  string           `json:"summary"`
	Detail   string           `json:"detail,omitempty"`
	Figures  map[string]int64 `json:"figures,omitempty"`
	Fixes    []Fix            `json:"fixes,omitempty"`
	// Ignored is set on an error that the user asked to be printed as a
	// warning with --ignore; its Severity is then Warning.
	Ignored bool `json:"ignored,omitempty"`
}

// Doc explains a code: what it means and what to do about it.
type Doc struct {
	Code    Code
	Summary string // one line, no figures; also the summary of the findings
	Meaning string // the rule behind it, with the SGLang release or document it comes from
	Do      string // what to type or to look at
}

var docs = map[Code]Doc{}

// Define registers the explanation of a code and returns the code. It is
// called from package variables only and panics on a duplicate.
func Define(code Code, summary, meaning, do string) Code {
	if _, dup := docs[code]; dup {
		panic("finding: code defined twice: " + string(code))
	}
	docs[code] = Doc{code, summary, meaning, do}
	return code
}

// New starts a finding of a defined code; its summary is that of the code.
func New(code Code, sev Severity, flag, detail string) Finding {
	return Finding{Code: code, Severity: sev, Flag: flag, Summary: docs[code].Summary, Detail: detail}
}

// With returns the finding with one more fix.
func (f Finding) With(title string, edits ...Edit) Finding {
	f.Fixes = append(slices.Clone(f.Fixes), Fix{title, edits})
	return f
}

// Explain returns the explanation of a code.
func Explain(code Code) (Doc, bool) {
	d, ok := docs[code]
	return d, ok
}

// Docs returns every defined code, sorted.
func Docs() []Doc {
	all := make([]Doc, 0, len(docs))
	for _, d := range docs {
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Code < all[j].Code })
	return all
}

// Worst returns the highest severity among fs, 0 when there are none.
func Worst(fs []Finding) Severity {
	var w Severity
	for _, f := range fs {
		w = max(w, f.Severity)
	}
	return w
}
