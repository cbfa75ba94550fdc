package figure

import "github.com/sglplan/sglplan/planner/units"

// Entry is one line of a ledger: what a share of the memory is used for.
type Entry struct {
	Name  string      `json:"name"`
	Bytes units.Bytes `json:"bytes"`
	Low   units.Bytes `json:"low_bytes"`
	High  units.Bytes `json:"high_bytes"`
	Basis Basis       `json:"basis"`
	Note  string      `json:"note,omitempty"`
}

// Line makes a ledger line of a figure.
func Line(name string, f Bytes, note string) Entry {
	return Entry{Name: name, Bytes: f.Value, Low: f.Low, High: f.High, Basis: f.Basis, Note: note}
}
