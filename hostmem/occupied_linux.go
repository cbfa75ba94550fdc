package hostmem

import (
	"io/fs"
	"syscall"

	"github.com/sglplan/sglplan/planner/units"
)

// occupied returns the memory that a file takes: files in tmpfs are sparse, so
// their length says little.
func occupied(info fs.FileInfo) units.Bytes {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return units.Bytes(s.Blocks) * 512
	}
	return units.Bytes(info.Size())
}
