package pool

// requests is how a release limits running requests and sizes the table that
// maps their tokens.
type requests struct {
	era     requestEra
	context int64
	given   bool
	per     int64 // max_running_requests per attention-DP rank, as the era divides
	whole   int64 // as given
	ratio   int64 // state slots per request, 0 without states
	specDP  int64 // cap of 0.5.8 and 0.5.9 with speculation and DP attention, 0: none
}

type requestEra int

const (
	requestsTable    requestEra = iota // to 0.5.9: the table is sized first, serving takes less
	requestsEstimate                   // 0.5.10: a given number is capped by the estimate
	requestsTokens                     // 0.5.14: by half of the tokens
)

func (b *builder) newRequests(st *states) requests {
	a := b.a
	q := requests{context: int64(max(1, b.m.ContextLen)), given: a.Has("max_running_requests"), whole: a.Int("max_running_requests")}
	switch {
	case b.r.AtLeast("0.5.14"):
		q.era = requestsTokens
	case b.r.AtLeast("0.5.10"):
		q.era = requestsEstimate
	}
	q.per = b.perReplica(q.whole)
	if st != nil {
		q.ratio = st.ratio
		if b.r.Within("0.5.8", "0.5.9") && b.spec.on() && b.par.AttentionDP > 1 {
			q.specDP = max(1, q.per)
		}
	}
	return q
}

// estimate is the number of requests that a pool suggests.
func (q requests) estimate(tokens int64) int64 {
	return clamp(trunc(float64(tokens)/float64(q.context)*512), 2048, 4096)
}

// limit returns the rows of the request table and the running requests, for
// the tokens as profiled and as they end up.
func (q requests) limit(profiled, tokens, slots int64) (rows, running int64) {
	switch q.era {
	case requestsTable:
		rows = q.estimate(profiled)
		if q.given {
			rows = q.whole
		}
		rows = q.byStates(rows, slots)
		if q.specDP > 0 {
			rows = min(rows, q.specDP)
		}
		running = tokens / 2
		if q.given {
			running = q.per
		}
		return rows, min(running, rows)
	case requestsEstimate:
		rows = min(q.estimate(tokens), tokens/2)
		if q.given {
			rows = min(q.per, q.estimate(tokens))
		}
	default:
		rows = min(q.estimate(tokens), tokens/2)
		if q.given {
			rows = min(q.per, tokens/2)
		}
	}
	rows = q.byStates(rows, slots)
	return rows, rows
}

func (q requests) byStates(n, slots int64) int64 {
	if q.ratio == 0 {
		return n
	}
	return min(n, slots/q.ratio)
}
