package pool

// Concurrency is how many requests of a given length fit at once.
type Concurrency struct {
	Requests int64
	// Bound names what limits them: "tokens", "window", "states" or
	// "max_running_requests".
	Bound string
	// TooLong is set when one request is longer than the context allows.
	TooLong bool
}

// Concurrent returns how many requests of n tokens (prompt and answer) each fit
// into r at once without eviction. A request holds whole pages; in the window
// pool it holds its last window and the pages being written.
func (s *Sizer) Concurrent(r *Result, n int64) Concurrency {
	if r.Refused != None || n <= 0 {
		return Concurrency{}
	}
	c := Concurrency{TooLong: n > s.context}
	full := r.FullTokens
	if full == 0 {
		full = r.MaxTotalTokens
	}
	c.Requests, c.Bound = r.MaxRunningRequests, "max_running_requests"
	s.bound(&c, "tokens", full, ceilAlign(n, s.page))
	if s.window && r.SWATokens > 0 && s.foot.windowSize > 0 {
		s.bound(&c, "window", r.SWATokens, min(ceilAlign(n, s.page), ceilAlign(s.foot.windowSize, s.page)+s.page))
	}
	if s.states != nil {
		s.bound(&c, "states", r.StateSlots, max(1, s.req.ratio))
	}
	return c
}

// bound lowers the count to what one resource holds.
func (s *Sizer) bound(c *Concurrency, name string, have, each int64) {
	if n := have / max(1, each); n < c.Requests {
		c.Requests, c.Bound = n, name
	}
}
