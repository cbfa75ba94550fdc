package modelcfg

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
)

// contextKeys are the names for the longest sequence, in SGLang's order.
var contextKeys = []string{"max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings"}

// contextLength derives the model's own limit and applies --context-length.
func (d *deriver) contextLength() {
	m := d.m
	m.DerivedContextLen = d.derivedContext()
	m.ContextLen = m.DerivedContextLen
	if m.Arch == "EmbeddingGemma2Model" {
		m.ContextLen = min(m.ContextLen, 8192)
	}
	want := d.opt.ContextLength
	if want == 0 {
		return
	}
	m.ContextLen = want
	if want > m.DerivedContextLen && !d.opt.AllowLongerContext && !d.opt.IsDraft {
		d.found = append(d.found, finding.New(CodeContextTooLong, finding.Error, "--context-length",
			fmt.Sprintf("asked for %d tokens, config.json allows %d", want, m.DerivedContextLen)).
			With("use the model's own length", finding.Edit{Flag: "--context-length", Value: fmt.Sprint(m.DerivedContextLen)}))
	}
}

// perLayerRope are classes whose RoPE parameters are kept by kind of layer, so
// that no factor stands where the context length is derived.
var perLayerRope = map[string]bool{"gemma3_text": true, "gemma3n_text": true, "gemma4_text": true, "beam": true, "mellum": true, "laguna": true}

func (d *deriver) derivedContext() int {
	factor := 1.0
	if !perLayerRope[d.v.textType] {
		factor = ropeFactor(d.rope())
	}
	for _, k := range contextKeys {
		if n, ok := d.v.text.int(k); ok {
			c := factor * float64(n)
			if c < 1 || c > 1<<31-1 {
				d.failf(k, "gives a context of %g tokens", c)
				return 1
			}
			return int(c)
		}
	}
	return 2048
}

// rope returns the rope scaling of the text config. transformers 5 keeps it in
// rope_parameters and answers rope_scaling with that.
func (d *deriver) rope() model.Section {
	if s := d.v.text.sub("rope_scaling"); s != nil {
		return s
	}
	return d.v.text.sub("rope_parameters")
}

// ropeFactor is what the scaling multiplies the positions with: nothing when
// the file states the original length, for these already are the longer ones.
func ropeFactor(s model.Section) float64 {
	if s == nil {
		return 1
	}
	if _, ok := s["original_max_position_embeddings"]; ok {
		return 1
	}
	if s.Str("rope_type") == "llama3" {
		return 1
	}
	f, ok := s.Float("factor")
	if !ok {
		return 1
	}
	return f
}
