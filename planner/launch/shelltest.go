package launch

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// condition decides a condition from what the script itself sets; nil when it
// cannot be known. Where it rests on a variable being taken as not set and
// what depends on it can be a launch, all ways are followed instead.
func (sh *shell) condition(list []*syntax.Stmt, depends syntax.Node) *bool {
	if len(list) != 1 {
		return nil
	}
	sh.assumed = false
	held := sh.holds(list[0])
	if sh.assumed && mentionsSGLang(sh.span(depends)) {
		return nil
	}
	return held
}

func (sh *shell) holds(s *syntax.Stmt) *bool {
	var held *bool
	switch c := s.Cmd.(type) {
	case *syntax.TestClause:
		held = sh.test(c.X)
	case *syntax.CallExpr:
		held = sh.bracket(c)
	case *syntax.ArithmCmd:
		if n, ok := sh.arithmetic(c.X); ok {
			held = isTrue(n != 0)
		}
	case *syntax.BinaryCmd:
		x, y := sh.holds(c.X), sh.holds(c.Y)
		held = both(c.Op == syntax.AndStmt, x, y)
	}
	if s.Negated {
		return not(held)
	}
	return held
}

func isTrue(b bool) *bool { return &b }

func not(b *bool) *bool {
	if b == nil {
		return nil
	}
	return isTrue(!*b)
}

// both joins two conditions by and, or by or.
func both(and bool, x, y *bool) *bool {
	for _, v := range []*bool{x, y} {
		if v != nil && *v != and {
			return v // decides alone
		}
	}
	if x == nil || y == nil {
		return nil
	}
	return isTrue(and)
}

// bracket decides `[ ... ]`, `test ...`, true and false.
func (sh *shell) bracket(c *syntax.CallExpr) *bool {
	if len(c.Args) == 0 {
		return isTrue(true) // an assignment
	}
	args := c.Args
	switch args[0].Lit() {
	case "true", ":":
		return isTrue(true)
	case "false":
		return isTrue(false)
	case "test":
		args = args[1:]
	case "[":
		if args = args[1:]; len(args) > 0 && args[len(args)-1].Lit() == "]" {
			args = args[:len(args)-1]
		}
	default:
		return nil
	}
	negated := len(args) > 0 && args[0].Lit() == "!"
	if negated {
		args = args[1:]
	}
	var held *bool
	switch len(args) {
	case 1:
		held = sh.unary("-n", args[0])
	case 2:
		held = sh.unary(args[0].Lit(), args[1])
	case 3:
		held = sh.compare(args[1].Lit(), args[0], args[2])
	}
	if negated {
		return not(held)
	}
	return held
}

func (sh *shell) test(e syntax.TestExpr) *bool {
	switch e := e.(type) {
	case *syntax.ParenTest:
		return sh.test(e.X)
	case *syntax.Word:
		return sh.unary("-n", e)
	case *syntax.UnaryTest:
		if e.Op == syntax.TsNot {
			return not(sh.test(e.X))
		}
		if w, ok := e.X.(*syntax.Word); ok {
			return sh.unary(e.Op.String(), w)
		}
	case *syntax.BinaryTest:
		switch e.Op {
		case syntax.AndTest:
			return both(true, sh.test(e.X), sh.test(e.Y))
		case syntax.OrTest:
			return both(false, sh.test(e.X), sh.test(e.Y))
		}
		x, okX := e.X.(*syntax.Word)
		y, okY := e.Y.(*syntax.Word)
		if okX && okY {
			return sh.compare(e.Op.String(), x, y)
		}
	}
	return nil
}

// unary decides -z and -n. A variable that the script never sets is taken as
// not set, as for the default of ${X:-y}, and that is said.
func (sh *shell) unary(op string, w *syntax.Word) *bool {
	if op != "-z" && op != "-n" {
		return nil // about files
	}
	text := sh.text(w)
	if text.Unknown {
		p := lone(w)
		if p == nil || changes(p) || p.Index != nil || !isName(p.Param.Value) {
			return nil
		}
		if _, set := sh.vars[p.Param.Value]; set {
			return nil
		}
		sh.sayDefault(p)
		sh.assumed = true
		text.Text = ""
	}
	return isTrue((text.Text == "") == (op == "-z"))
}

// lone returns the parameter of a word that is nothing else.
func lone(w *syntax.Word) *syntax.ParamExp {
	if len(w.Parts) != 1 {
		return nil
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, _ := part.(*syntax.ParamExp)
	if p == nil || p.Param == nil {
		return nil
	}
	return p
}

var numeric = map[string]func(a, b int64) bool{
	"-eq": func(a, b int64) bool { return a == b },
	"-ne": func(a, b int64) bool { return a != b },
	"-lt": func(a, b int64) bool { return a < b },
	"-le": func(a, b int64) bool { return a <= b },
	"-gt": func(a, b int64) bool { return a > b },
	"-ge": func(a, b int64) bool { return a >= b },
}

func (sh *shell) compare(op string, x, y *syntax.Word) *bool {
	a, b := sh.text(x), sh.text(y)
	if a.Unknown || b.Unknown {
		return nil
	}
	if f := numeric[op]; f != nil {
		m, err1 := strconv.ParseInt(strings.TrimSpace(a.Text), 10, 64)
		n, err2 := strconv.ParseInt(strings.TrimSpace(b.Text), 10, 64)
		if err1 != nil || err2 != nil {
			return nil
		}
		return isTrue(f(m, n))
	}
	if !slices.Contains([]string{"=", "==", "!="}, op) || strings.ContainsAny(b.Text, "*?[") {
		return nil
	}
	return isTrue((a.Text == b.Text) == (op != "!="))
}
