package checkpoint

import "bytes"

// maxForms bounds how many forms of names are remembered; a model has a few
// dozen.
const maxForms = 1 << 12

// form is what all names that differ in their numbers alone have in common.
type form struct {
	place
	layer int // which of the numbers is the layer's, -1 for none
}

// forms remembers the places of names by their form, since a checkpoint of
// hundreds of thousands of tensors has a few dozen of them.
type forms struct {
	known map[string]form
	key   []byte
	nums  [8]int
}

// of returns a tensor's place and its layer, -1 outside the decoder's layers.
func (f *forms) of(name []byte, rank int) (place, int) {
	f.reduce(name, rank)
	x, ok := f.known[string(f.key)]
	if !ok {
		x.place, x.layer = locate(name, rank)
		if f.known == nil {
			f.known = map[string]form{}
		}
		if len(f.known) < maxForms {
			f.known[string(f.key)] = x
		}
	}
	if x.layer < 0 || x.layer >= len(f.nums) || f.nums[x.layer] >= maxLayers {
		return x.place, -1
	}
	return x.place, f.nums[x.layer]
}

// reduce writes the name's form to f.key, # for each numeric part, and the
// numbers to f.nums.
func (f *forms) reduce(name []byte, rank int) {
	key := append(f.key[:0], byte('0'+min(rank, 2)))
	for n := 0; ; {
		end := bytes.IndexByte(name, '.') + 1
		if end == 0 {
			end = len(name)
		}
		part := name[:end]
		if value, ok := number(part); ok {
			if n < len(f.nums) {
				f.nums[n] = value
			}
			n++
			part = numeric
		}
		key = append(key, part...)
		if end == len(name) {
			break
		}
		name = name[end:]
	}
	f.key = key
}

var numeric = []byte("#.")

// number reads a part of digits alone, its dot included; what is above
// maxLayers counts as that.
func number(part []byte) (value int, ok bool) {
	for i, c := range part {
		if c < '0' || c > '9' {
			return value, c == '.' && i > 0
		}
		value = min(value*10+int(c-'0'), maxLayers)
	}
	return value, len(part) > 0
}
