// Package args knows SGLang's command-line arguments release by release: the
// flag table, how argparse reads a command, what each release makes of the
// values (defaults, rewrites, refusals) and the cross-flag rules.
package args

import (
	"maps"
	"slices"

	"github.com/sglplan/sglplan/planner/finding"
)

// Kind says where a value came from.
type Kind string

// The origins of a value.
const (
	FromDefault Kind = "default" // the release's own default in the flag table
	FromFlag    Kind = "flag"    // the command line
	FromConfig  Kind = "config"  // the file named by --config
	FromRule    Kind = "rule"    // a rule of the release that filled or rewrote it
	FromEnv     Kind = "env"     // an environment variable
	FromUnknown Kind = "unknown" // the command sets it, to what cannot be known statically; V is the default
)

// Origin says why a field has its value.
type Origin struct {
	Kind Kind             `json:"kind"`
	Rule string           `json:"rule,omitempty"` // the id of the rule, or the name of the variable
	Flag string           `json:"flag,omitempty"` // the spelling used
	Pos  finding.Position `json:"-"`
}

// Value is one field: nil (None), bool, int64, float64, string, []any or
// map[string]any, as Python has it.
type Value struct {
	V      any
	Origin Origin
}

// Args are SGLang's server arguments by field name (tp_size,
// mem_fraction_static, ...), as that release names them. Some 500 fields of a
// release stand at their defaults in most launches, so those are one map that
// all arguments of the release share and nobody writes.
type Args struct{ m, shared map[string]Value }

// New returns empty arguments.
func New() *Args { return &Args{m: make(map[string]Value, 32)} }

// Clone returns a copy that can be changed.
func (a *Args) Clone() *Args { return &Args{m: maps.Clone(a.m), shared: a.shared} }

// above returns arguments that stand at those of a, which must not change any
// more.
func (a *Args) above() *Args { return &Args{m: make(map[string]Value, 32), shared: a.m} }

func (a *Args) look(field string) Value {
	if v, ok := a.m[field]; ok {
		return v
	}
	return a.shared[field]
}

// Set gives a field its value and says why. Whole numbers of any Go kind are
// stored as int64.
func (a *Args) Set(field string, v any, o Origin) {
	switch n := v.(type) {
	case int:
		v = int64(n)
	case float32:
		v = float64(n)
	}
	a.m[field] = Value{v, o}
}

// Rule gives a field the value that a rule of the release decided.
func (a *Args) Rule(field string, v any, rule string) {
	a.Set(field, v, Origin{Kind: FromRule, Rule: rule})
}

// Get returns a field.
func (a *Args) Get(field string) (Value, bool) {
	if v, ok := a.m[field]; ok {
		return v, true
	}
	v, ok := a.shared[field]
	return v, ok
}

// Has reports whether the release has the field and it is not None.
func (a *Args) Has(field string) bool { return a.look(field).V != nil }

// Given reports whether the user set the field (flag, config file).
func (a *Args) Given(field string) bool {
	k := a.look(field).Origin.Kind
	return k == FromFlag || k == FromConfig
}

// Int returns a whole-number field; 0 when absent, None or of another kind.
// A float that is whole counts.
func (a *Args) Int(field string) int64 {
	switch v := a.look(field).V.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// IntOr returns a whole-number field, or def when absent or None.
func (a *Args) IntOr(field string, def int64) int64 {
	if !a.Has(field) {
		return def
	}
	return a.Int(field)
}

// Float returns a number field; 0 when absent or None.
func (a *Args) Float(field string) float64 {
	switch v := a.look(field).V.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// Str returns a text field; "" when absent or None.
func (a *Args) Str(field string) string { s, _ := a.look(field).V.(string); return s }

// Bool returns a switch; false when absent.
func (a *Args) Bool(field string) bool { b, _ := a.look(field).V.(bool); return b }

// Ints returns a list of whole numbers; nil when absent.
func (a *Args) Ints(field string) []int64 {
	l, _ := a.look(field).V.([]any)
	var out []int64
	for _, x := range l {
		if n, ok := x.(int64); ok {
			out = append(out, n)
		}
	}
	return out
}

// Fields returns the names of all fields, sorted.
func (a *Args) Fields() []string {
	all := slices.AppendSeq(make([]string, 0, len(a.shared)+len(a.m)), maps.Keys(a.shared))
	all = slices.AppendSeq(all, maps.Keys(a.m))
	slices.Sort(all)
	return slices.Compact(all)
}
