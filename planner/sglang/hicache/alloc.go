package hicache

import (
	"math/bits"

	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// registrationLimit is the size from which one cudaHostRegister call fails on
// NVIDIA drivers of the R580 series and later with 4 KiB pages: their table of
// pages is indexed with 32 bits.
const registrationLimit = units.Bytes(1) << 39

// pinned is what an allocation of b bytes really takes. To 0.5.4.post1 pools
// are pinned tensors of torch, whose host allocator takes the next power of
// two; from 0.5.13 they are mappings rounded to the huge page asked for with
// SGLANG_HUGEPAGE_SIZE. Rounding to 4 KiB is left out: it is below any other
// uncertainty.
func pinned(r release.Release, b, hugepage units.Bytes) units.Bytes {
	switch {
	case b <= 0:
		return 0
	case r.Before("0.5.4.post2"):
		return powerOfTwo(b)
	case r.AtLeast("0.5.13") && hugepage > 0:
		return (b + hugepage - 1) / hugepage * hugepage
	}
	return b
}

// powerOfTwo rounds up to a power of two, and leaves sizes beyond 2^61 alone.
func powerOfTwo(b units.Bytes) units.Bytes {
	n := bits.Len64(uint64(b - 1))
	if n > 61 {
		return b
	}
	return 1 << n
}

// hugepageOf reads SGLANG_HUGEPAGE_SIZE: 2MB or 1GB, anything else is off.
func hugepageOf(env map[string]string) units.Bytes {
	switch env["SGLANG_HUGEPAGE_SIZE"] {
	case "2MB":
		return 2 * units.MiB
	case "1GB":
		return units.GiB
	}
	return 0
}

// settle fills in what the pools really pin.
func settle(r release.Release, pools []HostPool, hugepage units.Bytes) {
	for i := range pools {
		var total units.Bytes
		for _, b := range pools[i].buffers {
			total = add(total, pinned(r, b, hugepage))
		}
		pools[i].BytesPerRank = total
	}
}

// registeredWhole reports whether a buffer of a layout is registered with CUDA
// in one call: from 0.5.19 the page-first layouts go in chunks.
func registeredWhole(r release.Release, layout string) bool {
	if r.Before("0.5.4.post2") {
		return false // cudaHostAlloc, not registration
	}
	return r.Before("0.5.19") || (layout != "page_first" && layout != "page_first_direct")
}

// staged are the pools whose write-back goes through a buffer on the GPU.
var staged = map[Kind]bool{
	Main: true, Window: true, Draft: true, DraftWindow: true, Indexer: true, DraftIndex: true, Paged: true, PagedWindow: true,
}

// StagingBytes is the GPU memory that a rank takes for write-back staging
// after graph capture, outside --mem-fraction-static: with layout page_first,
// up to 64 pages of every pool of rows (0.5.14 on).
func StagingBytes(r release.Release, s Settings, pools []HostPool) units.Bytes {
	if r.Before("0.5.14") || s.Layout != "page_first" {
		return 0
	}
	const chunk = 64 // pages
	var total units.Bytes
	for _, p := range pools {
		if staged[p.Kind] && p.Pages > 0 {
			total = add(total, p.RequestedBytes/units.Bytes(p.Pages)*units.Bytes(min(p.Pages, chunk)))
		}
	}
	return total
}

// HugepageSize is the huge page that host pools are mapped with, 0 for
// ordinary pages.
func HugepageSize(r release.Release, env map[string]string) units.Bytes {
	if r.Before("0.5.13") {
		return 0
	}
	return hugepageOf(env)
}
