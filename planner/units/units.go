// Package units gives memory sizes a type of their own, so that GiB and
// decimal GB are never mixed silently.
//
// SGLang prints GiB and calls it GB for everything on the GPU, while
// --hicache-size is decimal GB (1e9 bytes). Every size in this module is a
// Bytes; the unit appears only where a figure is read or printed.
//
// Import it to read the sizes that the planner returns.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes.
type Bytes int64

// The binary units (GPU figures, cgroup files) and the decimal ones
// (--hicache-size, drive sizes).
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
	KB  Bytes = 1e3
	MB  Bytes = 1e6
	GB  Bytes = 1e9
	TB  Bytes = 1e12
)

// GiB returns b in units of 2^30 bytes, as SGLang's GPU log lines count.
func (b Bytes) GiB() float64 { return float64(b) / float64(GiB) }

// MiB returns b in units of 2^20 bytes, as nvidia-smi counts.
func (b Bytes) MiB() float64 { return float64(b) / float64(MiB) }

// GB returns b in units of 1e9 bytes, as --hicache-size counts.
func (b Bytes) GB() float64 { return float64(b) / float64(GB) }

// String prints b in the largest binary unit that keeps it above one.
func (b Bytes) String() string {
	switch a := max(b, -b); {
	case a >= GiB:
		return fmt.Sprintf("%.2f GiB", b.GiB())
	case a >= MiB:
		return fmt.Sprintf("%.1f MiB", b.MiB())
	case a >= KiB:
		return fmt.Sprintf("%.1f KiB", float64(b)/float64(KiB))
	default:
		return fmt.Sprintf("%d B", int64(b))
	}
}

// FromGiB converts a figure in GiB, rounding to the nearest byte.
func FromGiB(g float64) Bytes { return Bytes(math.Round(g * float64(GiB))) }

// A SyntaxError reports a size that cannot be read.
type SyntaxError struct {
	Text string
	Why  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("size %q: %s (write a number and a unit, for example 94.04GiB, 97887MiB or 449GB)", e.Text, e.Why)
}

var suffixes = map[string]Bytes{
	"": 1, "b": 1,
	"k": KiB, "ki": KiB, "kib": KiB, "kb": KB,
	"m": MiB, "mi": MiB, "mib": MiB, "mb": MB,
	"g": GiB, "gi": GiB, "gib": GiB, "gb": GB,
	"t": TiB, "ti": TiB, "tib": TiB, "tb": TB,
}

// Parse reads a size such as "94.04GiB", "449GB", "97887MiB" or "1024".
// A bare number is bytes; K, M, G and T alone are binary, as in Docker and
// systemd (Kubernetes quantities, where they are decimal, have a reader of
// their own). Negative, infinite and overflowing sizes are a *SyntaxError.
func Parse(s string) (Bytes, error) {
	t := strings.TrimSpace(s)
	i := strings.LastIndexFunc(t, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }) + 1
	num, unit := t[:i], strings.ToLower(strings.TrimSpace(t[i:]))
	mult, ok := suffixes[unit]
	if !ok {
		return 0, &SyntaxError{s, fmt.Sprintf("unknown unit %q", strings.TrimSpace(t[i:]))}
	}
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		if n < 0 {
			return 0, &SyntaxError{s, "negative"}
		}
		if n > math.MaxInt64/int64(mult) {
			return 0, &SyntaxError{s, "too large"}
		}
		return Bytes(n) * mult, nil
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsNaN(f) {
		return 0, &SyntaxError{s, "not a number"}
	}
	if f < 0 {
		return 0, &SyntaxError{s, "negative"}
	}
	v := f * float64(mult)
	if v >= math.MaxInt64 {
		return 0, &SyntaxError{s, "too large"}
	}
	return Bytes(math.Round(v)), nil
}
