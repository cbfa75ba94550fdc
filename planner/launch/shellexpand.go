package launch

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what a hostile script can blow up.
const (
	maxText   = 64 << 10 // bytes of one word
	maxWords  = 16 << 10 // words of one command or array
	maxBraces = 1 << 10  // words of one brace expansion
)

// A field under construction: text so far and whether any of it is not known.
type field struct {
	text    strings.Builder
	unknown bool
	started bool // something, perhaps an empty quoted text, is there
}

// expansion turns one shell word into the words that the command gets.
type expansion struct {
	sh  *shell
	out []Word
	cur field
	pos syntax.Pos
}

// fields expands a word as the shell does: braces, parameters, quotes, and
// splitting where nothing is quoted.
func (sh *shell) fields(w *syntax.Word) []Word {
	if ws, ok := sh.wholeVariable(w); ok {
		return ws
	}
	var out []Word
	for _, b := range sh.braces(w) {
		x := expansion{sh: sh, pos: w.Pos()}
		x.parts(b.Parts, false)
		x.flush()
		out = append(out, x.out...)
		if len(out) > maxWords {
			return []Word{sh.unknownWord(w)}
		}
	}
	return out
}

// text expands a word without splitting, as on the right of an assignment.
func (sh *shell) text(w *syntax.Word) Word {
	if w == nil { // ${NAME#}
		return Word{}
	}
	x := expansion{sh: sh, pos: w.Pos()}
	x.parts(w.Parts, true)
	x.cur.started = true
	x.flush()
	out := x.out[0]
	for _, more := range x.out[1:] {
		out.Text += " " + more.Text
		out.Unknown = out.Unknown || more.Unknown
	}
	return out
}

// wholeVariable expands "${NAME[@]}", "$@" and an unquoted $NAME that stand
// alone, so that each word keeps the place where it was written.
func (sh *shell) wholeVariable(w *syntax.Word) ([]Word, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	part, quoted := w.Parts[0], false
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part, quoted = q.Parts[0], true
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return nil, false
	}
	if name := p.Param.Value; name == "@" || name == "*" && !quoted {
		if sh.params == nil {
			return []Word{sh.unknownWord(w)}, true
		}
		return slices.Clone(*sh.params), true
	}
	v, set := sh.vars[p.Param.Value]
	switch index := literal(p.Index); {
	case index == "@" || index == "*" && !quoted:
		return slices.Clone(v.elems), set || p.Index != nil
	case p.Index != nil || quoted || !set || v.list || len(v.elems) != 1 || v.elems[0].Unknown:
		return nil, false
	}
	var out []Word
	for _, t := range strings.Fields(v.elems[0].Text) {
		out = append(out, Word{Text: t, Pos: v.elems[0].Pos})
	}
	return out, true
}

// literal returns the text of an index such as @, * or 3.
func literal(e syntax.ArithmExpr) string {
	w, ok := e.(*syntax.Word)
	if !ok || w == nil {
		return ""
	}
	return w.Lit()
}

func (x *expansion) add(s string) {
	x.cur.started = true
	if x.cur.text.Len()+len(s) > maxText {
		x.cur.unknown = true
		return
	}
	x.cur.text.WriteString(s)
}

// hidden adds a part that is known only at run time, shown as its source.
func (x *expansion) hidden(n syntax.Node) {
	x.cur.unknown = true
	x.add(x.sh.r.holes.mark(x.sh.source(n)))
}

// flush ends the field.
func (x *expansion) flush() {
	if !x.cur.started {
		return
	}
	x.out = append(x.out, Word{Text: x.cur.text.String(), Unknown: x.cur.unknown, Pos: x.sh.at(x.pos)})
	x.cur = field{}
}

func (x *expansion) parts(ps []syntax.WordPart, quoted bool) {
	for i, p := range ps {
		switch p := p.(type) {
		case *syntax.Lit:
			x.lit(p.Value, quoted, i == 0)
		case *syntax.SglQuoted:
			x.plain(singleQuoted(p))
		case *syntax.DblQuoted:
			x.cur.started = x.cur.started || !onlyList(p)
			x.doubleQuoted(p.Parts)
		case *syntax.ParamExp:
			x.values(x.sh.param(p), quoted)
		case *syntax.ArithmExp:
			if n, ok := x.sh.arithmetic(p.X); ok {
				x.add(strconv.FormatInt(n, 10))
			} else {
				x.hidden(p)
			}
		default: // command and process substitutions, extended globs
			x.hidden(p)
		}
	}
}

// onlyList reports "$@" and "${a[@]}", which vanish when there is no element.
func onlyList(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && (p.Param.Value == "@" || literal(p.Index) == "@")
}

func (x *expansion) doubleQuoted(ps []syntax.WordPart) {
	for _, p := range ps {
		if l, ok := p.(*syntax.Lit); ok {
			x.plain(unescape(l.Value, "$`\"\\\n"))
			continue
		}
		x.parts([]syntax.WordPart{p}, true)
	}
}

// lit adds unquoted text. A home directory is known only where the script
// runs.
func (x *expansion) lit(s string, quoted, first bool) {
	if first && !quoted && strings.HasPrefix(s, "~") {
		x.cur.unknown = true
	}
	x.plain(unescape(s, ""))
}

// plain adds text of the script, which can have holes of the file around it.
func (x *expansion) plain(s string) {
	x.cur.unknown = x.cur.unknown || hole(s)
	x.add(s)
}

// unescape removes the backslashes before the characters named, before any
// when none is; an escaped newline goes altogether.
func unescape(s, before string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || before != "" && !strings.Contains(before, s[i+1:i+2]) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

var ansiEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, "'", `\"`, `"`, `\\`, `\`)

func singleQuoted(q *syntax.SglQuoted) string {
	if q.Dollar {
		return ansiEscapes.Replace(q.Value)
	}
	return q.Value
}

// value is what a parameter expansion gives.
type value struct {
	elems []Word
	list  bool // each element is a word of its own even in quotes
}

// values adds the elements of an expansion; unquoted text is split at white
// space.
func (x *expansion) values(v value, quoted bool) {
	for i, e := range v.elems {
		if i > 0 {
			if quoted && !v.list {
				x.add(" ")
			} else {
				x.flush()
			}
		}
		if quoted || e.Unknown {
			x.cur.unknown = x.cur.unknown || e.Unknown
			x.add(e.Text)
			continue
		}
		x.split(e.Text)
	}
}

func (x *expansion) split(s string) {
	const space = " \t\n"
	fs := strings.Fields(s)
	for i, f := range fs {
		if i > 0 || strings.ContainsRune(space, rune(s[0])) {
			x.flush()
		}
		x.add(f)
	}
	if s != "" && strings.ContainsRune(space, rune(s[len(s)-1])) {
		x.flush()
	}
}
