package hostmem

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// maxFile bounds what is read of one kernel file; the largest, mountinfo of a
// host with many containers, is far below it.
const maxFile = 4 << 20

// ParseError reports a kernel file whose text was not understood.
type ParseError struct {
	File string
	Text string // the offending line or field
}

func (e *ParseError) Error() string { return fmt.Sprintf("%s: cannot read %.80q", e.File, e.Text) }

// path places an absolute path below the root.
func (f *FS) path(p string) string { return filepath.Join(f.root, p) }

// read returns the text of a file below the root. Kernel files have no honest
// size, so it is read to its end within the bound.
func (f *FS) read(p string) (string, error) {
	file, err := os.Open(f.path(p))
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile))
	return string(b), err
}

// size reads a file that holds one number of bytes; ok is false where the file
// is not there, and noLimit is true where it says "max".
func (f *FS) size(p string) (v units.Bytes, noLimit bool, err error) {
	text, err := f.read(p)
	if err != nil {
		return 0, false, err
	}
	return parseSize(p, text)
}

// parseSize reads "max" or a number of bytes. The kernel counts in unsigned 64
// bits; what lies above the signed range stands for "no limit" as well.
func parseSize(name, text string) (v units.Bytes, noLimit bool, err error) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, true, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, &ParseError{name, text}
	}
	if n > math.MaxInt64 {
		return 0, true, nil
	}
	return units.Bytes(n), false, nil
}

// parseKeyed reads lines of a key and a number, the form of memory.stat and of
// the ZFS statistics (where a type stands between the two).
func parseKeyed(text string) map[string]units.Bytes {
	values := map[string]units.Bytes{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64); err == nil && n >= 0 {
			values[fields[0]] = units.Bytes(n)
		}
	}
	return values
}

// parseKB reads lines of the form "Key:   123 kB", with the "Node 0" that the
// files of NUMA nodes put before it.
func parseKB(text string) map[string]units.Bytes {
	values := map[string]units.Bytes{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		number, isKB := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if !ok || !isKB || err != nil || n < 0 || n > math.MaxInt64>>10 {
			continue
		}
		fields := strings.Fields(name)
		if len(fields) > 0 {
			values[fields[len(fields)-1]] = units.Bytes(n) * units.KiB
		}
	}
	return values
}

// parseList reads a list of numbers as the kernel prints CPUs and nodes:
// "0-3,8". Anything else ends it.
func parseList(text string) []int {
	const most = 1 << 16
	var list []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if isRange && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b-a > most-len(list) {
			return list
		}
		for i := a; i <= b; i++ {
			list = append(list, i)
		}
	}
	return list
}

func missing(err error) bool { return errors.Is(err, os.ErrNotExist) }

func ptr[T any](v T) *T { return &v }
