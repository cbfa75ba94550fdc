//go:build !cgo

package gpu

import "github.com/sglplan/sglplan/planner/machine"

// read says that NVML, a C library, is out of reach of this program.
func read(options) (machine.Machine, error) {
	return empty(), &Error{Kind: NoCGO, Index: -1}
}
