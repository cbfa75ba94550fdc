package checkpoint

import (
	"strings"

	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/model/weights"
)

// maxLayers bounds the layer numbers that are told apart, far above any model.
const maxLayers = 4096

// groups is the number of groups of package weights.
const groups = int(weights.Other) + 1

// row counts bytes by group and by how they are spread.
type row struct {
	bytes [groups][splits]int64
	// saved is what a model in 16-bit types does not take of it: the other
	// half of matrices that are stored in 32-bit floats.
	saved [groups]int64
}

func (r *row) add(o *row) {
	for g := range r.bytes {
		for s := range r.bytes[g] {
			r.bytes[g][s] += o.bytes[g][s]
		}
		r.saved[g] += o.saved[g]
	}
}

// Tally counts the tensors of a checkpoint by their names. The zero value is
// empty and ready; it is used by one goroutine at a time.
type Tally struct {
	Tensors int
	Bytes   int64 // of all tensors
	outside row
	layers  []row
	draft   int64 // prediction layers under a name of their own
	forms   forms
}

// Add counts one tensor.
func (t *Tally) Add(x *safetensors.Tensor) {
	n := x.Bytes()
	t.Tensors++
	t.Bytes += n
	p, layer := t.forms.of(x.Name, len(x.Shape))
	if p.skip {
		return
	}
	if p.draft {
		t.draft += n
		return
	}
	r := &t.outside
	if layer >= 0 {
		for layer >= len(t.layers) {
			t.layers = append(t.layers, row{})
		}
		r = &t.layers[layer]
	}
	r.bytes[p.group][p.split] += n
	if x.DType.Wide() && len(x.Shape) >= 2 && !strings.Contains(string(x.Name), "scale") {
		r.saved[p.group] += n - n*16/x.DType.Bits()
	}
}

// Merge adds what another tally counted.
func (t *Tally) Merge(o *Tally) {
	t.Tensors += o.Tensors
	t.Bytes += o.Bytes
	t.draft += o.draft
	t.outside.add(&o.outside)
	for len(t.layers) < len(o.layers) {
		t.layers = append(t.layers, row{})
	}
	for i := range o.layers {
		t.layers[i].add(&o.layers[i])
	}
}

// Draft returns the bytes of the prediction layers: those under a name of
// their own, and the decoder's layers from the given number on.
func (t *Tally) Draft(layers int) int64 {
	n := t.draft
	for i := max(layers, 0); i < len(t.layers); i++ {
		for g := range t.layers[i].bytes {
			for _, b := range t.layers[i].bytes[g] {
				n += b
			}
		}
	}
	return n
}

// Layers returns how many decoder layers the names speak of.
func (t *Tally) Layers() int { return len(t.layers) }

// stage sums what a pipeline stage loads: a range of layers, and what is
// outside of them.
func (t *Tally) stage(from, to int) row {
	sum := t.outside
	for i := max(from, 0); i < min(to, len(t.layers)); i++ {
		sum.add(&t.layers[i])
	}
	return sum
}
