package args

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Codes of what changes between two releases.
var (
	CodeUpgradeGone = finding.Define("upgrade-flag-gone",
		"a flag that the newer release does not have",
		"The flag was removed between the two releases; the newer parser stops at it. The rewritten command leaves it out.",
		"Run the rewritten command, and check what the flag was for.")
	CodeUpgradeRenamed = finding.Define("upgrade-flag-renamed",
		"a flag that is written differently in the newer release",
		"The old form is gone or deprecated; the rewritten command uses the new one.",
		"Run the rewritten command.")
	CodeUpgradeAmbiguous = finding.Define("upgrade-flag-ambiguous",
		"an abbreviation that no longer fits one flag",
		"The newer release has more flags that begin like this, so its parser stops. The rewritten command spells the flag out.",
		"Run the rewritten command.")
	CodeUpgradeOther = finding.Define("upgrade-flag-means-another",
		"an abbreviation that now means another flag",
		"In the newer release the abbreviation begins another flag. The rewritten command spells the old meaning out.",
		"Run the rewritten command.")
	CodeUpgradeValue = finding.Define("upgrade-value-renamed",
		"a value that is written differently in the newer release",
		"The flag is still there; the choice has another name.",
		"Run the rewritten command.")
	CodeUpgradeDefault = finding.Define("upgrade-default-changed",
		"a default that changes with the newer release",
		"The command does not set this flag, so it starts with another value. None means that the release decides at the start.",
		"Set the flag to keep the old value.")
)

// Upgraded is what a newer release makes of a command.
type Upgraded struct {
	From, To release.Release
	// Words is the command written for the newer release; words that stay keep
	// their positions.
	Words []launch.Word
	// Rewritten reports whether Words differ from what was given.
	Rewritten bool
	// Findings say what changed, then what the newer release still refuses.
	Findings []finding.Finding
}

// Upgrade compares the flags of a command under two releases: those that are
// gone, renamed or now ambiguous, and defaults that move. It writes the command
// for the newer one where the releases' own deprecation notes say how. Values
// that SGLang resolves later are another matter: resolve both and compare.
func Upgrade(from, to release.Release, words []launch.Word, opt ParseOptions) Upgraded {
	old, _ := Parse(from, words, opt)
	base, _ := Nearest(to)
	u := &upgrader{at: indexOf(from), to: indexOf(to), target: base, old: old, words: words}
	list := make([]word, len(words))
	for i, w := range words {
		list[i] = word{text: w.Text, pos: w.Pos, unknown: w.Unknown, from: FromFlag}
	}
	items := split(u.at, list)
	u.collectMoves(items)
	for i := range items {
		u.item(&items[i])
	}
	u.defaults()
	_, fs := Parse(to, u.out, opt)
	for _, f := range fs {
		if f.Severity == finding.Error {
			u.findings = append(u.findings, f)
		}
	}
	return Upgraded{From: from, To: to, Words: u.out, Rewritten: !slices.Equal(u.out, words), Findings: u.findings}
}

// upgrader is one run of Upgrade.
type upgrader struct {
	at, to   int // positions in versions
	target   release.Release
	old      *Args
	words    []launch.Word
	moved    map[string]bool // fields whose flag gives its value to another one
	out      []launch.Word
	findings []finding.Finding
}

func (u *upgrader) say(code finding.Code, it *item, detail string) {
	f := finding.New(code, finding.Warning, it.text, detail)
	f.Position = it.head.position()
	u.findings = append(u.findings, f)
}

// keep takes an item over as it is.
func (u *upgrader) keep(it *item) { u.out = append(u.out, u.words[it.first:it.end()]...) }

func (it *item) end() int {
	if it.attached {
		return it.first + 1
	}
	return it.first + 1 + len(it.values)
}

// write adds words in place of an item.
func (u *upgrader) write(it *item, texts ...string) {
	for _, t := range texts {
		u.out = append(u.out, launch.Word{Text: t, Pos: it.head.pos})
	}
}

