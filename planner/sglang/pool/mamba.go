package pool

import "github.com/sglplan/sglplan/planner/sglang/modelcfg"

// states sizes the recurrent state pool and takes it off the budget
// (handle_max_mamba_cache). All of it happens in GiB as float64.
type states struct {
	era     stateEra
	perReq  int64 // bytes of one request's state on this rank
	perSlot int64 // extra bytes of a slot (replay ring)
	fixed   int64 // bytes besides slots (replay scratch)
	given   int64 // --max-mamba-cache-size per replica, 0 not given
	byReqs  int64 // slots from max_running_requests without radix cache, 0: by ratio
	share   float64
	spec    bool // verify states are reserved
	draft   int64
	reqs    int64 // max_running_requests per replica
	ratio   int64 // slots per running request
	// replicas divides every number of slots (0.5.3.post3 to 0.5.6), 0: no.
	replicas int64
}

// stateEra is a release's way of solving the state pool.
type stateEra int

const (
	stateFixed  stateEra = iota // 0.5.2: requests decide
	stateScaled                 // 0.5.3.post3: slots carry (1 + draft tokens) states
	stateFirst                  // 0.5.7: verify states first, then the ratio
	stateJoint                  // 0.5.13: solved together
	statePadded                 // 0.5.17: and with the padding slot
)

func (b *builder) stateEra() stateEra {
	for _, e := range []struct {
		since string
		era   stateEra
	}{{"0.5.17", statePadded}, {"0.5.13", stateJoint}, {"0.5.7", stateFirst}, {"0.5.3.post3", stateScaled}} {
		if b.r.AtLeast(e.since) {
			return e.era
		}
	}
	return stateFixed
}

// newStates returns nil for models without recurrent layers.
func (b *builder) newStates(all []span) *states {
	l := b.m.Linear
	if l == nil {
		return nil
	}
	tp := b.stateTP()
	s := &states{era: b.stateEra(), perReq: l.BytesPerRequest(tp, len(l.Layers)), draft: b.spec.draft, spec: b.spec.on()}
	scale := 1.0
	if s.era == statePadded && len(all) > 1 && len(l.Layers) > 0 {
		var most int64
		for _, st := range all {
			most = max(most, st.count(l.Layers))
		}
		scale = float64(most) / float64(len(l.Layers))
		s.perReq = trunc(float64(s.perReq) * scale)
	}
	b.stateRequests(s)
	b.replay(s, tp, scale)
	m := b.a.Float("mamba_full_memory_ratio")
	s.share = m / (1 + m)
	s.ratio = b.slotsPerRequest()
	return s
}

// stateRequests reads what is given by the user.
func (b *builder) stateRequests(s *states) {
	a := b.a
	dp := int64(b.par.AttentionDP)
	if s.era == stateScaled {
		// Only gated delta nets divide, and whatever the number comes from.
		if b.m.Linear.Kind == modelcfg.GDN {
			s.replicas = dp
		}
		dp = 1
	}
	reqs := a.Int("max_running_requests")
	s.reqs = b.perReplica(reqs)
	if a.Has("max_mamba_cache_size") {
		s.given = a.Int("max_mamba_cache_size") / dp
	}
	if !b.radixOff() {
		return
	}
	switch {
	case s.era <= stateScaled || b.r.Before("0.5.9"):
		if reqs == 0 {
			reqs = 512
		}
		s.byReqs = reqs / dp
	case a.Has("max_running_requests"):
		s.byReqs = s.reqs
	}
}

// radixOff reports a launch without prefix cache. The first releases with
// recurrent layers had none for them.
func (b *builder) radixOff() bool {
	return b.a.Bool("disable_radix_cache") || b.r.Before("0.5.3.post3")
}

// slotsPerRequest is how many slots a running request needs
// (_calculate_mamba_ratio).
func (b *builder) slotsPerRequest() int64 {
	if b.radixOff() {
		return 1
	}
	r, extra := b.r, b.extraBuffer()
	switch {
	case r.Before("0.5.7"):
		return 3
	case r.Before("0.5.8"):
		if extra && b.spec.on() {
			return 4
		}
		return 5
	case r.Before("0.5.10"):
		if !extra {
			return 3
		}
		if b.spec.on() {
			return 4
		}
		return 5
	}
	base := int64(3)
	skip := r.AtLeast("0.5.17") && b.envOn("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK")
	if skip {
		base--
	}
	switch {
	case extra && !b.a.Bool("disable_overlap_schedule") && !b.lazyBuffer():
		return base + 2
	case extra:
		return base + 1
	case skip:
		return base + 1
	}
	return base
}

// strategy is the scheduling strategy of the state cache under its name of the
// release.
func (b *builder) strategy() string {
	return first(b.a.Str("mamba_radix_cache_strategy"), b.a.Str("mamba_scheduler_strategy"))
}

func (b *builder) extraBuffer() bool {
	s := b.strategy()
	return s == "extra_buffer" || s == "extra_buffer_lazy"
}

