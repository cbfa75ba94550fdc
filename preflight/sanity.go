package preflight

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// A RangeError reports an option that no machine of this kind can show.
type RangeError struct {
	Option string // "--gpu-free"
	Given  units.Bytes
	Most   units.Bytes // what the card has
	Card   string      // its name, "" when not known
}

func (e *RangeError) Error() string {
	card := e.Card
	if card == "" {
		card = "card"
	}
	return fmt.Sprintf("%s %v is more than the %v of the %s", e.Option, e.Given, e.Most, card)
}

// sane refuses free memory beyond the whole of a card: every figure that
// follows from it would be wrong.
func (o Options) sane(ms []machine.Machine) error {
	if o.GPUFree == nil {
		return nil
	}
	for _, m := range ms {
		for _, g := range m.GPUs {
			if g.TotalBytes != nil && *g.TotalBytes > 0 && *o.GPUFree > *g.TotalBytes {
				return &RangeError{"--gpu-free", *o.GPUFree, *g.TotalBytes, g.Name}
			}
		}
	}
	return nil
}
