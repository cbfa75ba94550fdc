package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// The Triton kernels' fp4 layout for Hopper is worked out in 32-bit integers,
// four values in a word: copies of the matrix come and go, and what they leave
// behind shapes what the allocator holds afterwards.

// hopperLayout swizzles both matrices of the experts; the old ones go when both
// are done. Scales as read stay beside theirs.
func (l *loader) hopperLayout(m *weights.Module, k, h, i int64) {
	w := l.hopperMatrix(m, k, h)
	w2 := l.hopperMatrix(m, h, i)
	l.mem.Free(m.Held[weights.W])
	l.mem.Free(m.Held[weights.W2])
	m.Held[weights.W], m.Held[weights.W2] = w, w2
}

// hopperMatrix swizzles a matrix of n outputs and k inputs per expert: values
// with k padded to 128, scales with n padded to 256; from 0.5.18 (newer kernel
// package) the values' n is padded to 256 and the scales' k to 128.
func (l *loader) hopperMatrix(m *weights.Module, n, k int64) weights.Handle {
	r, g, e := l.mem, m.Group, m.Experts
	if l.rel.AtLeast("0.5.18") {
		return l.hopperMatrix2(m, n, k)
	}
	b := bits{r, g, e * align(k, 128) / 2 * align(n, 64)}
	padded := b.word()
	again := b.word()
	b.free(padded)
	data := b.word()
	b.free(again)
	v := b.pack()
	b.free(data)
	l.hopperScale(m, n, up(k, 32), align(up(k, 32), 2))
	return v
}

// hopperScale turns the scales, n rows of cols, pads them and swizzles.
func (l *loader) hopperScale(m *weights.Module, n, cols, padded int64) {
	r, g, e := l.mem, m.Group, m.Experts
	a := r.New(g, weights.U8, e, n, cols)
	c := r.New(g, weights.U8, e, n, cols)
	r.Free(a)
	p := r.New(g, weights.U8, e, align(n, 256), padded)
	r.Free(c)
	r.New(g, weights.U8, e, align(n, 256), padded)
	r.Free(p)
}

// hopperMatrix2 keeps two copies of the matrix, its nibbles joined along either
// axis, until the layout is made.
func (l *loader) hopperMatrix2(m *weights.Module, n, k int64) weights.Handle {
	r, g, e := l.mem, m.Group, m.Experts
	cols := align(k, 128) / 32
	var scale weights.Handle
	if cols != up(k, 32) {
		scale = r.New(g, weights.U8, e, n, cols)
	}
	raw := bits{r, g, e * n * k / 2}
	old, joined := raw.word(), raw.word()
	b := bits{r, g, e * align(k, 128) / 2 * align(n, 256)}
	padded := b.word()
	data := b.word()
	b.free(padded)
	v := b.packInPlace()
	b.free(data, old, joined)
	l.hopperScale(m, n, cols, cols)
	r.Free(scale)
	return v
}

func up(n, to int64) int64 { return (n + to - 1) / to }

// bits replays integer arithmetic over a matrix of size bytes.
type bits struct {
	r    *weights.Replay
	g    weights.Group
	size int64
}

func (b bits) word() weights.Handle { return b.r.New(b.g, weights.U8, b.size) }

func (b bits) free(hs ...weights.Handle) {
	for _, h := range hs {
		b.r.Free(h)
	}
}

// spread moves the bits of one value of each word; shifted takes its upper
// half, the fourth value in a third part.
func (b bits) spread(shifted, fourth bool) weights.Handle {
	var s weights.Handle
	if shifted {
		s = b.r.New(b.g, weights.U8, b.size/4)
	}
	x := b.word()
	b.free(s)
	part := func() weights.Handle {
		t := b.word()
		u := b.word()
		b.free(t)
		return u
	}
	p, q := part(), part()
	out := b.word()
	b.free(p, q)
	if fourth {
		t := part()
		o := b.word()
		b.free(out, t)
		out = o
	}
	b.free(x)
	return out
}

// pair joins both halves of a value.
func (b bits) pair(fourth bool) weights.Handle {
	lo := b.spread(false, fourth)
	hi := b.spread(true, fourth)
	up := b.word()
	b.free(hi)
	out := b.word()
	b.free(lo, up)
	return out
}

// shift moves a word right, unsigned.
func (b bits) shift() weights.Handle {
	t := b.word()
	u := b.word()
	b.free(t)
	return u
}

// pack joins the four values of each word.
func (b bits) pack() weights.Handle {
	var v [4]weights.Handle
	for i := range v {
		v[i] = b.pair(i == 3)
	}
	s := b.shift()
	x := b.word()
	b.free(s)
	s = b.shift()
	y := b.word()
	b.free(x, s)
	out := b.word()
	b.free(y)
	b.free(v[:]...)
	return out
}

// packInPlace is pack with one result that the values are added to.
func (b bits) packInPlace() weights.Handle {
	out := b.pair(false)
	for i := 1; i < 4; i++ {
		v := b.pair(i == 3)
		if i < 3 {
			s := b.shift()
			b.free(v)
			v = s
		}
		b.free(v)
	}
	return out
}
