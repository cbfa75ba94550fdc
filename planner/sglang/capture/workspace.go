package capture

import (
	"github.com/sglplan/sglplan/planner/activation"
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/units"
)

// backends are the attention backends of prefill and decode; one or two.
type backends []string

func backendsOf(a *args.Args) backends {
	whole := a.Str("attention_backend")
	var out backends
	for _, f := range []string{"prefill_attention_backend", "decode_attention_backend"} {
		b := a.Str(f)
		if b == "" {
			b = whole
		}
		if b != "" && !out.has(b) {
			out = append(out, b)
		}
	}
	return out
}

func (b backends) has(name string) bool {
	for _, x := range b {
		if x == name {
			return true
		}
	}
	return false
}

func (b backends) only(name string) bool { return len(b) == 1 && b[0] == name }

// workspaces are the buffers that an attention backend allocates at once, in
// MiB (SGLang's own constants; flash attention and triton have none). The
// trtllm backends build on flashinfer's and keep its workspace beside theirs.
var workspaces = map[string]struct {
	own        int64
	flashinfer bool
}{
	"flashinfer": {0, true}, "flashinfer_mla": {0, true},
	"trtllm_mha": {512, true}, "trtllm_mla": {150, true}, "tokenspeed_mla": {150, true}, "cutlass_mla": {128, true},
	"flashmla": {0, true},
}

// wideFlashinfer are the architectures for which SGLang raises flashinfer's
// workspace from 384 to 512 MiB.
var wideFlashinfer = map[string]bool{
	"Qwen2ForCausalLM": true, "Qwen3ForCausalLM": true, "MiMoForCausalLM": true,
	"Qwen3VLForConditionalGeneration": true, "Qwen3VLMoeForConditionalGeneration": true,
}

func (p *plan) workspace(backend string) units.Bytes {
	w, ok := workspaces[backend]
	if !ok {
		return 0
	}
	n := w.own
	switch {
	case !w.flashinfer:
	case wideFlashinfer[p.info.Arch] && !p.latent():
		n += 512
	default:
		n += 384
	}
	return units.Bytes(n) * mib
}

// before describes what is taken before the first capture.
func (p *plan) before() {
	first := fixed("cuBLAS and first modules", activation.Workspace, 100, 85, 115, "fitted on 9 launches of 0.5.17 on H200")
	if p.tritonKernels() {
		first = fixed("cuBLAS and first modules", activation.Workspace, 40, 0, 115, "holes that weight conversion leaves take a part; fitted on 1 launch of gpt-oss")
	}
	p.out.Before = append(p.out.Before, first)
	for _, b := range p.back {
		if w := p.workspace(b); w > 0 {
			p.out.Before = append(p.out.Before, activation.Term{Name: b + " workspace", Group: activation.Workspace,
				Bytes: figure.New(w, figure.Exact), Source: "SGLang: constant of the attention backend"})
		}
	}
	if p.r.AtLeast("0.5.14") {
		// Ids, positions and locations of 8 bytes each, positions on 3 axes
		// once more: EagerRunner's registry.
		p.out.Eager = activation.EagerBuffers{PerToken: 48, Floor: max(p.chunk(), p.a.IntOr("max_prefill_tokens", 16384))}
	}
}

func (p *plan) heads() int64 { return max(1, int64(p.info.NumAttentionHeads)/p.l.attention) }

func (p *plan) valueDim() int64 {
	if p.latent() {
		return int64(p.info.KVLoraRank)
	}
	if p.info.VHeadDim > 0 {
		return int64(p.info.VHeadDim)
	}
	return int64(p.info.HeadDim)
}
