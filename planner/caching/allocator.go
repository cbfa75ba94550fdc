// Package caching replays PyTorch's CUDA caching allocator: what a sequence of
// tensors makes it reserve from the card, which is what nvidia-smi and SGLang's
// memory lines show, and more than the tensors themselves.
//
// It is of use to packages that know the tensors, weights and activation.
package caching

import (
	"slices"

	"github.com/sglplan/sglplan/planner/units"
)

// Block is an allocation made in an Allocator; the zero value is none.
type Block int32

// Allocator replays torch's CUDA caching allocator at its default settings
// (c10/cuda/CUDACachingAllocator.cpp, torch 2.9 to 2.14, no expandable
// segments): what it reserves from the card for a sequence of tensors, which
// is up to a third more than the tensors that are alive at once.
//
//   - Sizes are rounded up to 512 B. Requests up to 1 MiB live in 2 MiB
//     segments, others in segments of their own: 20 MiB below 10 MiB, else the
//     size rounded up to 2 MiB. Blocks never cross between the two kinds.
//   - The smallest free block that fits is taken, the lowest address first. It
//     is split when at least 512 B (small) or more than 1 MiB (large) remain.
//   - A freed block merges with its free neighbours of the same segment.
//
// One Allocator is one stream in one memory pool. The zero value is empty and
// ready; Reset makes it so again and keeps its storage.
type Allocator struct {
	blocks   []block // blocks[0] is unused, so that Block 0 is none
	spare    []Block // indices of blocks that merged away
	free     [2][]Block
	next     int64
	reserved int64
	most     int64 // the highest reserved
	live     int64
	peak     int64
}

type block struct {
	size, addr int64
	prev, next Block // neighbours in the segment
	kind       uint8 // index into free: small or large
	free       bool
}

// The allocator's own constants.
const (
	roundTo      = 512
	smallMax     = 1 << 20
	smallSegment = 2 << 20
	largeSegment = 20 << 20
	ownSegment   = 10 << 20 // from here on a request has a segment of its own
	segmentRound = 2 << 20
	largeRemains = 1 << 20
	segmentGap   = 1 << 30 // keeps segments apart, so that they never merge
)

// Reset empties the allocator and keeps its storage for the next replay.
func (a *Allocator) Reset() {
	*a = Allocator{blocks: a.blocks[:0], spare: a.spare[:0], free: [2][]Block{a.free[0][:0], a.free[1][:0]}}
}

// Alloc takes n bytes, from a cached block or from a new segment.
func (a *Allocator) Alloc(n int64) Block {
	n = max(roundTo, (n+roundTo-1)/roundTo*roundTo)
	kind := uint8(0)
	if n > smallMax {
		kind = 1
	}
	return a.alloc(kind, n, n)
}

// alloc takes the block that a request of n bytes gets and keeps the first
// keep bytes of it.
func (a *Allocator) alloc(kind uint8, n, keep int64) Block {
	i := a.search(kind, n, 0)
	var b Block
	if i < len(a.free[kind]) {
		b = a.free[kind][i]
		a.free[kind] = slices.Delete(a.free[kind], i, i+1)
	} else {
		b = a.segment(kind, n)
	}
	a.split(b, keep)
	a.blocks[b].free = false
	a.live += a.blocks[b].size
	a.peak = max(a.peak, a.live)
	return b
}

// segmentSize is what a request of n bytes takes from the card.
func segmentSize(kind uint8, n int64) int64 {
	switch {
	case kind == 0:
		return smallSegment
	case n < ownSegment:
		return largeSegment
	}
	return (n + segmentRound - 1) / segmentRound * segmentRound
}

// segment takes a new segment from the card.
func (a *Allocator) segment(kind uint8, n int64) Block {
	size := segmentSize(kind, n)
	b := a.add(block{size: size, addr: a.next, kind: kind})
	a.next += size + segmentGap
	a.reserved += size
	a.most = max(a.most, a.reserved)
	return b
}

// split returns what block b has beyond n bytes to the free list.
func (a *Allocator) split(b Block, n int64) {
	rest := a.blocks[b].size - n
	kind := a.blocks[b].kind
	if rest < roundTo || (kind == 1 && rest <= largeRemains) {
		return
	}
	after := a.blocks[b].next
	r := a.add(block{size: rest, addr: a.blocks[b].addr + n, prev: b, next: after, kind: kind, free: true})
	if after != 0 {
		a.blocks[after].prev = r
	}
	a.blocks[b].next, a.blocks[b].size = r, n
	a.insert(r)
}

// Free gives a block back to the cache. Freeing none is allowed.
func (a *Allocator) Free(b Block) {
	if b == 0 {
		return
	}
	a.live -= a.blocks[b].size
	a.blocks[b].free = true
	if n := a.blocks[b].next; n != 0 && a.blocks[n].free {
		a.remove(n)
		a.join(b, n)
	}
	if p := a.blocks[b].prev; p != 0 && a.blocks[p].free {
		a.remove(p)
		a.join(p, b)
		b = p
	}
	a.insert(b)
}

// join merges block n into its left neighbour b.
func (a *Allocator) join(b, n Block) {
	after := a.blocks[n].next
	a.blocks[b].size += a.blocks[n].size
	a.blocks[b].next = after
	if after != 0 {
		a.blocks[after].prev = b
	}
	a.spare = append(a.spare, n)
}

// Reserved is what the allocator holds of the card, cached blocks included.
func (a *Allocator) Reserved() units.Bytes { return units.Bytes(a.reserved) }

// ReservedPeak is the most that it has held.
func (a *Allocator) ReservedPeak() units.Bytes { return units.Bytes(a.most) }

// Peak is the most that was alive at once: below that no retry helps.
func (a *Allocator) Peak() units.Bytes { return units.Bytes(a.peak) }

// Live is what is alive now.
func (a *Allocator) Live() units.Bytes { return units.Bytes(a.live) }

// EmptyCache returns the segments that are wholly free to the card, as
// torch.cuda.empty_cache does.
func (a *Allocator) EmptyCache() {
	for kind := range a.free {
		a.free[kind] = slices.DeleteFunc(a.free[kind], func(b Block) bool {
			whole := a.blocks[b].prev == 0 && a.blocks[b].next == 0
			if whole {
				a.reserved -= a.blocks[b].size
				a.spare = append(a.spare, b)
			}
			return whole
		})
	}
}

func (a *Allocator) add(b block) Block {
	if n := len(a.spare); n > 0 {
		i := a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.blocks[i] = b
		return i
	}
	if len(a.blocks) == 0 {
		a.blocks = append(a.blocks, block{})
	}
	a.blocks = append(a.blocks, b)
	return Block(len(a.blocks) - 1)
}

// search returns the place of the first free block that is at least (size,
// addr) in the order of the list.
func (a *Allocator) search(kind uint8, size, addr int64) int {
	list := a.free[kind]
	lo, hi := 0, len(list)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if b := &a.blocks[list[mid]]; b.size < size || (b.size == size && b.addr < addr) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (a *Allocator) insert(b Block) {
	k := a.blocks[b].kind
	i := a.search(k, a.blocks[b].size, a.blocks[b].addr)
	a.free[k] = slices.Insert(a.free[k], i, b)
}

func (a *Allocator) remove(b Block) {
	k := a.blocks[b].kind
	i := a.search(k, a.blocks[b].size, a.blocks[b].addr)
	a.free[k] = slices.Delete(a.free[k], i, i+1)
}
