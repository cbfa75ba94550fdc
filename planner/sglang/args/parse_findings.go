package args

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

// Codes of what argument parsing says. All but the warnings end the launch
// with exit status 2, before the model is looked at.
var (
	CodeUnknownFlag = finding.Define("unknown-flag",
		"no such flag",
		"SGLang's parser accepts the exact spelling of a flag or a prefix that fits just one. Anything else ends the launch.",
		"Write the flag as the finding proposes, or look it up with `python3 -m sglang.launch_server --help`.")
	CodeFlagOtherRelease = finding.Define("flag-of-another-release",
		"the flag belongs to another release",
		"Other SGLang releases have this flag, the one that runs this launch does not: it came later or was removed. Its parser ends the launch.",
		"Use the replacement, drop the flag, or run a release that has it.")
	CodeAmbiguousFlag = finding.Define("ambiguous-flag",
		"the flag is short for several",
		"SGLang's parser accepts a prefix of a flag only while it begins a single spelling. New releases add flags, so an abbreviation that worked can stop working; --cuda-graph-max-bs and --cuda-graph-bs are such prefixes from 0.5.20 on.",
		"Write the flag in full.")
	CodeStrayWord = finding.Define("stray-word",
		"a word that belongs to no flag",
		"SGLang's parser takes no positional words. Often a switch was given a value, a list continues after another flag, or a quote is missing.",
		"Remove the word or put it behind its flag.")
	CodeSwitchValue = finding.Define("switch-takes-no-value",
		"a switch was given a value",
		"A switch is on when it is named; --switch=true ends the launch.",
		"Write the switch alone, or leave it out to turn it off.")
	CodeValueMissing = finding.Define("flag-value-missing",
		"a flag without its value",
		"The flag needs a value. A value that begins with a dash, unless it is a number, must be attached with =.",
		"Give the value.")
	CodeValueInvalid = finding.Define("flag-value-invalid",
		"a value that the flag does not accept",
		"The flag's type or its list of choices in this release refuses the value; choices are compared by case.",
		"Give one of the accepted values.")
	CodeRequiredMissing = finding.Define("required-flag-missing",
		"a required flag is missing",
		"Every release needs --model-path (or --model), on the command line or in the --config file.",
		"Name the model.")
	CodeHelpAsked = finding.Define("help-asked",
		"the launch only prints help",
		"-h and --help print the flags and end.",
		"Remove it.")
	CodeDeprecatedFlag = finding.Define("deprecated-flag",
		"a deprecated flag",
		"This release still accepts the flag; a later one drops it.",
		"Use the replacement.")
	CodeRetiredFlag = finding.Define("retired-flag",
		"a flag that this release refuses by name",
		"The release knows the flag only to say that it is gone.",
		"Use the replacement.")
	CodeIgnoredFlag = finding.Define("ignored-flag",
		"a flag without effect",
		"This release accepts the flag and drops it.",
		"Remove it, or use the replacement.")
	CodeRepeatedFlag = finding.Define("repeated-flag",
		"a flag given twice",
		"SGLang keeps the last value; list flags are replaced, not extended. An old and a new spelling of one setting count as the same flag.",
		"Keep one.")
	CodeValueUnknown = finding.Define("value-not-known",
		"a value is known only when the command runs",
		"A variable that is not set, or a command substitution: nothing is executed here, and the value is not guessed.",
		"Set the variable, or write the value.")
	CodeWordsUnknown = finding.Define("words-not-known",
		"words are known only when the command runs",
		"A variable or substitution stands where flags could be: what it holds is not part of this plan.",
		"Set the variable, or write the flags.")
	CodeOtherBackend = finding.Define("serve-other-backend",
		"sglang serve starts another backend",
		"--model-type selects a backend of sglang serve: llm, diffusion, or an installed one. Only language model servers are planned here.",
		"Drop --model-type for a language model.")
)

func (p *parser) unknownFlag(it item) {
	flag := it.text
	if known := Known(flag); len(known) > 0 {
		p.say(p.withFix(finding.New(CodeFlagOtherRelease, finding.Error, flag,
			fmt.Sprintf("SGLang %s has no %s: %s.", p.release, flag, history(known))), it), it.head)
		return
	}
	f := finding.New(CodeUnknownFlag, finding.Error, flag, fmt.Sprintf("SGLang %s has no %s.", p.release, flag))
	if near := nearest(p.at, flag); near != "" {
		f.Detail += " Nearest: " + near + "."
		f = f.With("write "+near, rename(flag, near, it)...)
	} else if near := nearestAnywhere(flag); near != "" {
		f.Detail += fmt.Sprintf(" Nearest in other releases: %s (%s).", near, history(Known(near)))
	}
	p.say(f, it.head)
}

// withFix adds the replacement that the last release to have the flag names.
func (p *parser) withFix(f finding.Finding, it item) finding.Finding {
	switch to := p.replacement(it.text); {
	case to == "":
		return f.With("remove "+it.text, finding.Edit{Flag: it.text, Remove: true})
	case find(to, p.at) != nil:
		return f.With("use "+to+" instead", rename(it.text, to, it)...)
	default:
		return f.With("use "+to+" instead", finding.Edit{Flag: it.text, Remove: true})
	}
}

// replacement follows the flag's own deprecation note, for as long as what it
// names is no flag of this release either.
func (p *parser) replacement(flag string) string {
	for range 4 {
		o := findOption(flag)
		if o == nil {
			return ""
		}
		to := spans[o.spans[len(o.spans)-1]].replacement
		if find(to, p.at) != nil || findOption(to) == nil {
			return to
		}
		flag = to
	}
	return ""
}

