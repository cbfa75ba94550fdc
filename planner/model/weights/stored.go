package weights

import "github.com/sglplan/sglplan/planner/model"

// GroupSize is the size of a group of tensors.
type GroupSize struct {
	Group Group
	Bytes int64
}

// Stored returns what a checkpoint of that architecture holds, by group, if it
// is what its config says: the modules of one rank that holds everything, each
// as its quantisation stores it, without what a loader adds. Prediction layers
// are not part of it. The error is that of Builder.Modules or ParseQuant.
func Stored(c *model.Config, arch string) ([]GroupSize, error) {
	quant, err := ParseQuant(c, "")
	if err != nil {
		return nil, err
	}
	rules := Rules{IndexerOwners: true, MXFP4NarrowScales: true}
	b := &Builder{C: c, T: c.Text(), Rules: rules, Layout: Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1, Dense: 1, Vision: 1, PP: 1}}
	mods, err := b.Modules(arch)
	if err != nil {
		return nil, err
	}
	mem := NewReplay(8 * len(mods))
	Assign(mods, quant)
	Build(mods, mem, &rules)
	var out []GroupSize
	for g := range groups {
		if n := mem.Live(g); n > 0 && g != Rope {
			out = append(out, GroupSize{g, n})
		}
	}
	return out, nil
}
