package args

import (
	"fmt"
	"strconv"
	"strings"
)

// A rule's condition is a small expression over the server arguments:
//
//	enable_priority_scheduling and schedule_policy not in ('fcfs', 'lof')
//	tp_size * pp_size % nnodes != 0
//
// Names are fields, as resolved; a field that the release does not have is
// None. Texts are quoted, None, True and False are Python's, and so are truth,
// equality and the order of operators. Ordering with None is false, where
// Python would stop: SGLang asks for None first. len(x), given(x) (the user set
// it) and asked(x) (its value before resolution) are the functions. The names
// in derived hold across releases; arch is the model's architecture, compute
// the card's capability (90), each None where it is not known.

// scope gives an expression its values.
type scope interface {
	field(name string) any
	asked(name string) any
	given(name string) bool
}

// expr is a compiled condition.
type expr func(scope) any

// derived are names that hold across releases, with the fields behind them.
var derived = map[string][]string{
	"dp_attention": {"enable_dp_attention", "attn_dp_size"},
	"attn_dp":      {"enable_dp_attention", "attn_dp_size", "dp_size"},
	"lora_on":      {"enable_lora", "lora_paths"},
}

// compile reads an expression and lists the fields it reads.
func compile(text string) (expr, []string, error) {
	p := &exprParser{toks: tokens(text)}
	e, err := p.or()
	if err == nil && p.peek() != "" {
		err = fmt.Errorf("unexpected %q", p.peek())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("condition %q: %w", text, err)
	}
	return e, p.reads, nil
}

// tokens splits at blanks and around operators; texts keep their quotes.
func tokens(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ':
			i++
		case c == '\'':
			j := strings.IndexByte(s[i+1:], '\'')
			if j < 0 {
				return append(out, s[i:]) // no closing quote: the parser refuses it
			}
			out = append(out, s[i:i+j+2])
			i += j + 2
		case strings.ContainsRune("=!<>", rune(c)) && i+1 < len(s) && s[i+1] == '=':
			out = append(out, s[i:i+2])
			i += 2
		case isWord(c):
			j := i
			for j < len(s) && isWord(s[j]) {
				j++
			}
			out = append(out, s[i:j])
			i = j
		default:
			out = append(out, s[i:i+1])
			i++
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

type exprParser struct {
	toks  []string
	i     int
	reads []string
}

func (p *exprParser) read(name string) {
	if fields, ok := derived[name]; ok {
		p.reads = append(p.reads, fields...)
		return
	}
	p.reads = append(p.reads, name)
}

func (p *exprParser) peek() string {
	if p.i < len(p.toks) {
		return p.toks[p.i]
	}
	return ""
}

func (p *exprParser) take(t string) bool {
	if p.peek() != t {
		return false
	}
	p.i++
	return true
}

func (p *exprParser) or() (expr, error) {
	a, err := p.and()
	for err == nil && p.take("or") {
		var b expr
		l := a
		b, err = p.and()
		a = func(s scope) any { return truth(l(s)) || truth(b(s)) }
	}
	return a, err
}

func (p *exprParser) and() (expr, error) {
	a, err := p.not()
	for err == nil && p.take("and") {
		var b expr
		l := a
		b, err = p.not()
		a = func(s scope) any { return truth(l(s)) && truth(b(s)) }
	}
	return a, err
}

func (p *exprParser) not() (expr, error) {
	if !p.take("not") {
		return p.compare()
	}
	e, err := p.not()
	return func(s scope) any { return !truth(e(s)) }, err
}

func (p *exprParser) compare() (expr, error) {
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	op := p.peek()
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		p.i++
		b, err := p.sum()
		return func(s scope) any { return compareValues(op, a(s), b(s)) }, err
	case "in":
		p.i++
		return p.in(a, true)
	case "not":
		p.i++
		if !p.take("in") {
			return nil, fmt.Errorf("in expected after not")
		}
		return p.in(a, false)
	}
	return a, nil
}

