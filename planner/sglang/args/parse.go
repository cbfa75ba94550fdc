package args

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// ParseOptions are what Parse cannot know from the words alone.
type ParseOptions struct {
	// ReadFile reads the file that --config names. An error that is
	// fs.ErrNotExist means that the launch would not find it either; any other
	// error, and a nil ReadFile, that its content is not known here.
	ReadFile func(name string) ([]byte, error)
	// Serve is set when the words follow `sglang serve`, which takes a model
	// as its first bare word and --model-type.
	Serve bool
}

// Parse reads SGLang's own words of a command as the argument parser of the
// release nearest to r does. It returns every field of that release, defaults
// included, and all findings, not the first: where SGLang would stop, there is
// at least one of severity Error.
//
// A word that is not known statically leaves its field at the default, with
// origin FromUnknown, and a warning.
func Parse(r release.Release, words []launch.Word, opt ParseOptions) (*Args, []finding.Finding) {
	base, fs := Nearest(r)
	at := indexOf(base)
	p := &parser{release: base, at: at, args: defaults[at]().above(), findings: fs, setBy: map[string]string{}}
	list := make([]word, len(words))
	for i, w := range words {
		list[i] = word{text: w.Text, pos: w.Pos, unknown: w.Unknown, from: FromFlag}
	}
	if opt.Serve {
		list = p.serve(list)
	}
	list = p.mergeConfig(list, opt.ReadFile)
	for _, it := range split(p.at, list) {
		p.apply(it)
	}
	p.required()
	return p.args, p.findings
}

// parser is one run of Parse.
type parser struct {
	release  release.Release
	at       int // position in versions
	args     *Args
	findings []finding.Finding
	setBy    map[string]string // field -> flag that set it on the command line

}

// word is one word of the merged command line.
type word struct {
	text    string
	pos     finding.Position
	unknown bool
	from    Kind // FromFlag or FromConfig
}

func (w word) position() *finding.Position {
	if w.pos == (finding.Position{}) {
		return nil
	}
	p := w.pos
	return &p
}

func (p *parser) say(f finding.Finding, w word) {
	f.Position = w.position()
	p.findings = append(p.findings, f)
}

// defaults are the arguments of each release when nothing is given, made when
// first asked for: commands are often many, and of one release.
var defaults = func() (out [len(versions)]func() *Args) {
	for at := range out {
		out[at] = sync.OnceValue(func() *Args {
			a := New()
			for i := range spans {
				if s := &spans[i]; s.covers(at) && s.hasDefault() {
					a.Set(s.field, s.def, Origin{Kind: FromDefault})
				}
			}
			return a
		})
	}
	return out
}()

// hasDefault reports whether a span gives its field the default: --help and
// --config are no server arguments, and a deprecated spelling leaves it to the
// flag it stands for.
func (s *span) hasDefault() bool {
	return !s.sharesField && s.act != actHelp && s.name != configFlag
}

// apply does what argparse does on meeting an item.
func (p *parser) apply(it item) {
	switch it.kind {
	case itemStray:
		p.stray(it)
	case itemUnknown:
		p.unknownFlag(it)
	case itemAmbiguous:
		p.ambiguous(it)
	case itemFlag:
		p.flag(it)
	}
}

func (p *parser) flag(it item) {
	s := it.span
	if s.act == actHelp {
		p.say(finding.New(CodeHelpAsked, finding.Error, s.name, "With "+it.text+" SGLang prints its help and ends; no server starts."), it.head)
		return
	}
	if s.deprecated && !p.deprecated(it) {
		return
	}
	v, ok := p.value(it)
	if !ok || s.use == useIgnored {
		return
	}
	if s.name == configFlag {
		p.inertConfig(it)
		return
	}
	p.set(it, v)
}

