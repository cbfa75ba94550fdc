package args

import (
	"regexp"
	"strings"
)

// itemKind says what argparse makes of a word.
type itemKind uint8

const (
	itemFlag      itemKind = iota // a flag of the release
	itemUnknown                   // looks like an option, is none
	itemAmbiguous                 // begins several options
	itemStray                     // a word that no flag takes
)

// item is an option with the words that belong to it, or words that belong to
// none.
type item struct {
	kind       itemKind
	head       word     // the word it begins with
	first      int      // its position among the words
	text       string   // the option as written, without =value
	option     string   // the full spelling it stands for
	span       *span    // for itemFlag
	attached   bool     // the value is written with =
	values     []word   // the words given to it
	candidates []string // for itemAmbiguous
}

func (it *item) unknown() bool {
	for _, w := range it.values {
		if w.unknown {
			return true
		}
	}
	return false
}

// split groups words as argparse does at position at of versions: every word
// is first told to be an option or a value, then an option takes as many
// values as its nargs allow.
func split(at int, words []word) []item {
	heads := make([]*item, len(words)) // nil for values
	for i, w := range words {
		if w.text == "--" && !w.unknown { // what follows is values, for nobody
			heads = heads[:i]
			break
		}
		heads[i] = classify(at, w)
	}
	var out []item
	for i := 0; i < len(heads); {
		it := heads[i]
		if it == nil {
			out = append(out, item{kind: itemStray, head: words[i], first: i, text: words[i].text})
			i++
			continue
		}
		it.first = i
		i++
		for room := it.room(); room > 0 && i < len(heads) && heads[i] == nil; room-- {
			it.values = append(it.values, words[i])
			i++
		}
		out = append(out, *it)
	}
	for i := len(heads); i < len(words); i++ {
		out = append(out, item{kind: itemStray, head: words[i], first: i, text: words[i].text})
	}
	return out
}

// room is how many of the following values an option takes. Those after an
// option that SGLang refuses are kept with it, so that one mistake is one
// finding.
func (it *item) room() int {
	const all = 1 << 30
	switch {
	case it.attached:
		return 0
	case it.kind != itemFlag:
		return all
	}
	switch it.span.nargs {
	case 'n':
		return 0
	case '*', '+':
		return all
	}
	return 1
}

var negativeNumber = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)

// classify tells an option from a value (nil), in argparse's order: an exact
// spelling, an exact spelling before =, a unique prefix, a negative number, a
// text with a space, else an option nobody knows.
func classify(at int, w word) *item {
	t := w.text
	if len(t) < 2 || t[0] != '-' {
		return nil
	}
	name, value, attached := strings.Cut(t, "=")
	if w.unknown && !attached || strings.ContainsAny(name, "$`") {
		return nil
	}
	it := &item{head: w, text: name, option: name, attached: attached}
	if attached {
		v := w
		v.text = value
		it.values = []word{v}
	}
	if s := find(t, at); s != nil && !attached {
		it.span = s
		return it
	}
	if s := find(name, at); s != nil {
		it.span = s
		return it
	}
	if strings.HasPrefix(t, "--") {
		switch c := withPrefix(name, at); len(c) {
		case 1:
			it.option, it.span = c[0], find(c[0], at)
			return it
		case 0:
		default:
			it.kind, it.candidates = itemAmbiguous, c
			return it
		}
	}
	if negativeNumber.MatchString(t) || strings.Contains(t, " ") {
		return nil
	}
	it.kind = itemUnknown
	return it
}
