package launch

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// param gives the value of a parameter expansion. What the script does not
// set has no known value; a default that the expansion names is taken then,
// and said.
func (sh *shell) param(p *syntax.ParamExp) value {
	hidden := value{elems: []Word{sh.unknownWord(p)}}
	v, set := sh.look(p)
	if p.Exp != nil && p.Index == nil && isDefault(p.Exp.Op) {
		return sh.defaulted(p, v, set)
	}
	if !set && !(p.Index != nil && literal(p.Index) == "@") {
		return hidden
	}
	if p.Length && v.list {
		return oneValue(strconv.Itoa(len(v.elems)), v, hidden)
	}
	if !changes(p) {
		return v
	}
	if slices.ContainsFunc(v.elems, func(w Word) bool { return w.Unknown }) || p.Excl || p.Names != 0 {
		return hidden
	}
	out := value{list: v.list, elems: slices.Clone(v.elems)}
	if p.Slice != nil && v.list {
		return sh.sliceList(p, out, hidden)
	}
	for i := range out.elems {
		s, ok := sh.changed(p, out.elems[i].Text)
		if !ok || len(s) > maxText {
			return hidden
		}
		out.elems[i].Text = s
	}
	return out
}

func oneValue(s string, v value, hidden value) value {
	if slices.ContainsFunc(v.elems, func(w Word) bool { return w.Unknown }) {
		return hidden
	}
	return value{elems: []Word{{Text: s}}}
}

// changes reports an expansion that does more than name its parameter.
func changes(p *syntax.ParamExp) bool {
	return p.Length || p.Excl || p.Width || p.IsSet || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 || len(p.Modifiers) > 0
}

// look finds the parameter itself.
func (sh *shell) look(p *syntax.ParamExp) (value, bool) {
	if p.Param == nil {
		return value{}, false
	}
	name := p.Param.Value
	if v, ok, is := sh.positional(name); is {
		return v, ok
	}
	v, ok := sh.vars[name]
	if !ok {
		return value{}, false
	}
	switch index := literal(p.Index); {
	case index == "@" || index == "*":
		return value{v.elems, index == "@"}, true
	case p.Index == nil && len(v.elems) > 0:
		return value{elems: v.elems[:1]}, true
	case p.Index == nil:
		return value{}, true
	}
	i, known := sh.arithmetic(p.Index)
	if !known || i < 0 || i >= int64(len(v.elems)) || !v.known() {
		return value{}, false
	}
	return value{elems: v.elems[i : i+1]}, true
}

// positional answers for $1, $@, $# and the like; is tells whether the name is
// one of them.
func (sh *shell) positional(name string) (v value, ok, is bool) {
	i, err := strconv.Atoi(name)
	switch {
	case name == "@" || name == "*" || name == "#" || err == nil:
	case name == "?" || name == "$" || name == "!" || name == "-":
		return value{}, false, true
	default:
		return value{}, false, false
	}
	if sh.params == nil {
		return value{}, false, true
	}
	ps := *sh.params
	switch {
	case name == "#":
		return value{elems: []Word{{Text: strconv.Itoa(len(ps))}}}, true, true
	case err != nil:
		return value{ps, name == "@"}, true, true
	case i < 1 || i > len(ps):
		return value{}, false, true
	}
	return value{elems: ps[i-1 : i]}, true, true
}

func isDefault(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return true
	}
	return false
}

// defaulted handles ${X:-y}, ${X:=y} and ${X:+y}.
func (sh *shell) defaulted(p *syntax.ParamExp, v value, set bool) value {
	orNull := p.Exp.Op == syntax.DefaultUnsetOrNull || p.Exp.Op == syntax.AssignUnsetOrNull || p.Exp.Op == syntax.AlternateUnsetOrNull
	if set && orNull {
		if slices.ContainsFunc(v.elems, func(w Word) bool { return w.Unknown }) {
			return value{elems: []Word{sh.unknownWord(p)}}
		}
		set = slices.ContainsFunc(v.elems, func(w Word) bool { return w.Text != "" })
	}
	if _, assigned := sh.vars[p.Param.Value]; !assigned {
		sh.sayDefault(p)
	}
	if p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull {
		if !set {
			return value{}
		}
		return sh.word(p.Exp.Word)
	}
	if set {
		return v
	}
	d := sh.word(p.Exp.Word)
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		sh.set(p.Param.Value, variable{elems: d.elems})
	}
	return d
}

