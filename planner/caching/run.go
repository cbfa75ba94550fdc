package caching

// AllocRun makes count allocations of n bytes that will be freed together, as
// lists of temporaries are, and calls take with each stretch of them that lies
// in one block. It ends in the same state as count calls of Alloc, at the cost
// of one for each stretch: the rest of the block that was just used is the
// smallest that fits, so that the next allocation comes from there.
func (a *Allocator) AllocRun(n, count int64, take func(b Block, count int64)) {
	n = max(roundTo, (n+roundTo-1)/roundTo*roundTo)
	kind := uint8(0)
	if n > smallMax {
		kind = 1
	}
	for count > 0 {
		room := a.room(kind, n)
		k := min(count, max(room/n, 1))
		take(a.alloc(kind, n, k*n), k)
		count -= k
	}
}

// room returns the size of the block that the next request of n bytes gets.
func (a *Allocator) room(kind uint8, n int64) int64 {
	if i := a.search(kind, n, 0); i < len(a.free[kind]) {
		return a.blocks[a.free[kind][i]].size
	}
	return segmentSize(kind, n)
}
