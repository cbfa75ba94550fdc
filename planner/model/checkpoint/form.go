package checkpoint

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
	n := 0
	for i := 0; i < len(name); {
		end, value := numberAt(name, i)
		if end > i {
			key = append(key, '#')
			if n < len(f.nums) {
				f.nums[n] = value
			}
			n++
			i = end
		}
		for i < len(name) {
			c := name[i]
			key = append(key, c)
			i++
			if c == '.' {
				break
			}
		}
	}
	f.key = key
}

// numberAt reads the part that begins at i; end is i when it is no number.
func numberAt(name []byte, i int) (end, value int) {
	for end = i; end < len(name) && name[end] >= '0' && name[end] <= '9'; end++ {
		value = min(value*10+int(name[end]-'0'), maxLayers)
	}
	if end < len(name) && name[end] != '.' {
		return i, 0
	}
	return end, value
}

// isNumber reports a part of digits alone.
func isNumber(part []byte) bool {
	end, _ := numberAt(part, 0)
	return end > 0 && end == len(part)
}