// rename is the edit from one spelling to another with the same value.
func rename(from, to string, it item) []finding.Edit {
	texts := make([]string, len(it.values))
	for i, w := range it.values {
		texts[i] = w.text
	}
	return []finding.Edit{{Flag: from, Remove: true}, {Flag: to, Value: strings.Join(texts, " ")}}
}

// history says which releases have a spelling.
func history(known []Span) string {
	parts := make([]string, len(known))
	for i, k := range known {
		switch {
		case k.Until.String() == versions[len(versions)-1]:
			parts[i] = "it exists since " + k.Since.String()
		case k.Since.String() == versions[0]:
			parts[i] = "it existed until " + k.Until.String()
		default:
			parts[i] = fmt.Sprintf("it existed from %s until %s", k.Since, k.Until)
		}
	}
	return strings.Join(parts, ", ")
}

func (p *parser) ambiguous(it item) {
	f := finding.New(CodeAmbiguousFlag, finding.Error, it.text,
		fmt.Sprintf("%s could be %s in SGLang %s.", it.text, strings.Join(it.candidates, ", "), p.release))
	if known := Known(it.text); len(known) > 0 {
		f.Detail += fmt.Sprintf(" %s itself is no flag of this release: %s.", it.text, history(known))
	}
	order := it.candidates
	if to := p.replacement(it.text); slices.Contains(order, to) {
		order = []string{to}
	}
	for _, c := range order {
		f = f.With("write "+c, rename(it.text, c, it)...)
	}
	p.say(f, it.head)
}

func (p *parser) stray(it item) {
	if it.head.unknown {
		p.say(finding.New(CodeWordsUnknown, finding.Warning, "",
			fmt.Sprintf("%s may hold any flags; the plan is made without it.", it.text)), it.head)
		return
	}
	p.say(finding.New(CodeStrayWord, finding.Error, "",
		fmt.Sprintf("SGLang %s refuses %q: no flag takes it.", p.release, it.text)), it.head)
}

func (p *parser) switchValue(it item) {
	p.say(finding.New(CodeSwitchValue, finding.Error, it.option,
		fmt.Sprintf("%s takes no value, %q was given.", it.option, it.values[0].text)).
		With("write the switch alone", finding.Edit{Flag: it.option}), it.head)
}

func (p *parser) missingValue(it item) {
	what := "a value"
	if it.span.nargs == '+' {
		what = "at least one value"
	}
	p.say(finding.New(CodeValueMissing, finding.Error, it.option, fmt.Sprintf("%s needs %s.", it.option, what)), it.head)
}

func (p *parser) badValue(it item, w word, why string) {
	f := finding.New(CodeValueInvalid, finding.Error, it.option,
		fmt.Sprintf("%s %s: %s.", it.option, quoteText(w.text), why))
	if known := choiceElsewhere(it.span, w.text); known != "" {
		f.Detail += " " + known
	}
	near := nearestChoice(it.span, w.text)
	if near == "" && it.span.choices == nil && why == notWhole {
		near = wholeNear(w.text)
	}
	if near != "" {
		f = f.With("write "+near, finding.Edit{Flag: it.option, Value: near})
	}
	p.say(f, w)
}

// choiceElsewhere says which releases accept a value that this one does not.
func choiceElsewhere(s *span, text string) string {
	o := findOption(s.name)
	if o == nil || s.choices == nil {
		return ""
	}
	known := o.runs(func(s *span) bool { return s.choices == nil || slices.Contains(textsOf(s.choices), text) })
	if len(known) == 0 {
		return ""
	}
	parts := make([]string, len(known))
	for i, k := range known {
		parts[i] = fmt.Sprintf("%s to %s", k.Since, k.Until)
	}
	return fmt.Sprintf("SGLang %s accept it.", strings.Join(parts, " and "))
}

// deprecated says what naming a deprecated flag does; false when it ends the
// launch.
func (p *parser) deprecated(it item) bool {
	s := it.span
	instead := ""
	if s.replacement != "" {
		instead = " Use " + s.replacement + "."
	}
	// A deprecated flag that still does its work is no risk for the launch, so
	// it does not change the verdict.
	f := finding.New(CodeDeprecatedFlag, finding.Info, s.name,
		fmt.Sprintf("%s is deprecated in SGLang %s.%s", s.name, p.release, instead))
	switch s.use {
	case useRefused:
		f = finding.New(CodeRetiredFlag, finding.Error, s.name,
			fmt.Sprintf("SGLang %s stops at %s: the flag is gone.%s", p.release, s.name, instead))
	case useIgnored:
		f = finding.New(CodeIgnoredFlag, finding.Warning, s.name,
			fmt.Sprintf("SGLang %s accepts %s and drops it.%s", p.release, s.name, instead))
	}
	if find(s.replacement, p.at) != nil {
		f = f.With("use "+s.replacement+" instead", rename(it.text, s.replacement, it)...)
	}
	p.say(f, it.head)
	return s.use != useRefused
}

func (p *parser) repeated(it item, before string) {
	detail := fmt.Sprintf("%s is given more than once; the last value counts.", it.text)
	if before != it.text {
		detail = fmt.Sprintf("%s and %s set the same value; the last one counts.", before, it.text)
	}
	p.say(finding.New(CodeRepeatedFlag, finding.Info, it.span.name, detail), it.head)
}

func quoteText(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return strconv.Quote(s)
}

func quoteWords(ws []word) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = quoteText(w.text)
	}
	return strings.Join(out, " ")
}

// showValue writes a value as JSON, None as Python does.
func showValue(v any) string {
	if v == nil {
		return "None"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func textsOf(vals []any) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func showList(vals []any) string { return strings.Join(textsOf(vals), ", ") }
