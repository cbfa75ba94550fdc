// Package checkpoint says what a model's weight files hold: how many bytes, of
// which part of the model, and how a rank's share follows from the names of the
// tensors. Package source reads the files; this one only counts.
package checkpoint

import (
	"github.com/sglplan/sglplan/planner/units"
)

// Format is how a checkpoint stores its weights.
type Format string

// The formats that SGLang loads. Pickled files (bin, pt) and GGUF are known by
// their size alone.
const (
	None        Format = ""
	Safetensors Format = "safetensors"
	Bin         Format = "bin"
	PT          Format = "pt"
	GGUF        Format = "gguf"
)

// Pickled reports files that a loader reads whole instead of mapping them.
func (f Format) Pickled() bool { return f == Bin || f == PT }

// Checkpoint is what is known of a model's weight files. The zero value knows
// nothing.
type Checkpoint struct {
	Format      Format
	Files       int         // files that SGLang would load
	Bytes       units.Bytes // of these files
	LargestFile units.Bytes
	Missing     []string    // files that the index names and that are not here
	TotalSize   units.Bytes // metadata.total_size of the index, 0 when not said
	Problems    []error     // files that cannot be read, each with its name
	Fetchable   bool        // found in a cache that SGLang itself would complete
	Local       bool        // these are the very files that the launch will open
	// Tally counts the tensors by their names; nil when the headers could not
	// all be read.
	Tally *Tally
}

// Complete reports whether every file is here and readable.
func (c *Checkpoint) Complete() bool {
	return c != nil && c.Files > 0 && len(c.Missing) == 0 && len(c.Problems) == 0
}
