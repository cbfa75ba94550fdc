package weights

import "github.com/sglplan/sglplan/planner/figure"

// Result is what loading a model takes on one rank's card.
type Result struct {
	Architecture string
	Resident     figure.Bytes // tensors that stay
	Load         figure.Bytes // what the allocator holds when loading ends: SGLang's "mem usage"
	Peak         figure.Bytes // the most that it holds while loading
	Constructed  figure.Bytes // tensors as built, before anything is rewritten
	AfterSharing figure.Bytes // drafts: what stays once the target's embedding and head are shared; else Resident
	Groups       []GroupBytes
	Scheme       string // the quantisation method, "" for none
}

// GroupBytes is one line of the table of weights.
type GroupBytes struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	Sharding string `json:"sharding"`
}

// Table returns the groups that hold anything, with how they are split.
func Table(mods []Module, r *Replay) []GroupBytes {
	var split [groups + 1]string
	for i := range mods {
		m := &mods[i]
		if s := split[m.Group]; s == "" || s == "copy" {
			split[m.Group] = m.Split
		} else if m.Split != "copy" && m.Split != s {
			split[m.Group] = "mixed"
		}
	}
	var out []GroupBytes
	for g := range groups {
		if n := r.Live(g); n > 0 {
			out = append(out, GroupBytes{g.String(), n, split[g]})
		}
	}
	return out
}
