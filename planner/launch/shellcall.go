package launch

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner/finding"
)

// call follows a simple command: assignments, a builtin that changes what is
// known, a function of the script, or something that may be a launch.
func (sh *shell) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			sh.assign(a, false)
		}
		return
	}
	var ws []Word
	for _, a := range c.Args {
		ws = append(ws, sh.fields(a)...)
		if len(ws) > maxWords {
			return
		}
	}
	if len(ws) == 0 {
		return
	}
	if name := ws[0]; !name.Unknown {
		if body, ok := sh.funcs[name.Text]; ok {
			sh.function(body, ws[1:], c.Assigns)
			return
		}
		if b := builtins[name.Text]; b != nil {
			b(sh, ws)
			return
		}
	}
	sh.start(c, ws)
}

// builtins are the commands of the shell that change what is known.
var builtins map[string]func(*shell, []Word)

func init() {
	// Filled here: the functions refer to the table again.
	builtins = map[string]func(*shell, []Word){
		"exit":   func(sh *shell, _ []Word) { sh.ended = true },
		"return": func(sh *shell, _ []Word) { sh.ended = true },
		"set":    (*shell).setParams, "shift": (*shell).shift, "unset": (*shell).unset,
		"read": (*shell).read, "mapfile": (*shell).read, "readarray": (*shell).read,
		"source": (*shell).sourced, ".": (*shell).sourced, "eval": (*shell).eval,
		"kill": (*shell).kill, "pkill": (*shell).kill, "killall": (*shell).kill, "wait": (*shell).kill,
	}
}

func (sh *shell) setParams(ws []Word) {
	i := slices.IndexFunc(ws, func(w Word) bool { return w.Text == "--" })
	switch {
	case i >= 0:
		rest := slices.Clone(ws[i+1:])
		sh.params = &rest
	case len(ws) > 1 && ws[1].Text != "" && !strings.ContainsAny(ws[1].Text[:1], "-+"):
		rest := slices.Clone(ws[1:])
		sh.params = &rest
	}
}

func (sh *shell) shift(ws []Word) {
	n := 1
	if len(ws) > 1 {
		n = atoi(ws[1].Text)
	}
	if sh.params == nil || n < 1 || n > len(*sh.params) {
		sh.params = nil
		return
	}
	rest := (*sh.params)[n:]
	sh.params = &rest
}

func (sh *shell) unset(ws []Word) {
	for _, w := range ws[1:] {
		delete(sh.vars, w.Text)
	}
}

// read makes the variables that it fills not known.
func (sh *shell) read(ws []Word) {
	for _, w := range ws[1:] {
		if isName(w.Text) {
			sh.set(w.Text, variable{elems: []Word{sh.r.holes.unknown("$" + w.Text)}})
		}
	}
}

func (sh *shell) sourced(ws []Word) {
	if len(ws) < 2 || sh.said["source "+ws[1].Text] {
		return
	}
	sh.said["source "+ws[1].Text] = true
	f := finding.New(CodeSourced, finding.Info, "", fmt.Sprintf("%s is read by the script and was not read here.", clip(sh.r.holes.show(ws[1].Text))))
	f.Position = position(ws[0].Pos)
	sh.r.notes = append(sh.r.notes, f)
}

// eval follows the text that its words make.
func (sh *shell) eval(ws []Word) {
	if sh.depth >= maxDepth {
		return
	}
	inner := *sh
	inner.src = plainJoin(ws[1:])
	inner.depth++
	pos := ws[0].Pos
	inner.at = func(syntax.Pos) finding.Position { return pos }
	inner.quoted = nil
	inner.run()
	sh.state, sh.ended, sh.alone = inner.state, inner.ended, inner.alone
}

// plainJoin joins words as eval does.
func plainJoin(ws []Word) string { return strings.Join(texts(ws), " ") }

// kill ends what was launched before: later launches do not run beside it.
func (sh *shell) kill(ws []Word) {
	if len(sh.r.commands) > sh.first {
		sh.alone = fmt.Sprintf("%s/after line %d", sh.where.host, ws[0].Pos.Line)
	}
}

// function follows the body of a function of the script.
func (sh *shell) function(body *syntax.Stmt, params []Word, assigns []*syntax.Assign) {
	if sh.depth >= maxDepth {
		return
	}
	for _, a := range assigns {
		sh.assign(a, true)
	}
	saved, ended := sh.params, sh.ended
	args := slices.Clone(params)
	sh.params = &args
	sh.depth++
	sh.stmt(body)
	sh.depth--
	sh.params, sh.ended = saved, ended
}

// start hands a command over to be recognised.
func (sh *shell) start(c *syntax.CallExpr, ws []Word) {
	w := sh.where
	env, not := sh.environment()
	w.env, w.unknownEnv = env, map[string]Word{}
	for _, name := range not {
		v := sh.vars[name].elems[0]
		if sh.where.unknownEnv[name].Unknown && sh.inherited[name].Text == v.Text {
			v = sh.where.unknownEnv[name]
		}
		w.unknownEnv[name] = v
	}
	var assigned []Word
	for _, a := range c.Assigns {
		v := Word{Pos: sh.at(a.Pos())}
		if a.Value != nil {
			v = sh.text(a.Value)
		}
		assigned = append(assigned, Word{Text: nameOf(a) + "=" + v.Text, Unknown: v.Unknown, Pos: sh.at(a.Pos())})
	}
	w.host, w.pos, w.strict, w.depth = sh.alone, sh.at(c.Pos()), true, sh.depth
	n := len(sh.r.commands)
	sh.r.recognise(append(assigned, ws...), w)
	if sh.quoted != nil && len(sh.r.commands) == n+1 {
		sh.r.commands[n].Quoted = sh.quoted(c)
	}
	if len(sh.r.commands) > n {
		sh.ended = sh.ended || ws[0].Text == "exec"
	}
	if stops(ws) {
		sh.kill(ws)
	}
}

// stops reports `docker stop` and the like.
func stops(ws []Word) bool {
	i := slices.IndexFunc(ws, func(w Word) bool { return runtimes[path.Base(w.Text)] })
	return i >= 0 && i <= 1 && i+1 < len(ws) && slices.Contains([]string{"stop", "kill", "rm", "down"}, ws[i+1].Text)
}

// sayDefault notes that a default of the script was taken.
func (sh *shell) sayDefault(p *syntax.ParamExp) {
	name := p.Param.Value
	if sh.said[name] {
		return
	}
	sh.said[name] = true
	pos := sh.at(p.Pos())
	what := "the script does not set " + name
	if !isName(name) {
		what = "parameter " + name + " is not known"
	}
	f := finding.New(CodeDefaultTaken, finding.Info, "", fmt.Sprintf("%s: %s, so it was taken as not set.", sh.r.holes.show(sh.source(p)), what))
	f.Position = &pos
	sh.r.notes = append(sh.r.notes, f)
}

// envOf copies an environment so that it can be added to.
func envOf(env map[string]string) map[string]string {
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	return out
}
