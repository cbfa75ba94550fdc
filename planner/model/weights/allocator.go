package weights

import (
	"cmp"
	"slices"
)

// The constants of PyTorch's CUDA caching allocator (c10/cuda
// CUDACachingAllocator, default settings, no expandable segments).
const (
	minBlock     = 512      // every request is rounded up to this
	smallLimit   = 1 << 20  // requests up to here come from small segments
	smallSegment = 2 << 20  // size of a small segment
	minLarge     = 10 << 20 // requests below this share a 20 MiB segment
	largeSegment = 20 << 20
	roundLarge   = 2 << 20 // larger ones get a segment of their own, rounded
)

// Handle names a live tensor of a Replay. The zero value is no tensor.
type Handle int32

type block struct {
	size, addr int64
	used       int64 // bytes of the tensor, unrounded
	prev, next int32 // neighbours in the segment, 0 for none
	free       bool
	small      bool
}

// allocator replays requests through the caching allocator's rules and says
// how much it holds of the card. Blocks are kept by index; index 0 is unused.
type allocator struct {
	blocks   []block
	spare    []int32    // indices to use again
	pools    [2][]int32 // free blocks of large and small segments, by size then address
	top      int64      // next segment's address
	reserved int64
	peak     int64
}

func newAllocator(hint int) *allocator {
	return &allocator{blocks: make([]block, 1, hint+1)}
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

func segmentSize(n int64) int64 {
	switch {
	case n <= smallLimit:
		return smallSegment
	case n < minLarge:
		return largeSegment
	}
	return roundUp(n, roundLarge)
}

// maxTensor bounds one request, so that sums of absurd shapes cannot overflow.
const maxTensor = 1 << 50

func (a *allocator) alloc(bytes int64) Handle {
	if bytes <= 0 {
		return 0
	}
	n := roundUp(min(bytes, maxTensor), minBlock)
	small := n <= smallLimit
	i := a.take(n, small)
	if i == 0 {
		i = a.segment(n, small)
	}
	a.split(i, n)
	b := &a.blocks[i]
	b.free, b.used = false, bytes
	return Handle(i)
}

func (a *allocator) pool(small bool) *[]int32 {
	if small {
		return &a.pools[1]
	}
	return &a.pools[0]
}

// find returns the place of the first free block not before (size, addr).
func (a *allocator) find(p []int32, size, addr int64) int {
	i, _ := slices.BinarySearchFunc(p, size, func(b int32, _ int64) int {
		return cmp.Or(cmp.Compare(a.blocks[b].size, size), cmp.Compare(a.blocks[b].addr, addr))
	})
	return i
}

// take removes the best free block for n bytes: the smallest, then the lowest.
func (a *allocator) take(n int64, small bool) int32 {
	p := a.pool(small)
	i := a.find(*p, n, 0)
	if i == len(*p) {
		return 0
	}
	b := (*p)[i]
	*p = slices.Delete(*p, i, i+1)
	return b
}

func (a *allocator) put(i int32) {
	b := &a.blocks[i]
	b.free, b.used = true, 0
	p := a.pool(b.small)
	*p = slices.Insert(*p, a.find(*p, b.size, b.addr), i)
}

func (a *allocator) drop(i int32) {
	p := a.pool(a.blocks[i].small)
	at := a.find(*p, a.blocks[i].size, a.blocks[i].addr)
	*p = slices.Delete(*p, at, at+1)
}

func (a *allocator) index(b block) int32 {
	if n := len(a.spare); n > 0 {
		i := a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.blocks[i] = b
		return i
	}
	a.blocks = append(a.blocks, b)
	return int32(len(a.blocks) - 1)
}

func (a *allocator) segment(n int64, small bool) int32 {
	size := segmentSize(n)
	i := a.index(block{size: size, addr: a.top, small: small})
	a.top += size
	a.reserved += size
	a.peak = max(a.peak, a.reserved)
	return i
}

// split gives back what block i has beyond n bytes, where the rules allow it:
// a small block whenever a block remains, a large one above 1 MiB.
func (a *allocator) split(i int32, n int64) {
	b := a.blocks[i]
	rest := b.size - n
	if b.small && rest < minBlock || !b.small && rest <= smallLimit {
		return
	}
	j := a.index(block{size: rest, addr: b.addr + n, prev: i, next: b.next, small: b.small})
	if b.next != 0 {
		a.blocks[b.next].prev = j
	}
	a.blocks[i].size, a.blocks[i].next = n, j
	a.put(j)
}

func (a *allocator) release(h Handle) {
	i := int32(h)
	if i == 0 {
		return
	}
	if n := a.blocks[i].next; n != 0 && a.blocks[n].free {
		a.drop(n)
		a.join(i, n)
	}
	if p := a.blocks[i].prev; p != 0 && a.blocks[p].free {
		a.drop(p)
		a.join(p, i)
		i = p
	}
	a.put(i)
}

// join merges block j into its left neighbour i.
func (a *allocator) join(i, j int32) {
	a.blocks[i].size += a.blocks[j].size
	a.blocks[i].next = a.blocks[j].next
	if n := a.blocks[j].next; n != 0 {
		a.blocks[n].prev = i
	}
	a.spare = append(a.spare, j)
}

// emptyCache gives the wholly free segments back to the card.
func (a *allocator) emptyCache() {
	for p := range a.pools {
		a.pools[p] = slices.DeleteFunc(a.pools[p], func(i int32) bool {
			b := a.blocks[i]
			whole := b.prev == 0 && b.next == 0
			if whole {
				a.reserved -= b.size
				a.spare = append(a.spare, i)
			}
			return whole
		})
	}
}
