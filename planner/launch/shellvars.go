package launch

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// variable is a shell variable as far as a script says: its elements, each
// perhaps not known. A plain variable has one.
type variable struct {
	elems    []Word
	list     bool // an array
	exported bool
}

func (v variable) equal(w variable) bool {
	return v.list == w.list && v.exported == w.exported && slices.Equal(v.elems, w.elems)
}

// known reports that every element is known.
func (v variable) known() bool {
	return !slices.ContainsFunc(v.elems, func(w Word) bool { return w.Unknown })
}

// state is what a script has set so far. Values are never changed in place, so
// that copies are cheap and branches cannot see each other.
type state struct {
	vars map[string]variable
	// params are the positional parameters; unset where nothing says what
	// they are.
	params *[]Word
}

func (s *state) clone() state { return state{maps.Clone(s.vars), s.params} }

// set gives a variable its value and keeps whether it is exported.
func (s *state) set(name string, v variable) {
	v.exported = v.exported || s.vars[name].exported
	s.vars[name] = v
}

// environment returns the exported variables that are known, and the names of
// those that are not.
func (s *state) environment() (map[string]string, []string) {
	env := map[string]string{}
	var not []string
	for name, v := range s.vars {
		switch {
		case !v.exported || v.list || len(v.elems) != 1:
		case v.elems[0].Unknown:
			not = append(not, name)
		default:
			env[name] = v.elems[0].Text
		}
	}
	slices.Sort(not)
	return env, not
}

// merge brings together what may have happened on several ways through a
// script: a variable that they leave alike is known, an array that some of
// them lengthen has a tail that is not known, anything else is not known.
func (h *holes) merge(before state, ways []state) state {
	out := state{vars: map[string]variable{}, params: ways[0].params}
	for _, w := range ways {
		if w.params != out.params {
			out.params = nil
		}
		for name := range w.vars {
			if _, done := out.vars[name]; !done {
				if v, ok := h.mergeOne(name, before, ways); ok {
					out.vars[name] = v
				}
			}
		}
	}
	return out
}

func (h *holes) mergeOne(name string, before state, ways []state) (variable, bool) {
	first, ok := ways[0].vars[name]
	same := true
	for _, w := range ways[1:] {
		v, has := w.vars[name]
		same = same && has == ok && v.equal(first)
	}
	if same {
		return first, ok
	}
	old := before.vars[name]
	longest := old
	for _, w := range ways {
		v := w.vars[name]
		if !v.list || len(v.elems) < len(old.elems) || !slices.Equal(v.elems[:len(old.elems)], old.elems) {
			return variable{elems: []Word{h.unknown("$" + name)}, exported: first.exported}, true
		}
		if len(v.elems) > len(longest.elems) {
			longest = v
		}
	}
	tail := h.unknown("${" + name + "[@]}")
	if n := len(old.elems); n < len(longest.elems) {
		tail = h.unknown("(perhaps) " + Quote(texts(h.words(longest.elems[n:]))))
		tail.Pos = longest.elems[n].Pos
	}
	return variable{elems: append(slices.Clone(old.elems), tail), list: true, exported: old.exported}, true
}

// assign carries out NAME=value, NAME+=value, NAME=(...) and NAME[i]=value.
func (sh *shell) assign(a *syntax.Assign, export bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	old, had := sh.vars[name]
	if a.Naked {
		if !had && !export {
			return
		}
		if export && had {
			old.exported = true
			sh.vars[name] = old
		}
		return
	}
	v := variable{exported: export, list: old.list && a.Append}
	switch {
	case a.Index != nil: // one element: which one is not followed
		v = variable{elems: append(slices.Clone(old.elems), sh.unknownWord(a)), list: true}
	case a.Array != nil:
		v.list = true
		if a.Append {
			v.elems = slices.Clone(old.elems)
		}
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				v.elems = append(v.elems, sh.fields(e.Value)...)
			}
		}
	case a.Append && had && old.list: // appends to the first element
		v = variable{elems: []Word{sh.unknownWord(a)}, list: true}
	default:
		w := Word{Pos: sh.at(a.Pos())}
		if a.Value != nil {
			w = sh.text(a.Value)
		}
		if a.Append && had && len(old.elems) == 1 {
			w.Text, w.Unknown = old.elems[0].Text+w.Text, w.Unknown || old.elems[0].Unknown
		}
		v.elems = []Word{w}
	}
	if len(v.elems) > maxWords {
		v.elems = []Word{sh.unknownWord(a)}
	}
	sh.set(name, v)
}

// unknownWord is a word that is known only at run time, shown as its source.
func (sh *shell) unknownWord(n syntax.Node) Word {
	return Word{Text: sh.r.holes.mark(sh.source(n)), Unknown: true, Pos: sh.at(n.Pos())}
}
