package table

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// A Dump is what dump_flags.py read from one release's own argument parser.
type Dump struct {
	Version string     `json:"version"`
	Flags   []DumpFlag `json:"flags"`
}

// A DumpFlag is one option of that parser.
type DumpFlag struct {
	Name    string   `json:"name"`
	Field   string   `json:"dest"`
	Aliases []string `json:"aliases"`
	Shape
}

// ReadDump reads the output of dump_flags.py.
func ReadDump(path string) (*Dump, error) {
	d := new(Dump)
	if err := readJSON(path, d); err != nil {
		return nil, err
	}
	if d.Version == "" || len(d.Flags) < 100 {
		return nil, fmt.Errorf("%s: not a dump of SGLang's arguments (%d flags)", path, len(d.Flags))
	}
	return d, nil
}

// adopt gives the dump's flags the names they have in the table, where the
// parser lists another spelling first (--tensor-parallel-size before 0.5.14).
func (t *Table) adopt(d *Dump) map[string]*Flag {
	byName := map[string]*Flag{}
	for _, f := range t.Flags {
		byName[f.Name] = f
	}
	for i := range d.Flags {
		df := &d.Flags[i]
		for _, a := range df.Aliases {
			if byName[df.Name] == nil && byName[a] != nil {
				df.Aliases = append(slices.DeleteFunc(df.Aliases, func(s string) bool { return s == a }), df.Name)
				df.Name = a
				break
			}
		}
		slices.Sort(df.Aliases)
	}
	return byName
}

// curated carries over what a parser object does not tell: which plain strings
// are read as JSON later, and what a retired flag is replaced by where the
// parser has it in prose only.
func curated(shape Shape, old *Span) Shape {
	if old == nil {
		return shape
	}
	shape.Format = old.Format
	if shape.Deprecated == old.Deprecated && shape.Replacement == "" {
		shape.Replacement = old.Replacement
	}
	return shape
}

// Merge appends the dump's release to the table: spans that still hold are
// extended, changed ones are started anew, flags that are gone end where they
// ended.
func (t *Table) Merge(d *Dump) error {
	if t.index(d.Version) >= 0 || t.SameAs[d.Version] != "" {
		return fmt.Errorf("flags table: %s is there already; -check compares it", d.Version)
	}
	if len(t.Versions) == 255 {
		return errors.New("flags table: full")
	}
	last := t.Versions[len(t.Versions)-1]
	t.Versions = append(t.Versions, d.Version)
	byName := t.adopt(d)
	for i := range d.Flags {
		df := &d.Flags[i]
		f := byName[df.Name]
		if f == nil {
			f = &Flag{Name: df.Name, Field: df.Field, Aliases: df.Aliases}
			t.Flags = append(t.Flags, f)
		}
		t.extend(f, df, last, d.Version)
	}
	return nil
}

func (t *Table) extend(f *Flag, df *DumpFlag, last, version string) {
	old := t.at(f, last)
	shape := curated(df.Shape, old)
	if old != nil && sameShape(old.Shape, shape) && f.field(old) == df.Field && sameNames(f.aliases(old), df.Aliases) {
		old.To = version
		return
	}
	f.pin(df.Field, df.Aliases)
	f.Spans = append(f.Spans, &Span{From: version, To: version, Shape: shape})
}

// pin makes field and aliases those of the newest span, writing the former ones
// into the spans that relied on them.
func (f *Flag) pin(field string, aliases []string) {
	for _, s := range f.Spans {
		if s.Field == "" && f.Field != field {
			s.Field = f.Field
		}
		if s.Aliases == nil && !sameNames(f.Aliases, aliases) {
			a := f.Aliases
			s.Aliases = &a
		}
	}
	f.Field, f.Aliases = field, aliases
}

// Diff compares the dump with the table's own entry for that release and
// returns one line for each difference.
func (t *Table) Diff(d *Dump) []string {
	var out []string
	version := d.Version
	if same := t.SameAs[version]; same != "" {
		version = same
	}
	if t.index(version) < 0 {
		return []string{"flags table: no entry for " + d.Version}
	}
	seen := map[string]bool{}
	byName := t.adopt(d)
	for i := range d.Flags {
		df := &d.Flags[i]
		seen[df.Name] = true
		if line := t.diffFlag(byName[df.Name], df, version); line != "" {
			out = append(out, line)
		}
	}
	for _, f := range t.Flags {
		if t.at(f, version) != nil && !seen[f.Name] {
			out = append(out, f.Name+": in the table, not in the dump")
		}
	}
	sort.Strings(out)
	return out
}

func (t *Table) diffFlag(f *Flag, df *DumpFlag, version string) string {
	var s *Span
	if f != nil {
		s = t.at(f, version)
	}
	if s == nil {
		return df.Name + ": in the dump, not in the table"
	}
	want := DumpFlag{f.Name, f.field(s), f.aliases(s), s.Shape}
	got := *df
	got.Shape = curated(df.Shape, s)
	if want.Field == got.Field && sameNames(want.Aliases, got.Aliases) && sameShape(want.Shape, got.Shape) {
		return ""
	}
	return fmt.Sprintf("%s: table %+v, dump %+v", df.Name, want, got)
}