// set stores a value, unless one of the words that make it is not known.
func (p *parser) set(it item, v any) {
	s := it.span
	if before, again := p.setBy[s.field]; again && it.head.from == FromFlag {
		p.repeated(it, before)
	}
	if it.head.from == FromFlag {
		p.setBy[s.field] = it.text
	}
	o := Origin{Kind: it.head.from, Flag: it.text, Pos: it.head.pos}
	if it.unknown() {
		o.Kind = FromUnknown
		v = p.defaultOf(s.field)
		p.say(finding.New(CodeValueUnknown, finding.Warning, s.name,
			fmt.Sprintf("%s is set to %s, which is known only when the command runs; planned with the default, %s.",
				it.text, quoteWords(it.values), showValue(v))), it.head)
	}
	p.args.Set(s.field, v, o)
}

func (p *parser) defaultOf(field string) any {
	v, _ := defaults[p.at]().Get(field)
	return v.V
}

// value reads the values of a flag; false when SGLang would refuse them.
func (p *parser) value(it item) (any, bool) {
	s := it.span
	if s.nargs == 'n' {
		if it.attached {
			p.switchValue(it)
			return nil, false
		}
		if s.negates(it.option) {
			return false, true
		}
		return s.constant, true
	}
	if len(it.values) == 0 {
		switch s.nargs {
		case '?':
			return s.constant, true
		case '*':
			return s.collect(nil), true
		}
		p.missingValue(it)
		return nil, false
	}
	vals := make([]any, 0, len(it.values))
	for _, w := range it.values {
		if w.unknown {
			vals = append(vals, nil)
			continue
		}
		v, why := s.convert(w.text, p.release)
		if why == "" {
			why = s.outside(v)
		}
		if why != "" {
			p.badValue(it, w, why)
			return nil, false
		}
		vals = append(vals, v)
	}
	switch {
	case s.nargs == '*' || s.nargs == '+':
		return s.collect(vals), true
	case s.constant != nil && s.nargs == 0:
		return s.constant, true // an old flag whose one value became a switch
	}
	return vals[0], true
}

// required reports the flags that the release insists on.
func (p *parser) required() {
	for i := range spans {
		s := &spans[i]
		if !s.covers(p.at) || !s.required || p.args.Has(s.field) {
			continue
		}
		if v, _ := p.args.Get(s.field); v.Origin.Kind == FromUnknown {
			continue
		}
		p.findings = append(p.findings, finding.New(CodeRequiredMissing, finding.Error, s.name,
			fmt.Sprintf("SGLang %s does not start without %s.", p.release, s.name)).
			With("name the model", finding.Edit{Flag: s.name, Value: "MODEL"}))
	}
}

// serve does what `sglang serve` does before its argument parser: a first bare
// word is the model, --model-type is its own.
func (p *parser) serve(list []word) []word {
	var out []word
	for i := 0; i < len(list); i++ {
		w := list[i]
		value, attached := strings.CutPrefix(w.text, "--model-type=")
		switch {
		case w.text == "--model-type" && i+1 < len(list):
			i++
			value = list[i].text
		case w.text == "--model-type":
			p.say(finding.New(CodeValueMissing, finding.Error, "--model-type", "--model-type needs a value."), w)
			continue
		case !attached:
			out = append(out, w)
			continue
		}
		p.modelType(w, value)
	}
	if len(out) > 0 && !strings.HasPrefix(out[0].text, "-") && !out[0].unknown {
		flag := out[0]
		flag.text = "--model-path"
		out = append([]word{flag}, out...)
	}
	return out
}

func (p *parser) modelType(w word, value string) {
	switch value {
	case "auto", "llm":
	case "":
		p.say(finding.New(CodeValueMissing, finding.Error, "--model-type", "--model-type needs a value."), w)
	default:
		p.say(finding.New(CodeOtherBackend, finding.Warning, "--model-type",
			fmt.Sprintf("--model-type %s hands the launch to another backend of sglang serve; what follows is judged as a language model server.", value)), w)
	}
}
