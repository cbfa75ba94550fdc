package pool

func (c *compressed) cellBytes() float64 { return c.bpft }

// slotsFor is the request slots that states are kept for.
func (c *compressed) slotsFor(reqs int64) int64 { return reqs + c.extra + 1 }

// requestsFor estimates the running requests before tokens are known.
func (c *compressed) requestsFor(bytes int64) int64 {
	if c.reqs >= 0 {
		return c.reqs
	}
	full := trunc(float64(bytes) / c.bpft)
	return min(clamp(trunc(float64(full)/float64(c.context)*512), 2048, 4096), full/2)
}

// stateFixed is the bytes of states that follow requests.
func (c *compressed) stateFixed(reqs int64) int64 {
	slots := c.slotsFor(reqs)
	var b int64
	if c.row128 > 0 {
		b = ceilAlign(slots*c.ring128+c.ring128+1, 128) * c.row128
	}
	if c.row2 > 0 {
		b += ceilAlign(slots*c.ring2+c.ring2+1, 2) * c.row2
	}
	return b
}

func (c *compressed) fit(bytes int64) split {
	if c.bpft <= 0 {
		return split{why: NoLayers}
	}
	avail := float64(bytes)
	if c.perRequest {
		avail = max(avail-float64(c.stateFixed(c.requestsFor(bytes)))-c.capBytes, 0)
	}
	full := floorAlign(trunc(avail/c.bpft), c.page)
	for full > 0 && c.padded() && float64(full)*c.bpft+c.padding(full) > avail {
		full -= c.page
	}
	if full <= 0 && c.cap >= 0 {
		return split{swa: c.cap, why: WindowTooLarge}
	}
	return c.constrain(full)
}

func (c *compressed) padded() bool { return c.padLayers[1]+c.padLayers[2] > 0 }

// padding is the pages that the pools at one and two tokens reserve beyond the
// rows they are charged for.
func (c *compressed) padding(full int64) float64 {
	const indexPage = 64
	sum := 0.0
	for r := int64(1); r <= 2; r++ {
		if c.padLayers[r] == 0 {
			continue
		}
		slots := ceilDiv((full+c.page)/r+indexPage, indexPage) * indexPage
		sum += (c.padMain[r] + float64((slots-full/r)*c.indexRow)) * float64(c.padLayers[r])
	}
	return sum
}

func (c *compressed) constrain(tokens int64) split {
	full := floorAlign(tokens, c.page)
	out := split{total: full, full: full, swa: c.cap}
	if c.cap < 0 {
		out.swa = floorAlign(trunc(float64(full)*c.ratio), c.page)
		if c.guard && c.size > 0 && c.size+c.page >= out.swa {
			out.why = WindowTooSmall
		}
	}
	out.c4State = out.swa / c.statePer * c.ring4
	return out
}
