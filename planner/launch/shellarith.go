package launch

import (
	"regexp"
	"strconv"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// arithmetic evaluates an integer expression; false when a part of it is not
// known or it does more than the four operations, shifts and comparisons.
func (sh *shell) arithmetic(e syntax.ArithmExpr) (int64, bool) {
	switch e := e.(type) {
	case *syntax.Word:
		return sh.number(e)
	case *syntax.ParenArithm:
		return sh.arithmetic(e.X)
	case *syntax.UnaryArithm:
		n, ok := sh.arithmetic(e.X)
		switch e.Op {
		case syntax.Minus:
			return -n, ok
		case syntax.Plus:
			return n, ok
		}
	case *syntax.BinaryArithm:
		x, okX := sh.arithmetic(e.X)
		y, okY := sh.arithmetic(e.Y)
		if okX && okY {
			return operate(e.Op, x, y)
		}
	}
	return 0, false
}

func operate(op syntax.BinAritOperator, x, y int64) (int64, bool) {
	switch op {
	case syntax.Add:
		return x + y, true
	case syntax.Sub:
		return x - y, true
	case syntax.Mul:
		return x * y, true
	case syntax.Quo:
		if y != 0 && y != -1 {
			return x / y, true
		}
	case syntax.Rem:
		if y != 0 && y != -1 {
			return x % y, true
		}
	case syntax.Shl:
		if y >= 0 && y < 63 {
			return x << y, true
		}
	case syntax.Shr:
		if y >= 0 && y < 63 {
			return x >> y, true
		}
	case syntax.Eql:
		return truth(x == y), true
	case syntax.Neq:
		return truth(x != y), true
	case syntax.Lss:
		return truth(x < y), true
	case syntax.Leq:
		return truth(x <= y), true
	case syntax.Gtr:
		return truth(x > y), true
	case syntax.Geq:
		return truth(x >= y), true
	}
	return 0, false
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// number reads a literal, a $NAME or a bare NAME.
func (sh *shell) number(w *syntax.Word) (int64, bool) {
	t := w.Lit()
	if isName(t) {
		v, ok := sh.vars[t]
		if !ok || len(v.elems) == 0 || v.elems[0].Unknown {
			return 0, false
		}
		t = v.elems[0].Text
	} else if t == "" {
		x := sh.text(w)
		if x.Unknown {
			return 0, false
		}
		t = x.Text
	}
	n, err := strconv.ParseInt(t, 10, 64)
	return n, err == nil
}

// compile makes a regular expression of a shell pattern that must match
// whole.
func compile(pat string) (*regexp.Regexp, error) {
	s, err := pattern.Regexp(pat, pattern.EntireString)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(s)
}
