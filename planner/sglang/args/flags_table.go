package args

import (
	"slices"
	"sort"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

//go:generate go run ./gen

// conv says how one word of a flag becomes a value: the `type` function that
// the release gives argparse.
type conv uint8

const (
	convString     conv = iota
	convInt             // Python's int()
	convFloat           // Python's float()
	convHumanInt        // an integer, or one with a suffix k M G T Ki Mi Gi Ti
	convNullable        // empty text and "None" mean no value
	convJSON            // json.loads
	convJSONList        // json.loads, documented as a list
	convGraph           // a JSON object keyed by phase, checked key by key
	convLoRA            // a list of paths, name=path or JSON objects
	convLoRAByName      // the same as a mapping, before 0.5.1
)

// use says what naming a deprecated flag does.
type use uint8

const (
	useWorks   use = iota // it still sets its field
	useIgnored            // accepted, dropped
	useRefused            // naming it ends argument parsing
)

// act is argparse's action, as far as --config treats actions differently.
type act uint8

const (
	actStore      act = iota
	actStoreTrue      // a plain switch
	actDeprecated     // SGLang's own action for a retired spelling
	actPair           // a switch with a --no- form
	actCustom         // any other action (--lora-paths)
	actHelp           // --help: prints and ends
)

// span is one flag as a run of releases knows it. Everything is constant data,
// so that the table costs nothing at the start of a process.
type span struct {
	name        string   // canonical option, --tp-size
	more        []string // aliases and --no- forms
	field       string   // the server argument it sets
	from, to    uint8    // inclusive positions in versions
	conv        conv
	act         act
	use         use
	nargs       byte // 0 one value, '?', '*', '+', or 'n' no value (a switch)
	required    bool
	deprecated  bool
	sharesField bool // another flag gives the field its default
	jsonText    bool // a plain string that SGLang later reads as JSON
	choices     []any
	def         any
	constant    any // what a switch, or an option without its value, stores
	replacement string
}

// option is one spelling with the spans that have it, oldest first.
type option struct {
	text  string
	spans []uint16
}

func (s *span) covers(i int) bool { return int(s.from) <= i && i <= int(s.to) }

func (s *span) negates(text string) bool { return s.act == actPair && strings.HasPrefix(text, "--no-") }

// find returns the span that an exact spelling has at position i of versions.
func find(text string, i int) *span {
	if o := findOption(text); o != nil {
		return o.at(i)
	}
	return nil
}

func findOption(text string) *option {
	j, ok := sort.Find(len(options), func(j int) int { return strings.Compare(text, options[j].text) })
	if !ok {
		return nil
	}
	return &options[j]
}

func (o *option) at(i int) *span {
	for _, s := range o.spans {
		if spans[s].covers(i) {
			return &spans[s]
		}
	}
	return nil
}

// withPrefix returns every spelling at position i that begins with prefix.
func withPrefix(prefix string, i int) []string {
	j := sort.Search(len(options), func(j int) bool { return options[j].text >= prefix })
	var out []string
	for ; j < len(options) && strings.HasPrefix(options[j].text, prefix); j++ {
		if options[j].at(i) != nil {
			out = append(out, options[j].text)
		}
	}
	return out
}

// Flag is one launch flag as one release knows it.
type Flag struct {
	Name        string   // --tp-size
	Aliases     []string // further exact spellings
	Negations   []string // --no- spellings, which store false
	Field       string   // server argument it sets, tp_size
	Switch      bool     // takes no value
	List        bool     // takes several values
	Type        string   // string, int, float, bool, json
	Choices     []any    // nil when any value is accepted
	Default     any      // argparse's own default; nil usually means chosen at start
	Required    bool
	Deprecated  bool
	Replacement string // what to write instead of a deprecated flag
}

// Span is a run of releases that accept a spelling.
type Span struct{ Since, Until release.Release }

// Table lists the flags of the release nearest to r, sorted by name.
func Table(r release.Release) []Flag {
	i := indexOf(r)
	var out []Flag
	for j := range spans {
		if s := &spans[j]; s.covers(i) && s.act != actHelp {
			out = append(out, s.flag())
		}
	}
	slices.SortFunc(out, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *span) flag() Flag {
	f := Flag{Name: s.name, Field: s.field, Switch: s.nargs == 'n', List: s.nargs == '*' || s.nargs == '+',
		Type: s.typeName(), Choices: slices.Clone(s.choices), Default: cloneValue(s.def),
		Required: s.required, Deprecated: s.deprecated, Replacement: s.replacement}
	for _, m := range s.more {
		if s.negates(m) {
			f.Negations = append(f.Negations, m)
		} else {
			f.Aliases = append(f.Aliases, m)
		}
	}
	return f
}

func (s *span) typeName() string {
	if s.nargs == 'n' {
		return "bool"
	}
	switch s.conv {
	case convInt, convHumanInt:
		return "int"
	case convFloat:
		return "float"
	case convJSON, convJSONList, convGraph:
		return "json"
	}
	return "string"
}

// Known returns the runs of releases that accept a spelling, oldest first;
// none when no release in the table has it.
func Known(flag string) []Span {
	o := findOption(flag)
	if o == nil {
		return nil
	}
	return o.runs(func(*span) bool { return true })
}

// runs joins the spans of an option that ok accepts into runs of releases.
func (o *option) runs(ok func(*span) bool) []Span {
	var out []Span
	end := -2
	for _, j := range o.spans {
		s := &spans[j]
		if !ok(s) {
			continue
		}
		if int(s.from) == end+1 && len(out) > 0 {
			out[len(out)-1].Until = versionAt(int(s.to))
		} else {
			out = append(out, Span{versionAt(int(s.from)), versionAt(int(s.to))})
		}
		end = int(s.to)
	}
	return out
}

// cloneValue copies lists and mappings, so that a caller cannot change the
// table through a default.
func cloneValue(v any) any {
	switch v := v.(type) {
	case []any:
		return append([]any{}, v...)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = cloneValue(x)
		}
		return m
	}
	return v
}
