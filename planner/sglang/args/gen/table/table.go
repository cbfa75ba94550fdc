// Package table is the maintained table of SGLang's launch flags by release:
// reading and writing flags.json, merging a release's own dump, generating the
// Go data of package args.
package table

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// A Table is the content of flags.json.
type Table struct {
	// Versions that have a table of their own, oldest first.
	Versions []string `json:"versions"`
	// SameAs names releases that share the table of another.
	SameAs map[string]string `json:"same_as"`
	Flags  []*Flag           `json:"flags"`
}

// A Flag is one option with the runs of releases that have it. Field and
// Aliases hold for every span that does not carry its own.
type Flag struct {
	Name    string   `json:"name"`
	Field   string   `json:"dest"`
	Aliases []string `json:"aliases"`
	Spans   []*Span  `json:"spans"`
}

// A Span is a flag as it stands from one release to another, both included.
type Span struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Field   string    `json:"dest,omitempty"`
	Aliases *[]string `json:"aliases,omitempty"`
	Shape
}

// Shape is what a release's parser says about one flag.
type Shape struct {
	Kind        string   `json:"kind"`           // string int float bool choice list json help
	Elem        string   `json:"elem,omitempty"` // element type of choice and list
	NArgs       string   `json:"nargs,omitempty"`
	Parser      string   `json:"parser,omitempty"` // human_int nullable json json_list cuda_graph_config lora_path lora_path_map
	Format      string   `json:"format,omitempty"` // json: a plain string that is later read as JSON
	Action      string   `json:"action,omitempty"` // plain: a deprecated flag that argparse itself stores
	Default     any      `json:"default"`
	NoDefault   bool     `json:"nodefault,omitempty"` // another flag gives the field its default
	Const       any      `json:"const,omitempty"`
	Choices     []any    `json:"choices,omitempty"`
	Neg         []string `json:"neg,omitempty"` // --no- forms
	Required    bool     `json:"required,omitempty"`
	Deprecated  bool     `json:"deprecated,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
	Use         string   `json:"use,omitempty"` // works ignored error
}

// Read reads flags.json.
func Read(path string) (*Table, error) {
	t := new(Table)
	if err := readJSON(path, t); err != nil {
		return nil, err
	}
	if len(t.Versions) == 0 || len(t.Versions) > 255 {
		return nil, errors.New("flags table: between 1 and 255 versions expected")
	}
	for _, f := range t.Flags {
		for _, s := range f.Spans {
			if t.index(s.From) < 0 || t.index(s.To) < t.index(s.From) {
				return nil, fmt.Errorf("flags table: %s: bad span %s to %s", f.Name, s.From, s.To)
			}
		}
	}
	return t, nil
}

// readJSON keeps numbers as they are written: 1 is an integer, 1.0 is not.
// A name ending in .gz is decompressed.
func readJSON(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write writes flags.json, one flag a line so that a new release reads well as
// a difference.
func (t *Table) Write(path string) error {
	var b bytes.Buffer
	line := func(key string, v any) error {
		j, err := marshal(v)
		fmt.Fprintf(&b, "%q: %s,\n", key, j)
		return err
	}
	b.WriteString("{\n")
	if err := errors.Join(line("versions", t.Versions), line("same_as", t.SameAs)); err != nil {
		return err
	}
	b.WriteString("\"flags\": [\n")
	for i, f := range t.Flags {
		j, err := marshal(f)
		if err != nil {
			return err
		}
		b.Write(j)
		if i < len(t.Flags)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n}\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (t *Table) index(version string) int { return slices.Index(t.Versions, version) }

// at returns the span of f in a version, nil when it has none.
func (t *Table) at(f *Flag, version string) *Span {
	i := t.index(version)
	for _, s := range f.Spans {
		if t.index(s.From) <= i && i <= t.index(s.To) {
			return s
		}
	}
	return nil
}

func (f *Flag) field(s *Span) string {
	if s.Field != "" {
		return s.Field
	}
	return f.Field
}

func (f *Flag) aliases(s *Span) []string {
	if s.Aliases != nil {
		return *s.Aliases
	}
	return f.Aliases
}

// sameNames compares spellings without regard to their order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sameShape(a, b Shape) bool { return reflect.DeepEqual(a, b) }
