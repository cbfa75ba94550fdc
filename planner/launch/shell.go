package launch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// maxDepth bounds function calls and shells inside shells; maxSteps the
// statements that are followed in one file.
const (
	maxDepth = 16
	maxSteps = 100_000
)

// shell follows a script as far as that is possible without running anything:
// assignments, arrays, functions and launches, in the order in which they
// stand.
type shell struct {
	state
	r     *reader
	where place
	src   string
	at    func(syntax.Pos) finding.Position
	funcs map[string]*syntax.Stmt
	depth int
	ended bool // after exit or exec
	// alone tells hosts apart: launches that never run at the same time, on
	// branches that exclude each other or after a kill, do not share one.
	alone string
	first int // how many launches were known before
	said  map[string]bool
	// inherited are the variables of the place that are not known, as they
	// stand among vars until the script sets them anew.
	inherited map[string]Word
	assumed   bool // the condition at hand takes a variable as not set
	// quoted says where the text stands when it is a word of a command.
	quoted func(c *syntax.CallExpr) *Quoted
}

// script reads a shell text. at turns places of the text into places of the
// file; params are the positional parameters, nil when not known.
func (r *reader) script(src string, w place, params *[]Word, at func(syntax.Pos) finding.Position, depth int) *shell {
	sh := &shell{
		state: state{vars: map[string]variable{}, params: params},
		r:     r, where: w, src: src, at: at, depth: depth,
		funcs: map[string]*syntax.Stmt{}, said: map[string]bool{}, alone: w.host, first: len(r.commands),
	}
	for name, v := range w.env {
		sh.vars[name] = variable{elems: []Word{{Text: v, Pos: w.pos}}, exported: true}
	}
	sh.inherited = map[string]Word{}
	for name, v := range w.unknownEnv {
		u := r.holes.unknown("$" + name)
		u.Pos, sh.inherited[name] = v.Pos, u
		sh.vars[name] = variable{elems: []Word{u}, exported: true}
	}
	return sh
}

// run follows the whole text. Where a part of it is no valid shell, what
// stands before is followed all the same.
func (sh *shell) run() {
	if len(sh.src) > maxScript || nestsTooDeep(sh.src) {
		pos := sh.at(syntax.Pos{})
		sh.r.findings = append(sh.r.findings, tooLarge(pos.File, pos.Line, fmt.Sprintf("A shell text that is larger than %v or nests deeper than %d levels was not read.", units.Bytes(maxScript), maxShellNesting)))
		return
	}
	before := len(sh.r.commands)
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var broken error
	// The iterator may go on after an error, so the loop is never left.
	for s, err := range p.StmtsSeq(strings.NewReader(sh.src)) {
		switch {
		case broken != nil:
		case err != nil:
			broken = err
		case !sh.ended:
			sh.stmt(s)
		}
	}
	if broken != nil {
		sh.r.findings = append(sh.r.findings, sh.syntaxFinding(broken))
	}
	if len(sh.r.commands) == before {
		sh.uncalled()
	}
}

// syntaxFinding says where a text stops being shell.
func (sh *shell) syntaxFinding(err error) finding.Finding {
	why, pos := err.Error(), sh.at(syntax.Pos{})
	var e syntax.ParseError
	if errors.As(err, &e) {
		why, pos = e.Text, sh.at(e.Pos)
	}
	f := finding.New(CodeSyntax, finding.Warning, "", "Not read as a shell script from here on: "+clip(sh.r.holes.show(why))+".")
	f.Position = position(pos)
	return f
}

// uncalled follows the functions that nobody calls in this file when nothing
// else launches a server: what a library of functions would start.
func (sh *shell) uncalled() {
	sh.params, sh.ended = nil, false
	for _, name := range slices.Sorted(maps.Keys(sh.funcs)) {
		sh.stmt(sh.funcs[name])
	}
}

// span is the text of a part of the script.
func (sh *shell) span(n syntax.Node) string {
	a, b := n.Pos().Offset(), n.End().Offset()
	if b <= a || b > uint(len(sh.src)) {
		return ""
	}
	return sh.src[a:b]
}

