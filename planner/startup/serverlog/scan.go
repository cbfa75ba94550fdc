package serverlog

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sglplan/sglplan/planner/units"
)

// after returns what follows key in b, nil when it is not there.
func after(b []byte, key string) []byte {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil
	}
	return b[i+len(key):]
}

// number reads the number at the start of b.
func number(b []byte) (float64, bool) {
	n := 0
	for n < len(b) && n < 32 && (b[n] >= '0' && b[n] <= '9' || b[n] == '.' && n+1 < len(b) && b[n+1] >= '0' && b[n+1] <= '9' || b[n] == '-' && n == 0) {
		n++
	}
	v, err := strconv.ParseFloat(string(b[:n]), 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// float reads the number behind key.
func float(b []byte, key string) (float64, bool) { return number(after(b, key)) }

// integer reads the whole number behind key, 0 when it is not there.
func integer(b []byte, key string) int64 {
	v, ok := number(after(b, key))
	if !ok || math.Abs(v) > 1<<53 {
		return 0
	}
	return int64(v)
}

// gib reads a figure that SGLang prints in GiB, nil when it is not there.
func gib(b []byte, key string) *units.Bytes {
	v, ok := float(b, key)
	if !ok || math.Abs(v) > 1<<30 {
		return nil
	}
	n := units.FromGiB(v)
	return &n
}

func orZero(b *units.Bytes) units.Bytes {
	if b == nil {
		return 0
	}
	return *b
}

// word returns b up to one of the bytes of stop.
func word(b []byte, stop string) string {
	if i := bytes.IndexAny(b, stop); i >= 0 {
		b = b[:i]
	}
	return text(b, 80)
}

// text makes a printable, valid string of at most most bytes.
func text(b []byte, most int) string {
	cut := len(b) > most
	s := strings.ToValidUTF8(string(b[:min(len(b), most)]), "")
	s = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if cut {
		s += "..."
	}
	return strings.TrimSpace(s)
}

// clock reads tqdm's "MM:SS" or "H:MM:SS"; -1 for "?".
func clock(s string) time.Duration {
	var total time.Duration
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return -1
	}
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1e6 {
			return -1
		}
		total = total*60 + time.Duration(n)
	}
	return total * time.Second
}
