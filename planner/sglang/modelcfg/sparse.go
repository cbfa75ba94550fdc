package modelcfg

import (
	"errors"

	"github.com/sglplan/sglplan/planner/model"
)

var minimaxSparseArchs = archSet{"MiniMaxM3SparseForCausalLM": "0.5.15", "MiniMaxM3SparseForConditionalGeneration": "0.5.15"}

// sparse reads MiniMax-M3's index keys and Qwen4-Exp's compressed index.
func (d *deriver) sparse() {
	m, t := d.m, d.v.text
	if minimaxSparseArchs.has(d.r, m.Arch) {
		if c := t.sub("sparse_attention_config"); c != nil {
			m.Sparse = minimaxSparse(c)
		} else if c := d.v.top.sub("sparse_attention_config"); c != nil {
			m.Sparse = minimaxSparse(c)
		} else {
			d.fail("sparse_attention_config", errors.New("is missing"))
		}
	}
	if _, ok := t.int("indexer_n_heads"); ok && d.r.AtLeast("0.5.20") && (m.Arch == "Qwen4ExpForConditionalGeneration" || m.Arch == "Qwen4ExpForCausalLMMTP") {
		m.QSA = &QSA{KVHeads: t.or("indexer_kv_heads", 1), HeadDim: t.or("indexer_head_dim", 0), CompressRatio: t.or("indexer_compress_ratio", 0)}
		if m.QSA.CompressRatio < 2 || m.QSA.HeadDim < 1 {
			d.fail("indexer_compress_ratio", errors.New("and indexer_head_dim do not describe a compressed index"))
			m.QSA.CompressRatio = max(2, m.QSA.CompressRatio)
		}
	}
}

func minimaxSparse(c model.Section) *Sparse {
	s := &Sparse{IndexDim: clampInt(c.IntOr("sparse_index_dim", 0))}
	keyOnly := c.Ints("sparse_disable_index_value")
	for i, f := range c.Ints("sparse_attention_freq") {
		if f == 0 {
			continue
		}
		s.SparseLayers = append(s.SparseLayers, i)
		if i < len(keyOnly) && keyOnly[i] != 0 {
			s.KeyOnlyLayers = append(s.KeyOnlyLayers, i)
		}
	}
	return s
}

// compressRatios reads DeepSeek-V4's per-layer ratios, drafts included.
func (d *deriver) compressRatios() []int {
	if l := d.v.text.ints("compress_ratios"); l != nil {
		return l
	}
	// transformers 5 may write the layers' kinds instead.
	kinds := map[string]int{"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
	var out []int
	for _, t := range d.v.text.strs("layer_types") {
		r, ok := kinds[t]
		if !ok {
			d.failf("layer_types", "holds %q, which is no kind of DeepSeek-V4 layer", t)
			return nil
		}
		out = append(out, r)
	}
	return out
}