func (b *builder) lazyBuffer() bool {
	return b.strategy() == "extra_buffer_lazy" && b.r.AtLeast("0.5.13")
}

// replay sizes the rings of --enable-linear-replayssm-spec, which replace the
// verify states.
func (b *builder) replay(s *states, tp int, scale float64) {
	l := b.m.Linear
	if !b.a.Bool("enable_linear_replayssm_spec") || (l.Kind != modelcfg.GDN && l.Kind != modelcfg.KDA) || b.r.Before("0.5.17") {
		if b.r.AtLeast("0.5.22") && b.skipsVerifyStates() {
			s.spec = false
		}
		return
	}
	s.spec = false
	ring := trunc(float64(b.ringBytes(l, tp)) * scale)
	if l.Kind == modelcfg.GDN && b.r.AtLeast("0.5.20") {
		s.fixed = ring * (max(1, s.reqs) + 1)
		return
	}
	s.perSlot = ring
}

// skipsVerifyStates: a prefill node never verifies.
func (b *builder) skipsVerifyStates() bool {
	return b.a.Str("disaggregation_mode") == "prefill" && !b.a.Bool("enable_pd_role_switch") && !b.a.Bool("enable_unified_memory")
}

// ringBytes is replayssm_ring_bytes_per_req.
func (b *builder) ringBytes(l *modelcfg.Linear, tp int) int64 {
	st := l.StateAt(tp)
	hv, v, k, hk := int64(st.Heads), int64(st.HeadDim), int64(st.StateDim), int64(st.KeyHeads)
	n, c := clamp(b.a.Int("linear_replayssm_cache_len"), 0, 1<<16), int64(l.ConvBytes)
	var per int64
	if l.Kind == modelcfg.KDA {
		per = hv*n*v*c + hk*n*k*c + hv*n*4 + hv*n*k*4 + hv*n*v*c + hk*n*k*c
	} else {
		per = hv*n*v*c + hk*n*k*c + hv*n*4
		if c != 4 && b.r.AtLeast("0.5.20") {
			per += hv*n*v*c + hk*n*k*c
		}
	}
	return per * int64(len(l.Layers))
}

// take sizes the slots for a rest of memory in GiB and returns what is left.
func (s *states) take(rest float64) (slots int64, left float64) {
	switch s.era {
	case stateFixed:
		slots = s.byReqs
		if s.given > 0 {
			slots = s.given
		}
		return slots, rest - float64(slots*s.perReq)/gib
	case stateScaled:
		return s.takeScaled(rest)
	case stateFirst:
		return s.takeFirst(rest)
	}
	return s.takeJoint(rest)
}

// takeScaled gives every slot the states of its draft tokens.
func (s *states) takeScaled(rest float64) (int64, float64) {
	slots := s.byReqs
	switch {
	case s.byReqs > 0 && s.given > 0:
		slots = s.given
	case slots == 0:
		slots = trunc(floatFloorDiv(floatFloorDiv(rest*s.share*gib, float64(s.perReq)), float64(1+s.draft)))
	}
	slots /= max(1, s.replicas)
	return slots, rest - float64(slots*s.perReq*(1+s.draft))/gib
}

// takeFirst sets verify states aside, then divides by the ratio.
func (s *states) takeFirst(rest float64) (int64, float64) {
	if s.spec {
		rest -= float64(s.perReq*s.reqs*s.draft) / gib
	}
	slots := s.byReqs
	if s.given > 0 {
		slots = s.given
	}
	if slots == 0 {
		slots = trunc(floatFloorDiv(rest*s.share*gib, float64(s.perReq)))
	}
	return slots, rest - float64(slots*s.perReq)/gib
}

// takeJoint solves slots and verify states together (0.5.13); from 0.5.17 both
// pools count their padding slot.
func (s *states) takeJoint(rest float64) (int64, float64) {
	pad := int64(0)
	if s.era == statePadded {
		pad = 1
	}
	budget := rest * s.share * gib
	slots, verify := s.given, int64(0)
	switch {
	case slots > 0:
		verify = min(s.reqs, slots/s.ratio) + pad
	case s.byReqs > 0:
		slots = s.byReqs
		verify = slots + pad
	case s.spec:
		d := float64(s.draft)
		if pad > 0 {
			budget -= float64(s.perReq*(1+s.draft) + s.perSlot)
		}
		slots = trunc(floatFloorDiv(budget, float64(s.perReq)*(1+d/float64(s.ratio))+float64(s.perSlot)))
		verify = min(s.reqs, floorDiv(slots, s.ratio)) + pad
	default:
		slot := s.perReq + s.perSlot
		if pad > 0 {
			budget = budget - float64(s.fixed) - float64(slot)
		}
		slots = trunc(floatFloorDiv(budget, float64(slot)))
	}
	if s.spec {
		rest -= float64(s.perReq*verify*s.draft) / gib
	}
	return slots, rest - float64((slots+pad)*(s.perReq+s.perSlot)+s.fixed)/gib
}
