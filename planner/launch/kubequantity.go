package launch

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// quantitySuffixes are those of a Kubernetes quantity: k, M, G are decimal, Ki,
// Mi, Gi binary, m a thousandth.
var quantitySuffixes = map[string]*big.Rat{
	"n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3), "": big.NewRat(1, 1),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1),
	"T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1),
	"Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
}

// kubeQuantity reads a Kubernetes quantity of bytes, rounded up as Kubernetes
// does. 445G is 445e9 bytes, 445Gi is 445 * 2^30; a lower-case g is no suffix.
func kubeQuantity(s string) (units.Bytes, error) {
	t := strings.TrimSpace(s)
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || t[i] == '.' || i == 0 && (t[i] == '+' || t[i] == '-')) {
		i++
	}
	number, suffix := t[:i], t[i:]
	mult, ok := quantitySuffixes[suffix]
	if !ok && len(suffix) > 1 && (suffix[0] == 'e' || suffix[0] == 'E') { // 12e6
		exp, err := strconv.Atoi(suffix[1:])
		if err == nil && exp >= 0 && exp <= 18 {
			mult, ok = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exp)), nil)), true
		}
	}
	if !ok {
		return 0, &units.SyntaxError{Text: s, Why: "no quantity"}
	}
	if len(number) > 64 {
		return 0, &units.SyntaxError{Text: s, Why: "too long"}
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok || v.Sign() < 0 {
		return 0, &units.SyntaxError{Text: s, Why: "no positive number"}
	}
	v.Mul(v, mult)
	n := new(big.Int).Add(v.Num(), new(big.Int).Sub(v.Denom(), big.NewInt(1)))
	n.Quo(n, v.Denom())
	if !n.IsInt64() || n.Int64() == math.MaxInt64 {
		return 0, &units.SyntaxError{Text: s, Why: "too large"}
	}
	return units.Bytes(n.Int64()), nil
}