// word is the value of the word inside an expansion.
func (sh *shell) word(w *syntax.Word) value {
	if w == nil {
		return value{elems: []Word{{}}}
	}
	return value{elems: []Word{sh.text(w)}}
}

// changed applies the operators that work on one text.
func (sh *shell) changed(p *syntax.ParamExp, s string) (string, bool) {
	switch {
	case p.Length:
		return strconv.Itoa(len([]rune(s))), true
	case p.Slice != nil:
		return sh.sliceText(p.Slice, s)
	case p.Repl != nil:
		return sh.replaced(p.Repl, s)
	case p.Exp == nil:
		return "", false
	}
	switch p.Exp.Op {
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return s, s != "" || p.Exp.Op == syntax.ErrorUnset
	case syntax.UpperAll:
		return strings.ToUpper(s), true
	case syntax.LowerAll:
		return strings.ToLower(s), true
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return sh.trimmed(p.Exp, s)
	}
	return "", false
}

// trimmed removes a prefix or suffix that matches a pattern.
func (sh *shell) trimmed(e *syntax.Expansion, s string) (string, bool) {
	pat := sh.text(e.Word)
	if pat.Unknown || len(s) > 4096 || len(pat.Text) > 256 {
		return "", false
	}
	re, err := compile(pat.Text)
	if err != nil {
		return "", false
	}
	prefix := e.Op == syntax.RemSmallPrefix || e.Op == syntax.RemLargePrefix
	large := e.Op == syntax.RemLargePrefix || e.Op == syntax.RemLargeSuffix
	best, found := s, false
	for i := range len(s) + 1 {
		cut, rest := s[:i], s[i:]
		if !prefix {
			cut, rest = rest, cut
		}
		if !re.MatchString(cut) {
			continue
		}
		// Prefixes grow with i, suffixes shrink: the first match of a short
		// prefix and the last of a short suffix are the shortest.
		if !found || prefix == large {
			best, found = rest, true
		}
	}
	return best, true
}

// replaced carries out ${X/from/to} for plain texts.
func (sh *shell) replaced(r *syntax.Replace, s string) (string, bool) {
	from, to := Word{}, Word{}
	if r.Orig != nil {
		from = sh.text(r.Orig)
	}
	if r.With != nil {
		to = sh.text(r.With)
	}
	if from.Unknown || to.Unknown || pattern.HasMeta(from.Text, 0) || from.Text == "" || len(s)*(len(to.Text)+1) > maxText {
		return "", false
	}
	if strings.HasPrefix(from.Text, "#") || strings.HasPrefix(from.Text, "%") {
		return "", false // anchored forms
	}
	n := 1
	if r.All {
		n = -1
	}
	return strings.Replace(s, from.Text, to.Text, n), true
}

func (sh *shell) sliceText(sl *syntax.Slice, s string) (string, bool) {
	rs := []rune(s)
	from, to, ok := sh.bounds(sl, len(rs))
	if !ok {
		return "", false
	}
	return string(rs[from:to]), true
}

func (sh *shell) sliceList(p *syntax.ParamExp, v, hidden value) value {
	if p.Param.Value == "@" || p.Param.Value == "*" {
		v.elems = append([]Word{sh.r.holes.unknown("$0")}, v.elems...)
	}
	from, to, ok := sh.bounds(p.Slice, len(v.elems))
	if !ok {
		return hidden
	}
	v.elems = v.elems[from:to]
	return v
}

// bounds reads the offset and length of a slice.
func (sh *shell) bounds(sl *syntax.Slice, n int) (from, to int, ok bool) {
	off, length := int64(0), int64(n)
	if sl.Offset != nil {
		if off, ok = sh.arithmetic(sl.Offset); !ok {
			return 0, 0, false
		}
	}
	if sl.Length != nil {
		if length, ok = sh.arithmetic(sl.Length); !ok || length < 0 {
			return 0, 0, false
		}
	}
	if off < 0 {
		off += int64(n)
	}
	off = min(max(off, 0), int64(n))
	length = min(length, int64(n)-off)
	return int(off), int(off + length), true
}
