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
	p.out.Serving = activation.Serving{Queue: queue, Longest: p.longest(chunk), Chunk: chunk, Prompt: int64(float64(chunk) * 0.977), DecodeBatch: running, DecodeRows: p.spec.verifyTokens()}
	p.out.Serving.Fixed = append(p.out.Serving.Fixed,
		fixed("modules of serving", activation.Workspace, 25, 0, 50, "fitted on 2 launches"))
	if p.latent() && p.out.Prefill.Max() < chunk {
		// Bursts of small requests make batches of many sizes, whose hidden
		// states do not fit into each other's blocks.
		h := float64(chunk*max(1, p.out.Body.Gather)*p.out.Body.Hidden*2) / float64(mib)
		t := fixed("batches of other sizes", activation.Activations, 2*h, 0, 4.5*h,
			"tokens x hidden, 1.2 to 4.5 times; measured on 10 launches of MLA without prefill graphs")
		if p.l.dp > 1 { // the ranks' batches differ, so that their sums do too
			t = fixed("batches of other sizes", activation.Activations, 6*h, 0, 12*h,
				"tokens of all ranks x hidden, 0 and 11 times on the two ranks of 1 launch with DP attention")
		}
		p.out.Serving.Fixed = append(p.out.Serving.Fixed, t)
	}
	switch p.a.Str("disaggregation_mode") {
	case "decode": // prompts arrive computed
		p.out.Serving.Chunk, p.out.Serving.Longest = 0, 0
	case "prefill":
		p.out.Serving.DecodeBatch = 0
	}
	if p.hasLinear() {
		p.out.Serving.Fixed = append(p.out.Serving.Fixed, p.hybridEager(chunk))
	}
}

// longest is the cached prefix of the last chunk of a prompt as long as the
// context. Only MLA that projects it up takes more for it.
func (p *plan) longest(chunk int64) int64 {
	n := int64(p.info.ContextLen) - chunk
	if !p.latent() || n < p.absorbBelow() {
		return 0
	}
	return n
}
