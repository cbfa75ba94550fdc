package safetensors

import "hash/maphash"

// nameSet remembers names by their hash, so that a header's duplicates are
// found without keeping its text. The seed is random: no file can be written
// so that two of its names collide.
type nameSet struct {
	seed  maphash.Seed
	slots []uint64 // open addressing, a power of two of them; 0 is free
	n     int
}

const fewNames = 1 << 13

func (s *nameSet) reset() {
	if s.slots == nil {
		s.seed, s.slots = maphash.MakeSeed(), make([]uint64, fewNames)
	}
	clear(s.slots)
	s.n = 0
}

// add reports whether the name is new.
func (s *nameSet) add(name []byte) bool {
	if 2*s.n >= len(s.slots) {
		s.grow()
	}
	h := max(maphash.Bytes(s.seed, name), 1)
	if !s.put(h) {
		return false
	}
	s.n++
	return true
}

func (s *nameSet) put(h uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = h
			return true
		case h:
			return false
		}
	}
}

func (s *nameSet) grow() {
	old := s.slots
	s.slots = make([]uint64, 2*len(old))
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}
