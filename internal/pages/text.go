package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is a Markdown table; columns whose name ends in > are right-aligned.
type table struct{ b strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	rule := make([]string, len(columns))
	for i, c := range columns {
		rule[i] = "---"
		if name, right := strings.CutSuffix(c, ">"); right {
			columns[i], rule[i] = name, "---:"
		}
	}
	t.row(columns...)
	t.row(rule...)
	return t
}

func (t *table) row(cells ...string) {
	t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (t *table) String() string { return t.b.String() + "\n" }

// thousands prints a whole number with separators.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent prints a signed relative error.
func percent(rel float64) string {
	switch a := math.Abs(rel); {
	case a < 0.000005:
		return "0 %"
	case a < 0.001:
		return fmt.Sprintf("%+.3f %%", 100*rel)
	case a < 0.1:
		return fmt.Sprintf("%+.2f %%", 100*rel)
	default:
		return fmt.Sprintf("%+.0f %%", 100*rel)
	}
}

// size prints a relative error without its sign.
func size(rel float64) string { return strings.TrimPrefix(percent(math.Abs(rel)), "+") }

func gib(v float64) string { return fmt.Sprintf("%.2f", v) }

func fraction(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// code puts a word between backticks.
func code(s string) string { return "`" + s + "`" }

// flags is the command without the launcher and what says nothing about
// memory.
func flags(argv []string) string {
	var out []string
	for i := 0; i < len(argv); i++ {
		switch w := argv[i]; w {
		case "python3", "-m", "sglang.launch_server", "--skip-tokenizer-init", "--trust-remote-code":
		case "--port", "--load-format", "--model-path", "--watchdog-timeout":
			i++
		default:
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return "(defaults)"
	}
	return strings.Join(out, " ")
}

// stats are the sizes of a set of errors.
type stats []float64

func (s stats) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	abs := make([]float64, len(s))
	for i, v := range s {
		abs[i] = math.Abs(v)
	}
	slices.Sort(abs)
	return abs[int(math.Round(q*float64(len(abs)-1)))]
}

// worst is the error of the largest size, with its sign.
func (s stats) worst() float64 {
	var w float64
	for _, v := range s {
		if math.Abs(v) > math.Abs(w) {
			w = v
		}
	}
	return w
}

// within counts the errors of at most a size.
func (s stats) within(size float64) int {
	n := 0
	for _, v := range s {
		if math.Abs(v) <= size {
			n++
		}
	}
	return n
}

// overSetups is the median signed error of each setup.
func overSetups[T any](xs []T, setup func(T) string, err func(T) float64) stats {
	groups := map[string][]float64{}
	for _, x := range xs {
		groups[setup(x)] = append(groups[setup(x)], err(x))
	}
	var out stats
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		g := groups[k]
		slices.Sort(g)
		out = append(out, g[len(g)/2])
	}
	return out
}
