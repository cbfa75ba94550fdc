package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// VisibleError reports a CUDA_VISIBLE_DEVICES that hides cards by mistake.
// The cards before the bad entry remain visible, as CUDA does.
type VisibleError struct {
	Entry string
	Why   string
}

func (e *VisibleError) Error() string {
	return fmt.Sprintf("CUDA_VISIBLE_DEVICES entry %q: %s; CUDA stops there, so this card and those after it are not visible", clip(e.Entry), e.Why)
}

// Visible returns the cards that a CUDA program sees, in the order in which it
// numbers them: position i is CUDA device i.
//
// gpus is in NVML's order (by PCI address). visible is CUDA_VISIBLE_DEVICES or
// nil when it is not set; an empty value hides every card. Entries are indices,
// prefixes of a UUID ("GPU-3ba87a45") and MIG instances ("MIG-..."). order is
// CUDA_DEVICE_ORDER; unless it is PCI_BUS_ID, CUDA puts the fastest card first
// and keeps the rest in PCI order, which shows on mixed machines only.
//
// The error is a *VisibleError and comes together with the cards before it.
func Visible(gpus []GPU, visible *string, order string) ([]GPU, error) {
	ordered := cudaOrder(gpus, order)
	if visible == nil {
		return wholeOrFirstInstance(ordered), nil
	}
	var seen []GPU
	if strings.TrimSpace(*visible) == "" {
		return seen, nil
	}
	for entry := range strings.SplitSeq(*visible, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "-1" || entry == "NoDevFiles" { // how people and Slurm say "none"
			return seen, nil
		}
		g, err := pick(ordered, entry)
		if err != nil {
			return seen, err
		}
		if slices.ContainsFunc(seen, func(s GPU) bool { return sameCard(s, g) }) {
			// A card named twice is an error for the whole list.
			return nil, &VisibleError{entry, "this card is named twice; CUDA then sees none"}
		}
		seen = append(seen, g)
	}
	return seen, nil
}

// cudaOrder puts cards into the order of CUDA's enumeration. Which card CUDA
// thinks fastest is its own estimate; the newer class, then the larger memory
// stand for it. MIG instances stay behind their card.
func cudaOrder(gpus []GPU, order string) []GPU {
	ordered := slices.Clone(gpus)
	if strings.EqualFold(strings.TrimSpace(order), "PCI_BUS_ID") || !Mixed(gpus) {
		return ordered
	}
	fastest := slices.MaxFunc(ordered, func(a, b GPU) int {
		ca, cb := a.Card(), b.Card()
		return cmp.Or(cmp.Compare(ca.SM(), cb.SM()), cmp.Compare(ca.TotalMiB, cb.TotalMiB), cmp.Compare(b.Index, a.Index))
	})
	slices.SortStableFunc(ordered, func(a, b GPU) int {
		return cmp.Compare(btoi(a.Index != fastest.Index), btoi(b.Index != fastest.Index))
	})
	return ordered
}

// Mixed reports whether the machine has cards of different kinds, so that
// CUDA's own order is a guess unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
func Mixed(gpus []GPU) bool {
	name := ""
	for _, g := range gpus {
		switch {
		case g.MIG || g.Name == "": // not a card of its own, or a lost one
		case name == "":
			name = g.Name
		case g.Name != name:
			return true
		}
	}
	return false
}

// wholeOrFirstInstance is what CUDA shows without CUDA_VISIBLE_DEVICES: every
// whole card, or, where cards are partitioned, one MIG instance alone.
func wholeOrFirstInstance(gpus []GPU) []GPU {
	var whole []GPU
	for _, g := range gpus {
		if !g.MIG && !partitioned(gpus, g) {
			whole = append(whole, g)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	for _, g := range gpus {
		if g.MIG {
			return []GPU{g}
		}
	}
	return nil
}

// partitioned reports whether a card is in MIG mode with instances on it: CUDA
// does not offer the card itself then.
func partitioned(gpus []GPU, g GPU) bool {
	return g.UUID != "" && slices.ContainsFunc(gpus, func(m GPU) bool { return m.MIG && m.Parent == g.UUID })
}

// pick finds the card of one entry.
func pick(gpus []GPU, entry string) (GPU, error) {
	if i, err := strconv.Atoi(entry); err == nil {
		whole := slices.DeleteFunc(slices.Clone(gpus), func(g GPU) bool { return g.MIG })
		if i < 0 || i >= len(whole) {
			return GPU{}, &VisibleError{entry, fmt.Sprintf("there is no such index among %d cards", len(whole))}
		}
		return instanceOf(gpus, whole[i]), nil
	}
	mig := strings.HasPrefix(entry, "MIG-")
	if !mig && !strings.HasPrefix(entry, "GPU-") {
		return GPU{}, &VisibleError{entry, "it is neither an index nor a GPU- or MIG- identifier"}
	}
	var found []GPU
	for _, g := range gpus {
		if g.MIG == mig && strings.HasPrefix(g.UUID, entry) {
			found = append(found, g)
		}
	}
	switch {
	case len(found) == 0:
		return GPU{}, &VisibleError{entry, "no card has this identifier"}
	case len(found) > 1 && found[0].UUID != entry:
		return GPU{}, &VisibleError{entry, "more than one card begins like this"}
	case mig:
		return found[0], nil
	}
	return instanceOf(gpus, found[0]), nil
}

// instanceOf returns the card, or its first MIG instance when it is
// partitioned: CUDA then computes on that instance alone.
func instanceOf(gpus []GPU, g GPU) GPU {
	if !partitioned(gpus, g) {
		return g
	}
	for _, m := range gpus {
		if m.MIG && m.Parent == g.UUID {
			return m
		}
	}
	return g
}

// sameCard reports whether two entries mean one device.
func sameCard(a, b GPU) bool {
	if a.UUID != "" || b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.Index == b.Index && a.MIG == b.MIG
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
