package capture

import (
	"github.com/sglplan/sglplan/planner/activation"
)

// burst is the number of requests that are taken to decode at once: what a
// load test or a full server sends. More than that are named per request.
const burst = 256

// waiting is the number of long prompts that arrive together.
const waiting = 24

// serving describes the first load.
func (p *plan) serving() {
	chunk := p.chunk()
	running := int64(burst)
	if m := p.a.Int("max_running_requests"); m > 0 {
		running = min(running, max(1, m/p.l.dp))
	}
	// A long prompt: the first batch holds one that is a little shorter than
	// a chunk, the next ones fill the chunk.
	queue := int64(0)
	if p.latent() {
		queue = waiting // the decompressed prefix grows from batch to batch
	}
	p.out.Serving = activation.Serving{Queue: queue, LongPrefix: p.longPrefix(chunk), Chunk: chunk, Prompt: int64(float64(chunk) * 0.977), DecodeBatch: running, DecodeRows: p.spec.verifyTokens()}
	p.out.Serving.Fixed = append(p.out.Serving.Fixed,
		fixed("modules of serving", activation.Workspace, 25, 0, 50, "fitted on 2 launches"))
	switch p.a.Str("disaggregation_mode") {
	case "decode": // prompts arrive computed
		p.out.Serving.Chunk, p.out.Serving.LongPrefix = 0, 0
	case "prefill":
		p.out.Serving.DecodeBatch = 0
	}
	if p.hasLinear() {
		p.out.Serving.Fixed = append(p.out.Serving.Fixed, p.hybridEager(chunk))
	}
}

// longPrefix is the cached prefix that a prompt may bring: what a hierarchical
// cache is for, else two chunks. Only MLA that projects it up takes more.
func (p *plan) longPrefix(chunk int64) int64 {
	most := int64(p.info.ContextLen) - chunk
	if !p.a.Bool("enable_hierarchical_cache") {
		most = min(most, 2*chunk)
	}
	if !p.latent() || most < p.absorbBelow() {
		return 0
	}
	return most
}
