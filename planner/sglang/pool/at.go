package pool

// At evaluates mem_fraction_static f: preGiB is the free memory before loading
// and availGiB the free memory when pools are sized, both the minimum over
// ranks, in GiB as SGLang computes them. It does not allocate.
func (s *Sizer) At(f, preGiB, availGiB float64) Result {
	rest := s.Rest(f, preGiB, availGiB)
	var out Result
	if s.states != nil {
		out.StateSlots, rest = s.states.take(rest)
		if out.StateSlots <= 0 && s.states.era >= stateJoint {
			out.Refused = NoStates
			return out
		}
	}
	if rest <= 0 {
		out.Refused = NoMemory
		return out
	}
	var profiled int64
	var sp split
	if s.legacy == configuredTokens {
		sp = s.configured(trunc(rest * gib))
		profiled = sp.total
	} else {
		sp, profiled = s.profiledFirst(rest, out.StateSlots)
	}
	out.fill(sp, s.window)
	if out.Refused == None && out.MaxTotalTokens <= 0 {
		out.Refused = NoTokens
	}
	if out.Refused != None {
		return out
	}
	out.RequestRows, out.MaxRunningRequests = s.req.limit(profiled, out.MaxTotalTokens, out.StateSlots)
	if out.MaxRunningRequests <= 0 && s.states != nil {
		out.Refused = NoRequests
	}
	out.Bytes = s.foot.at(&out)
	return out
}

func (r *Result) fill(sp split, window bool) {
	r.Refused = sp.why
	r.MaxTotalTokens, r.FullTokens, r.SWATokens, r.C4StateRows = sp.total, sp.full, sp.swa, sp.c4State
	if !window {
		r.FullTokens = sp.total
	}
}

// configured is the order from 0.5.11 on: every stage fits and splits its
// budget, then the user's cap and the smallest stage apply to all.
func (s *Sizer) configured(bytes int64) split {
	out := s.stages[0].solver.fit(bytes)
	limit := out.total
	if s.cap > 0 {
		limit = min(limit, s.cap)
	}
	for i := 1; i < len(s.stages) && out.why == None; i++ {
		other := s.stages[i].solver.fit(bytes)
		if other.why != None {
			return other
		}
		limit = min(limit, other.total)
	}
	if limit != out.total && out.why == None {
		return s.stages[0].solver.constrain(limit)
	}
	return out
}

// profiledFirst is the order before 0.5.11: tokens, headroom, cap, page, the
// smallest stage, and only then the window split.
func (s *Sizer) profiledFirst(rest float64, slots int64) (sp split, profiled int64) {
	tokens := s.stageTokens(0, rest)
	profiled = tokens
	if s.legacy == floatTokens && s.head.buffer > 0 {
		rows, _ := s.req.limit(tokens, tokens, slots)
		tokens += rows*s.head.perRequest + s.head.buffer
	}
	if s.cap > 0 {
		tokens = min(tokens, s.cap)
	}
	tokens = floorAlign(tokens, s.page)
	for i := 1; i < len(s.stages); i++ {
		tokens = min(tokens, floorAlign(s.stageTokens(i, rest), s.page))
	}
	sp = s.stages[0].solver.constrain(tokens)
	if s.req.era == requestsEstimate {
		profiled = sp.total
	}
	return sp, profiled
}

func (s *Sizer) stageTokens(i int, rest float64) int64 {
	v := s.stages[i].solver
	if s.legacy == floatTokens {
		cell := v.cellBytes()
		if cell <= 0 {
			return 0
		}
		return trunc(floatFloorDiv(rest*gib, cell))
	}
	bytes := trunc(rest * gib)
	if u, ok := v.(*uniform); ok && u.cell > 0 {
		return floorDiv(bytes, u.cell)
	}
	return v.fit(bytes).total
}