// in reads what a value is looked for in: a list in brackets or a list field.
func (p *exprParser) in(a expr, want bool) (expr, error) {
	if !p.take("(") {
		b, err := p.atom()
		return func(s scope) any {
			list, _ := b(s).([]any)
			return member(a(s), list) == want
		}, err
	}
	var list []expr
	for {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if p.take(")") {
			break
		}
		if !p.take(",") {
			return nil, fmt.Errorf("comma expected at %q", p.peek())
		}
	}
	return func(s scope) any {
		vals := make([]any, len(list))
		for i, e := range list {
			vals[i] = e(s)
		}
		return member(a(s), vals) == want
	}, nil
}

func (p *exprParser) sum() (expr, error) {
	return p.chain("+-", (*exprParser).product)
}

func (p *exprParser) product() (expr, error) {
	return p.chain("*%", (*exprParser).atom)
}

// chain reads operators of one rank, from left to right.
func (p *exprParser) chain(ops string, next func(*exprParser) (expr, error)) (expr, error) {
	a, err := next(p)
	for err == nil && len(p.peek()) == 1 && strings.Contains(ops, p.peek()) {
		op := p.peek()
		p.i++
		var b expr
		l := a
		b, err = next(p)
		a = func(s scope) any { return arithmetic(op, l(s), b(s)) }
	}
	return a, err
}

func (p *exprParser) atom() (expr, error) {
	t := p.peek()
	p.i++
	switch {
	case t == "":
		return nil, fmt.Errorf("value expected")
	case t == "(":
		e, err := p.or()
		if err == nil && !p.take(")") {
			err = fmt.Errorf("missing )")
		}
		return e, err
	case t == "-":
		e, err := p.atom()
		return func(s scope) any { return arithmetic("-", int64(0), e(s)) }, err
	case t[0] == '\'':
		if len(t) < 2 || t[len(t)-1] != '\'' {
			return nil, fmt.Errorf("text without its closing quote: %s", t)
		}
		return constant(t[1 : len(t)-1]), nil
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.':
		if n, err := strconv.ParseInt(t, 10, 64); err == nil {
			return constant(n), nil
		}
		f, err := strconv.ParseFloat(t, 64)
		return constant(f), err
	}
	switch t {
	case "None":
		return constant(nil), nil
	case "True":
		return constant(true), nil
	case "False":
		return constant(false), nil
	case "len", "given", "asked":
		if p.peek() == "(" {
			return p.call(t)
		}
	}
	if !isWord(t[0]) {
		return nil, fmt.Errorf("unexpected %q", t)
	}
	p.read(t)
	return func(s scope) any { return s.field(t) }, nil
}

func constant(v any) expr { return func(scope) any { return v } }

func (p *exprParser) call(name string) (expr, error) {
	p.i++
	arg := p.peek()
	p.i++
	if !p.take(")") {
		return nil, fmt.Errorf("missing ) after %s(%s", name, arg)
	}
	p.read(arg)
	switch name {
	case "given":
		return func(s scope) any { return s.given(arg) }, nil
	case "asked":
		return func(s scope) any { return s.asked(arg) }, nil
	}
	return func(s scope) any {
		switch v := s.field(arg).(type) {
		case []any:
			return int64(len(v))
		case map[string]any:
			return int64(len(v))
		case string:
			return int64(len(v))
		}
		return int64(0)
	}, nil
}

// truth is Python's bool().
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// number is a value as Python's arithmetic sees it.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func sameValue(a, b any) bool {
	x, okA := number(a)
	y, okB := number(b)
	if okA && okB {
		return x == y
	}
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	s, okA := a.(string)
	t, okB := b.(string)
	return okA && okB && s == t
}

func member(v any, list []any) bool {
	for _, x := range list {
		if sameValue(v, x) {
			return true
		}
	}
	return false
}

func compareValues(op string, a, b any) bool {
	switch op {
	case "==":
		return sameValue(a, b)
	case "!=":
		return !sameValue(a, b)
	}
	x, okA := number(a)
	y, okB := number(b)
	if !okA || !okB {
		return false
	}
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

// arithmetic is on whole numbers, None for anything else and for a remainder
// by zero; % takes the sign of the divisor, as in Python.
func arithmetic(op string, a, b any) any {
	x, okA := a.(int64)
	y, okB := b.(int64)
	if !okA || !okB {
		return nil
	}
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	}
	if y == 0 {
		return nil
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}
