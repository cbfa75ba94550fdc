package activation

import (
	"github.com/sglplan/sglplan/planner/caching"
	"github.com/sglplan/sglplan/planner/units"
)

// captured is what the capture of prefill graphs takes.
type captured struct {
	Eager units.Bytes // ordinary cache at its largest
	Live  units.Bytes // the most of it that was alive at once
	Graph units.Bytes // graph pool, shared by all sizes
	Left  units.Bytes // of the ordinary cache after it was emptied
	Peak  units.Bytes // both together, at the worst size
}

// replayCapture captures a body at each size, given from the largest down:
// two eager passes of the body, the output of the first alive during the
// second, then one pass into the graph pool whose attention still runs in the
// ordinary cache. An output buffer of the largest size stays (shared), as
// does the cuBLAS workspace of the capture stream. Afterwards the cache is
// emptied.
func replayCapture(b *Body, sizes []int64, workspace units.Bytes, shared bool, s *scratch) captured {
	eager, graph := s.pools()
	eager.Alloc(int64(workspace))
	var peak units.Bytes
	for i, t := range sizes {
		p := pass{body: b, graph: eager, eager: eager, tokens: t, captured: true}
		first := p.forward()
		second := p.forward()
		first.free(eager)
		if i == 0 && shared {
			for range 1 + min(b.Extra, maxAux) {
				eager.Alloc(t * b.Hidden * elem)
			}
		}
		p.graph = graph
		out := p.forward()
		if i > 0 || shared {
			out.free(graph)
		}
		second.free(eager)
		p.held.release()
		peak = max(peak, eager.Reserved()+graph.Reserved())
	}
	c := captured{Eager: eager.Reserved(), Live: eager.Peak(), Graph: graph.Reserved(), Peak: peak}
	eager.EmptyCache()
	c.Left = eager.Reserved()
	return c
}

// thin leaves out most sizes below half the largest: they fit into what larger
// ones have left, and a few of them find the small segments.
func thin(sizes []int64) []int64 {
	out := make([]int64, 0, 24)
	for i, n := range sizes {
		if n*2 >= sizes[0] || i%8 == 0 || i == len(sizes)-1 {
			out = append(out, n)
		}
	}
	return spread(out)
}

// mostReplayed bounds the sizes that are replayed. No release captures as many
// by itself; a launch that asks for millions gets an answer all the same.
const mostReplayed = 160

// spread keeps mostReplayed sizes of a longer list, the largest and the
// smallest among them.
func spread(sizes []int64) []int64 {
	if len(sizes) <= mostReplayed {
		return sizes
	}
	out := make([]int64, mostReplayed)
	for i := range out {
		out[i] = sizes[i*(len(sizes)-1)/(mostReplayed-1)]
	}
	return out
}

// replayOnce is what one captured decode pass with its logits takes in a pool
// of its own.
func replayOnce(b *Body, tokens int64, s *scratch) units.Bytes {
	pool, _ := s.pools()
	p := pass{body: b, graph: pool, eager: pool, tokens: tokens, captured: true}
	out := p.forward()
	all := tokens * max(1, b.Gather) * b.Vocab * elem
	pool.Alloc(all / max(1, b.TP))
	if b.TP > 1 {
		pool.Alloc(all)
	}
	out.free(pool)
	return pool.Reserved()
}

// served is what serving adds in the ordinary cache.
type served struct {
	Prefill  units.Bytes // after the long prompts
	Reserved units.Bytes // after the decode batch too
	Live     units.Bytes
}

// replayServing runs the first long prompts and one full decode batch.
func replayServing(l *Launch, graphMax int64, s *scratch) served {
	pool, sink := s.pools()
	b, v := &l.Body, &l.Serving
	var previous caching.Block
	for batch := range v.batches {
		p := pass{body: b, graph: pool, eager: pool, tokens: batch.tokens, prefix: batch.prefix}
		if batch.tokens <= graphMax {
			p.graph, p.captured = sink, true
		}
		out := p.forward()
		rows := pool.Alloc(batch.requests * b.Hidden * elem)
		p.held.release()
		previous = sample(pool, l, batch.requests, previous, func() { pool.Free(rows); out.free(p.graph) })
	}
	r := served{Prefill: pool.Reserved()}
	if n := v.DecodeBatch; n > 0 {
		if l.Decode != nil && n <= l.Decode.Max() {
			pool.Free(pool.Alloc(n * max(1, v.DecodeRows) * b.Vocab * logitElem)) // softmax
		} else {
			for range 2 { // with overlap the logits of a step live until the next one is sampled
				p := pass{body: b, graph: pool, eager: pool, tokens: n}
				out := p.forward()
				previous = sample(pool, l, n, previous, func() { out.free(pool) })
			}
		}
	}
	pool.Free(previous)
	r.Reserved, r.Live = pool.Reserved(), pool.Peak()
	return r
}

// replayPrefix is what a chunk with a cached prefix takes, alone in an empty
// cache; nothing without a prefix.
func replayPrefix(l *Launch, prefix int64, s *scratch) units.Bytes {
	if prefix <= 0 {
		return 0
	}
	pool, _ := s.pools()
	v := &l.Serving
	p := pass{body: &l.Body, graph: pool, eager: pool, tokens: v.Chunk, prefix: min(prefix, maxPrefix)}
	out := p.forward()
	out.free(pool)
	return pool.Reserved()
}

// logitElem is the size of a logit when it is sampled: fp32.
const logitElem = 4

// sample computes the logits of a batch and draws from them. It returns the
// logits, which stay alive until the next batch is drawn; none where the
// buffer shared with the decode graphs holds them. Several ranks hold a share
// of the vocabulary each and gather the shares, with DP attention for the
// requests of all ranks.
func sample(pool *caching.Allocator, l *Launch, requests int64, previous caching.Block, done func()) caching.Block {
	v := l.Body.Vocab
	all := requests * max(1, l.Body.Gather)
	part := pool.Alloc(all * v * elem / max(l.Body.TP, 1))
	var gathered, logits caching.Block
	if l.Body.TP > 1 {
		gathered = pool.Alloc(all * v * elem)
	}
	if l.Decode == nil || requests > l.Decode.Max() {
		logits = pool.Alloc(requests * v * logitElem)
	}
	pool.Free(part)
	done()
	pool.Free(gathered)
	pool.Free(pool.Alloc(requests * v * logitElem)) // softmax
	pool.Free(previous)
	return logits
}

// scratch keeps the two allocators of a replay for the next one.
type scratch struct{ a, b caching.Allocator }

func (s *scratch) pools() (*caching.Allocator, *caching.Allocator) {
	s.a.Reset()
	s.b.Reset()
	return &s.a, &s.b
}
