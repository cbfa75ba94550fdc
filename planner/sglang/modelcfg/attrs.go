package modelcfg

import (
	"math"

	"github.com/sglplan/sglplan/planner/model"
)

// attrs reads attributes of a configuration object as SGLang sees them: the
// key of the file, else the class default. A key given as null is None, which
// the class default does not replace.
type attrs struct {
	sec      model.Section
	defaults map[string]int
	aliases  map[string]string // attribute -> the name the file may use
	up       *attrs            // where attributes missing here are looked up
}

// has reports whether the attribute exists, None included.
func (a *attrs) has(key string) bool {
	if _, ok := a.sec[key]; ok {
		return true
	}
	if _, ok := a.defaults[key]; ok {
		return true
	}
	if al, ok := a.aliases[key]; ok {
		if _, ok := a.sec[al]; ok {
			return true
		}
	}
	return a.up != nil && a.up.has(key)
}

// int returns a whole-number attribute, ok false when missing or None.
func (a *attrs) int(key string) (int, bool) {
	if v, ok := a.sec[key]; ok {
		if v == nil {
			return 0, false
		}
		if n, ok := a.sec.Int(key); ok {
			return clampInt(n), true
		}
		return 0, false
	}
	if al, ok := a.aliases[key]; ok {
		if n, ok := a.sec.Int(al); ok {
			return clampInt(n), true
		}
	}
	if n, ok := a.defaults[key]; ok {
		return n, true
	}
	if a.up != nil {
		return a.up.int(key)
	}
	return 0, false
}

// or returns a whole-number attribute, def when missing or None.
func (a *attrs) or(key string, def int) int {
	if n, ok := a.int(key); ok {
		return n
	}
	return def
}

// first returns the first of the attributes that is a number.
func (a *attrs) first(keys ...string) (int, bool) {
	for _, k := range keys {
		if n, ok := a.int(k); ok {
			return n, true
		}
	}
	return 0, false
}

func (a *attrs) str(key string) string {
	if s := a.sec.Str(key); s != "" {
		return s
	}
	if a.up != nil {
		return a.up.str(key)
	}
	return ""
}

func (a *attrs) bool(key string) bool {
	if b, ok := a.sec.Bool(key); ok {
		return b
	}
	if _, ok := a.sec[key]; !ok && a.up != nil {
		return a.up.bool(key)
	}
	return false
}

func (a *attrs) sub(key string) model.Section {
	if s := a.sec.Sub(key); s != nil {
		return s
	}
	if _, ok := a.sec[key]; !ok && a.up != nil {
		return a.up.sub(key)
	}
	return nil
}

func (a *attrs) ints(key string) []int {
	l := a.sec.Ints(key)
	if l == nil {
		if _, ok := a.sec[key]; !ok && a.up != nil {
			return a.up.ints(key)
		}
		return nil
	}
	out := make([]int, len(l))
	for i, n := range l {
		out[i] = clampInt(n)
	}
	return out
}

func (a *attrs) strs(key string) []string {
	l := a.sec.Strs(key)
	if l == nil {
		if _, ok := a.sec[key]; !ok && a.up != nil {
			return a.up.strs(key)
		}
	}
	return l
}

// clampInt keeps absurd numbers of a file from overflowing products later; the
// limits of sane values are checked in limits.go.
func clampInt(n int64) int {
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}