// source is the text of a part of the script, short enough to show.
func (sh *shell) source(n syntax.Node) string {
	if s := sh.span(n); s != "" {
		return clip(s)
	}
	var out bytes.Buffer
	if syntax.NewPrinter().Print(&out, n) == nil { // a part made by an expansion
		return clip(out.String())
	}
	return "..."
}

func (sh *shell) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		if sh.ended {
			return
		}
		sh.stmt(s)
	}
}

func (sh *shell) stmt(s *syntax.Stmt) {
	if sh.r.steps++; sh.r.steps > maxSteps || s == nil {
		if sh.r.steps == maxSteps+1 {
			pos := sh.where.pos
			sh.r.findings = append(sh.r.findings, tooLarge(pos.File, pos.Line, fmt.Sprintf("A script is followed for %d steps; what it does after them was not read.", maxSteps)))
		}
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		sh.call(c)
	case *syntax.DeclClause:
		sh.declare(c)
	case *syntax.FuncDecl:
		if c.Name != nil {
			sh.funcs[c.Name.Value] = c.Body
		}
	case *syntax.Block:
		sh.stmts(c.Stmts)
	case *syntax.Subshell:
		sh.apart(func() { sh.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		sh.binary(c)
	case *syntax.IfClause:
		sh.ifClause(c)
	case *syntax.CaseClause:
		sh.caseClause(c)
	case *syntax.WhileClause:
		sh.perhaps(func() { sh.stmts(c.Do) })
	case *syntax.ForClause:
		sh.forClause(c)
	case *syntax.TimeClause:
		sh.stmt(c.Stmt)
	case *syntax.CoprocClause:
		sh.stmt(c.Stmt)
	}
}

// apart follows statements whose assignments stay inside: a subshell, a side
// of a pipe.
func (sh *shell) apart(follow func()) {
	saved := sh.clone()
	ended := sh.ended
	follow()
	sh.state, sh.ended = saved, ended
}

func (sh *shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		sh.apart(func() { sh.stmt(c.X) })
		sh.apart(func() { sh.stmt(c.Y) })
		return
	}
	held := sh.condition([]*syntax.Stmt{c.X}, c.Y)
	sh.stmt(c.X)
	switch {
	case held == nil:
		sh.perhaps(func() { sh.stmt(c.Y) })
	case *held == (c.Op == syntax.AndStmt):
		sh.stmt(c.Y)
	}
}

// perhaps follows statements that may or may not run.
func (sh *shell) perhaps(follow func()) {
	before := sh.clone()
	follow()
	sh.ended = false
	sh.state = sh.r.holes.merge(before, []state{before, sh.state})
}

// arms follows ways that exclude each other, each from the same state.
// complete says that one of them is taken in any case.
func (sh *shell) arms(ways []func(), where []syntax.Pos, complete bool) {
	before, alone := sh.clone(), sh.alone
	ended := complete
	var after []state
	launched := false
	for i, way := range ways {
		sh.state, sh.ended = before.clone(), false
		if launched {
			sh.alone = fmt.Sprintf("%s/branch at line %d", alone, sh.at(where[i]).Line)
		}
		n := len(sh.r.commands)
		way()
		launched = launched || len(sh.r.commands) > n
		ended = ended && sh.ended
		if !sh.ended { // a way that ends the script leaves nothing behind
			after = append(after, sh.state)
		}
	}
	sh.alone, sh.ended = alone, ended
	if !complete || len(after) == 0 {
		after = append(after, before)
	}
	sh.state = sh.r.holes.merge(before, after)
}

func (sh *shell) ifClause(c *syntax.IfClause) {
	var ways []func()
	var where []syntax.Pos
	complete, whole := false, c
	for ; c != nil; c = c.Else {
		held := new(bool)
		*held = true
		if len(c.Cond) > 0 {
			held = sh.condition(c.Cond, whole)
		}
		if held != nil && !*held {
			continue
		}
		then := c.Then
		at := c.ThenPos
		if !at.IsValid() { // an else
			at = c.Position
		}
		ways, where = append(ways, func() { sh.stmts(then) }), append(where, at)
		if held != nil {
			complete = true
			break
		}
	}
	sh.follow(ways, where, complete)
}

// follow takes the only way there is, or all of them as alternatives.
func (sh *shell) follow(ways []func(), where []syntax.Pos, complete bool) {
	switch {
	case len(ways) == 0:
	case len(ways) == 1 && complete:
		ways[0]()
	default:
		n := len(sh.r.commands)
		sh.arms(ways, where, complete)
		for _, c := range sh.r.commands[n:] {
			pos := sh.at(where[0])
			f := finding.New(CodeConditional, finding.Info, "", fmt.Sprintf("Whether this launch runs is decided at line %d when the script runs.", pos.Line))
			f.Position = &pos
			c.Findings = append(c.Findings, f)
		}
	}
}

func (sh *shell) caseClause(c *syntax.CaseClause) {
	subject := sh.text(c.Word)
	var ways []func()
	var where []syntax.Pos
	complete := false
	for _, item := range c.Items {
		matched := sh.matches(subject, item.Patterns)
		if matched != nil && !*matched {
			continue
		}
		list := item.Stmts
		ways, where = append(ways, func() { sh.stmts(list) }), append(where, item.Pos())
		if matched != nil {
			complete = true
			break
		}
	}
	sh.follow(ways, where, complete)
}

// matches compares a word with the patterns of a case; nil when not known.
func (sh *shell) matches(subject Word, patterns []*syntax.Word) *bool {
	no, yes := false, true
	known := true
	for _, p := range patterns {
		pat := sh.text(p)
		if pat.Text == "*" && !pat.Unknown {
			return &yes
		}
		if subject.Unknown || pat.Unknown {
			known = false
			continue
		}
		re, err := compile(pat.Text)
		if err != nil {
			known = false
		} else if re.MatchString(subject.Text) {
			return &yes
		}
	}
	if !known {
		return nil
	}
	return &no
}

// maxRounds bounds how often the body of a loop is followed.
const maxRounds = 64

// forClause follows the body once for every word that is known, else once
// with the variable not known.
func (sh *shell) forClause(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		sh.loopVariables(c)
		sh.perhaps(func() { sh.stmts(c.Do) })
		return
	}
	var words []Word
	for _, w := range iter.Items {
		words = append(words, sh.fields(w)...)
	}
	if !iter.InPos.IsValid() || c.Select || len(words) > maxRounds || slices.ContainsFunc(words, func(w Word) bool { return w.Unknown }) {
		sh.set(iter.Name.Value, variable{elems: []Word{sh.r.holes.unknown("$" + iter.Name.Value)}})
		sh.perhaps(func() { sh.stmts(c.Do) })
		return
	}
	for _, w := range words {
		sh.set(iter.Name.Value, variable{elems: []Word{w}})
		sh.stmts(c.Do)
	}
}

// loopVariables makes what a counting loop counts with not known.
func (sh *shell) loopVariables(c *syntax.ForClause) {
	syntax.Walk(c.Loop, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && isName(w.Lit()) {
			sh.set(w.Lit(), variable{elems: []Word{sh.r.holes.unknown("$" + w.Lit())}})
		}
		return true
	})
}

func (sh *shell) declare(c *syntax.DeclClause) {
	export := c.Variant.Value == "export"
	list := false
	for _, a := range c.Args {
		if a.Naked && a.Value != nil { // an option
			opt := a.Value.Lit()
			export = export || strings.HasPrefix(opt, "-") && strings.Contains(opt, "x")
			list = list || strings.HasPrefix(opt, "-") && strings.ContainsAny(opt, "aA")
			continue
		}
		if _, had := sh.vars[nameOf(a)]; a.Naked && list && !had {
			sh.set(nameOf(a), variable{list: true})
		}
		sh.assign(a, export)
	}
}

func nameOf(a *syntax.Assign) string {
	if a.Name == nil {
		return ""
	}
	return a.Name.Value
}
