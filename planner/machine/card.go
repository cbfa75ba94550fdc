package machine

import (
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

// Card is what SGLang's rules ask of a GPU: its size as nvidia-smi prints it
// and its compute capability. A zero TotalMiB or Major is unknown.
type Card struct {
	Name     string // as NVML gives it, "" when unknown
	TotalMiB int64
	Major    int // compute capability, 9 for Hopper
	Minor    int
}

// SM returns the compute capability as one number: 90 for 9.0, 0 when unknown.
func (c Card) SM() int { return c.Major*10 + c.Minor }

// Capability returns the compute capability as NVML prints it, "9.0", or "" when
// unknown.
func (c Card) Capability() string {
	if c.Major == 0 {
		return ""
	}
	return strconv.Itoa(c.Major) + "." + strconv.Itoa(c.Minor)
}

// Card returns the rule-relevant part of a GPU.
func (g GPU) Card() Card {
	c := Card{Name: g.Name}
	if g.TotalBytes != nil {
		c.TotalMiB = int64(*g.TotalBytes / units.MiB)
	}
	if major, minor, ok := strings.Cut(g.ComputeCapability, "."); ok {
		c.Major, _ = strconv.Atoi(major)
		c.Minor, _ = strconv.Atoi(minor)
	}
	return c
}
