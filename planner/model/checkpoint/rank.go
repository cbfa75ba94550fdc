package checkpoint

import (
	"github.com/sglplan/sglplan/planner/model/weights"
)

// Share is what one rank loads, in bytes as stored.
type Share struct {
	Groups []weights.GroupBytes
	Low    int64 // what no rule is sure of divided over TP
	High   int64 // and held in full
}

// Share counts a rank's tensors by the rules that SGLang's classes have in
// common. layers is the number of decoder layers, kvHeads the KV heads of the
// model (0 when there are none), tied whether the head is the embedding.
func (t *Tally) Share(l weights.Layout, layers, kvHeads int, tied bool) Share {
	from, to := l.Layers(int64(layers))
	sum := t.stage(int(from), int(to))
	var out Share
	for g := range sum.bytes {
		group := weights.Group(g)
		if group == weights.Embedding && !l.First() || group == weights.LMHead && (tied || !l.Last()) {
			continue
		}
		var low, high int64
		for s, n := range sum.bytes[g] {
			a, b := Split(s).share(n, l, int64(kvHeads))
			low, high = low+a, high+b
		}
		if high > 0 {
			out.Groups = append(out.Groups, weights.GroupBytes{Name: group.String(), Bytes: high, Sharding: "by tensor name"})
		}
		out.Low, out.High = out.Low+low, out.High+high
	}
	return out
}

// share is a rank's part of n bytes; low and high differ where no rule says.
func (s Split) share(n int64, l weights.Layout, kvHeads int64) (low, high int64) {
	over := int64(1)
	switch s {
	case ByTP:
		over = l.TP
	case ByAttnTP:
		over = l.AttnTP
	case ByKV:
		over = l.AttnTP
		if kvHeads > 0 {
			over = min(over, kvHeads)
		}
	case ByExpert:
		over = l.EP * l.MoETP
	case ByTower: // some classes keep parts of their tower whole
		return n / max(l.Vision, 1), n
	case Either:
		return n / max(l.TP, 1), n
	}
	n /= max(over, 1)
	return n, n
}
