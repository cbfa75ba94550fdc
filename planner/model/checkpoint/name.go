package checkpoint

import (
	"bytes"

	"github.com/sglplan/sglplan/planner/model/weights"
)

// Split is how SGLang's classes spread a tensor over ranks.
type Split uint8

// The ways in which tensors are spread.
const (
	Whole    Split = iota // in full on every rank
	ByTP                  // divided by TP
	ByAttnTP              // divided by attention TP
	ByKV                  // like ByAttnTP, but never below one KV head
	ByExpert              // experts over EP, each over the rest of TP
	ByTower               // divided by the vision tower's ranks
	Either                // a matrix without a rule: in full, or divided by TP
	splits
)

// place is where a tensor belongs.
type place struct {
	group weights.Group
	split Split
	draft bool // of the prediction layers, which the target does not load
	skip  bool // not loaded at all
}

// mark is what one part of a tensor's name says.
type mark uint16

const (
	inLayers mark = 1 << iota // the next part is a layer's number
	inExperts
	inShared
	inAttention
	inLinear
	inIndexer
	inTower
	inDraft
	inMLP
	isEmbedding
	isHead
	isRouter
	isNorm
	isLookup
	unused
)

// marks maps the parts of names that checkpoints use.
var marks = map[string]mark{
	"layers": inLayers, "h": inLayers, "blocks": inLayers, "block": inLayers,
	"experts":        inExperts,
	"shared_experts": inShared, "shared_expert": inShared, "shared_mlp": inShared, "shared_expert_gate": inShared,
	"self_attn": inAttention, "attn": inAttention, "attention": inAttention, "self_attention": inAttention, "cross_attn": inAttention,
	"linear_attn": inLinear, "mamba": inLinear, "mixer": inLinear, "kda": inLinear,
	"indexer": inIndexer,
	"visual":  inTower, "vision_tower": inTower, "vision_model": inTower, "vision_encoder": inTower, "vision": inTower, "vpm": inTower,
	"image_encoder": inTower, "mm_projector": inTower, "multi_modal_projector": inTower, "vision_projector": inTower, "vision_language_adapter": inTower,
	"embed_vision": inTower, "audio_tower": inTower, "embed_audio": inTower, "resampler": inTower, "vit_large_projector": inTower,
	"mtp": inDraft, "mtp_layers": inDraft, "nextn": inDraft, "mtp_block": inDraft, "dspark": inDraft,
	"mlp": inMLP, "feed_forward": inMLP, "ffn": inMLP, "block_sparse_moe": inMLP, "moe": inMLP,
	"embed_tokens": isEmbedding, "wte": isEmbedding, "word_embeddings": isEmbedding, "tok_embeddings": isEmbedding, "embeddings": isEmbedding, "embed": isEmbedding, "embed_in": isEmbedding,
	"lm_head": isHead, "output": isHead, "head": isHead, "embed_out": isHead,
	"router": isRouter, "gate": isRouter,
	"embed_tokens_per_layer": isLookup, "engram": isLookup, "ple": isLookup,
	"inv_freq": unused, "masked_bias": unused, "k_scale": unused, "v_scale": unused, "kv_scale": unused,
}

// leaves maps projections to how they are spread. What is not here and is a
// matrix is Either.
var leaves = map[string]Split{
	"q_proj": ByAttnTP, "o_proj": ByAttnTP, "qkv_proj": ByAttnTP, "query_key_value": ByAttnTP, "c_attn": ByAttnTP, "Wqkv": ByAttnTP,
	"q_b_proj": ByAttnTP, "kv_b_proj": ByAttnTP, "wq_b": ByAttnTP, "wo_a": ByAttnTP, "wo_b": ByAttnTP, "wq": ByAttnTP, "wo": ByAttnTP, "out_proj": ByAttnTP,
	"in_proj": ByAttnTP, "in_proj_qkvz": ByAttnTP, "in_proj_qkv": ByAttnTP, "in_proj_z": ByAttnTP, "in_proj_ba": ByAttnTP, "in_proj_a": ByAttnTP, "in_proj_b": ByAttnTP, "conv1d": ByAttnTP,
	"k_proj": ByKV, "v_proj": ByKV, "wk": ByKV, "wv": ByKV,
	"q_a_proj": Whole, "kv_a_proj_with_mqa": Whole, "wq_a": Whole, "wkv": Whole, "wkv_a": Whole,
	"gate_proj": ByTP, "up_proj": ByTP, "down_proj": ByTP, "gate_up_proj": ByTP, "w1": ByTP, "w2": ByTP, "w3": ByTP,
	"fc1": ByTP, "fc2": ByTP, "c_fc": ByTP, "c_proj": ByTP, "dense_h_to_4h": ByTP, "dense_4h_to_h": ByTP,
}

// locate finds a tensor's place by its name and number of dimensions. The
// second result is which of the name's numbers is the layer's, -1 for none.
func locate(name []byte, rank int) (p place, layer int) {
	var all mark
	layer = -1
	split, known := Either, false
	numbers := 0
	var before mark
	for part := range bytes.SplitSeq(name, []byte{'.'}) {
		if _, ok := number(part); ok {
			if before == inLayers && layer < 0 && all&inTower == 0 {
				layer = numbers
			}
			numbers++
			before = 0
			continue
		}
		before = marks[string(part)]
		all |= before
		if s, ok := leaves[string(part)]; ok {
			split, known = s, true
		}
		if bytes.HasSuffix(part, normSuffix) {
			all |= isNorm
		}
	}
	p.draft = all&inDraft != 0
	p.skip = all&unused != 0
	p.group, p.split = decide(all, layer >= 0, rank, split, known)
	return p, layer
}

var normSuffix = []byte("norm")

// decide turns what a name said into a group and a split.
func decide(all mark, layered bool, rank int, split Split, known bool) (weights.Group, Split) {
	small := rank < 2
	switch {
	case all&inTower != 0:
		return weights.Vision, ByTower
	case all&isLookup != 0:
		return weights.LookupTables, Either
	case !layered && all&isEmbedding != 0:
		return weights.Embedding, ByAttnTP
	case !layered && all&isHead != 0:
		return weights.LMHead, ByTP
	case all&inShared != 0:
		return weights.SharedExperts, unless(small, split)
	case all&inExperts != 0:
		return weights.Experts, ByExpert
	case all&isNorm != 0 && small:
		return weights.Norms, Whole
	case all&inIndexer != 0:
		return weights.Indexer, Whole
	case all&inLinear != 0:
		return weights.LinearAttention, unless(small, split)
	case all&inAttention != 0:
		return weights.Attention, unless(small, split)
	case all&isRouter != 0 && !known:
		return weights.Router, Whole
	case all&inMLP != 0:
		return weights.DenseMLP, unless(small, split)
	case !layered && small:
		return weights.Other, Whole
	}
	return weights.Other, unless(small, split)
}

// unless keeps vectors whole: biases and norms are too small to matter.
func unless(small bool, s Split) Split {
	if small {
		return Whole
	}
	return s
}