// respell writes an item with another flag and its own values.
func (u *upgrader) respell(it *item, flag string, values ...string) {
	if values == nil {
		for _, w := range it.values {
			values = append(values, w.text)
		}
	}
	if it.attached {
		flag += "=" + values[0]
		values = values[1:]
	}
	at := len(u.out)
	u.write(it, append([]string{flag}, values...)...)
	for i, w := range it.values { // what is not known stays not known
		if j := at + 1 + i; !it.attached && j < len(u.out) {
			u.out[j].Unknown = w.unknown
		} else if it.attached && w.unknown {
			u.out[at].Unknown = true
		}
	}
}

// item decides what becomes of one flag.
func (u *upgrader) item(it *item) {
	if it.kind != itemFlag {
		u.keep(it)
		return
	}
	if u.moved[it.span.field] {
		return // its value goes to another flag, which says so
	}
	now := find(it.option, u.to)
	switch {
	case now == nil:
		u.gone(it)
	case now.deprecated && now.replacement != "" && u.replace(it, now.replacement):
		// said and written
	case it.text != it.option:
		u.abbreviated(it, now)
	default:
		u.value(it, now, it.text)
	}
}

// gone writes a removed flag as its deprecation notes say, or leaves it out.
func (u *upgrader) gone(it *item) {
	to := (&parser{at: u.to}).replacement(it.option)
	if to != "" && u.replace(it, to) {
		return
	}
	detail := fmt.Sprintf("SGLang %s has no %s: %s.", u.target, it.option, history(Known(it.option)))
	if to != "" {
		detail += fmt.Sprintf(" Instead: %s; its value is not the same thing, so set it by hand.", to)
	}
	u.say(CodeUpgradeGone, it, detail)
}

// abbreviated spells a prefix out where the newer release would not read it as
// before.
func (u *upgrader) abbreviated(it *item, now *span) {
	c := withPrefix(it.text, u.to)
	switch {
	case find(it.text, u.to) == now, len(c) == 1 && c[0] == it.option:
		u.value(it, now, it.text)
		return
	case len(c) == 1, find(it.text, u.to) != nil:
		u.say(CodeUpgradeOther, it, fmt.Sprintf("%s meant %s; in SGLang %s it is %s.", it.text, it.option, u.target, c[0]))
	default:
		u.say(CodeUpgradeAmbiguous, it, fmt.Sprintf("%s meant %s; in SGLang %s it could be %s.", it.text, it.option, u.target, strings.Join(c, ", ")))
	}
	u.value(it, now, it.option)
}

// renamedValues are choices that live on under another name.
var renamedValues = []struct{ flag, old, now string }{
	{"--kv-cache-dtype", "fp4_e2m1", "fp4_mx_block16"}, // 0.5.16 has both, 0.5.21 the new one only
}

// value keeps a flag, with its value renamed where the newer release needs it.
func (u *upgrader) value(it *item, now *span, flag string) {
	for _, r := range renamedValues {
		if now.name != r.flag || len(it.values) != 1 || it.values[0].text != r.old || now.outside(r.old) == "" {
			continue
		}
		u.say(CodeUpgradeValue, it, fmt.Sprintf("%s %s is written %s in SGLang %s.", now.name, r.old, r.now, u.target))
		u.respell(it, flag, r.now)
		return
	}
	if flag == it.text {
		u.keep(it)
		return
	}
	u.respell(it, flag)
}

// defaults lists the flags that the command leaves to a default that moves.
func (u *upgrader) defaults() {
	for i := range spans {
		now := &spans[i]
		if !now.covers(u.to) || !now.hasDefault() || u.old.Given(now.field) {
			continue
		}
		was := find(now.name, u.at)
		if was == nil || !was.hasDefault() || was.field != now.field || reflect.DeepEqual(was.def, now.def) {
			continue
		}
		f := finding.New(CodeUpgradeDefault, finding.Info, now.name,
			fmt.Sprintf("The default of %s is %s in SGLang %s, %s in %s.", now.name, showValue(was.def), versions[u.at], showValue(now.def), u.target))
		if was.def != nil && now.nargs != 'n' {
			f = f.With("keep the old value", finding.Edit{Flag: now.name, Value: fmt.Sprint(was.def)})
		}
		u.findings = append(u.findings, f)
	}
}
