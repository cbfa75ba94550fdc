package checkpoint

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/model/weights"
)

func TestPlaces(t *testing.T) {
	for name, want := range map[string]struct {
		group weights.Group
		split Split
		layer int
		rank  int
		draft bool
		skip  bool
	}{
		"model.embed_tokens.weight":                                              {group: weights.Embedding, split: ByAttnTP, layer: -1, rank: 2},
		"lm_head.weight":                                                         {group: weights.LMHead, split: ByTP, layer: -1, rank: 2},
		"head.weight":                                                            {group: weights.LMHead, split: ByTP, layer: -1, rank: 2},
		"model.norm.weight":                                                      {group: weights.Norms, layer: -1, rank: 1},
		"model.layers.7.input_layernorm.weight":                                  {group: weights.Norms, layer: 7, rank: 1},
		"model.layers.7.self_attn.q_proj.weight":                                 {group: weights.Attention, split: ByAttnTP, layer: 7, rank: 2},
		"model.layers.7.self_attn.k_proj.weight":                                 {group: weights.Attention, split: ByKV, layer: 7, rank: 2},
		"model.layers.7.self_attn.q_proj.bias":                                   {group: weights.Attention, layer: 7, rank: 1},
		"model.layers.7.self_attn.q_norm.weight":                                 {group: weights.Norms, layer: 7, rank: 1},
		"model.layers.7.self_attn.kv_a_proj_with_mqa.weight":                     {group: weights.Attention, layer: 7, rank: 2},
		"model.layers.7.self_attn.kv_b_proj.weight_scale_inv":                    {group: weights.Attention, split: ByAttnTP, layer: 7, rank: 2},
		"model.layers.7.self_attn.indexer.wk.weight":                             {group: weights.Indexer, layer: 7, rank: 2},
		"model.layers.7.self_attn.rotary_emb.inv_freq":                           {group: weights.Attention, layer: 7, rank: 1, skip: true},
		"model.layers.7.mlp.down_proj.weight":                                    {group: weights.DenseMLP, split: ByTP, layer: 7, rank: 2},
		"model.layers.7.mlp.gate.weight":                                         {group: weights.Router, layer: 7, rank: 2},
		"model.layers.7.mlp.experts.311.down_proj.weight_packed":                 {group: weights.Experts, split: ByExpert, layer: 7, rank: 2},
		"model.layers.7.mlp.experts.gate_up_proj_blocks":                         {group: weights.Experts, split: ByExpert, layer: 7, rank: 4},
		"model.layers.7.mlp.shared_experts.up_proj.weight":                       {group: weights.SharedExperts, split: ByTP, layer: 7, rank: 2},
		"model.layers.7.block_sparse_moe.experts.3.w1.weight":                    {group: weights.Experts, split: ByExpert, layer: 7, rank: 2},
		"model.layers.7.linear_attn.in_proj_qkvz.weight":                         {group: weights.LinearAttention, split: ByAttnTP, layer: 7, rank: 2},
		"backbone.layers.7.mixer.experts.5.up_proj.weight":                       {group: weights.Experts, split: ByExpert, layer: 7, rank: 2},
		"transformer.h.7.mlp.c_fc.weight":                                        {group: weights.DenseMLP, split: ByTP, layer: 7, rank: 2},
		"layers.7.ffn.experts.2.w2.scale":                                        {group: weights.Experts, split: ByExpert, layer: 7, rank: 2},
		"model.language_model.layers.7.mlp.up_proj.weight":                       {group: weights.DenseMLP, split: ByTP, layer: 7, rank: 2},
		"model.language_model.embed_tokens_per_layer.weight":                     {group: weights.LookupTables, split: Either, layer: -1, rank: 2},
		"model.visual.blocks.3.attn.qkv.weight":                                  {group: weights.Vision, split: ByTower, layer: -1, rank: 2},
		"vision_tower.encoder.layers.3.mlp.fc1.weight":                           {group: weights.Vision, split: ByTower, layer: -1, rank: 2},
		"mtp.layers.0.mlp.up_proj.weight":                                        {group: weights.DenseMLP, split: ByTP, layer: 0, rank: 2, draft: true},
		"model.layers.7.secret_matrix.weight":                                    {group: weights.Other, split: Either, layer: 7, rank: 2},
		"model.layers.99999999999999999999.self_attn.q_proj.weight":              {group: weights.Attention, split: ByAttnTP, layer: -1, rank: 2},
		"model.layers.7.mlp.experts.1.2.3.4.5.6.7.8.9.10.11.12.gate_proj.weight": {group: weights.Experts, split: ByExpert, layer: 7, rank: 2},
		"": {group: weights.Other, layer: -1, rank: 1},
	} {
		var f forms
		for range 2 { // the second time from memory
			p, layer := f.of([]byte(name), want.rank)
			require.Equal(t, place{want.group, want.split, want.draft, want.skip}, p, name)
			require.Equal(t, want.layer, layer, name)
		}
	}
}

func tally(t testing.TB, tensors []bigcheckpoint.Tensor) *Tally {
	head, data := bigcheckpoint.Header(tensors)
	var r safetensors.Reader
	var out Tally
	_, err := r.Read("x", bytes.NewReader(head), int64(len(head))+data, out.Add)
	require.NoError(t, err)
	return &out
}

func TestStored(t *testing.T) {
	y := tally(t, []bigcheckpoint.Tensor{
		bigcheckpoint.Matrix("model.embed_tokens.weight", 10, 4), bigcheckpoint.Matrix("lm_head.weight", 10, 4),
		{Name: "model.layers.0.self_attn.q_proj.weight", DType: "F32", Bits: 32, Shape: []int64{4, 4}},
		bigcheckpoint.Matrix("model.layers.1.mlp.experts.0.up_proj.weight", 4, 4),
		bigcheckpoint.Matrix("model.layers.2.self_attn.q_proj.weight", 4, 4), bigcheckpoint.Matrix("mtp.fc.weight", 2, 2),
		bigcheckpoint.Matrix("model.visual.blocks.0.attn.qkv.weight", 2, 2), bigcheckpoint.Matrix("model.rotary_emb.inv_freq", 8),
	})
	stored, narrowed := y.Stored(2)
	require.Equal(t, Sizes{Experts: 32, Embedding: 80, Head: 80, Towers: 8, Body: 64}, stored)
	require.Equal(t, Sizes{Experts: 32, Embedding: 80, Head: 80, Towers: 8, Body: 32}, narrowed)
	require.EqualValues(t, 40, y.Draft(2))
	require.EqualValues(t, 320, y.Bytes)
	require.EqualValues(t, 264, stored.Total())
}

func TestShare(t *testing.T) {
	y := tally(t, bigcheckpoint.Kimi(4, 8))
	one := weights.Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1, Dense: 1, Vision: 1, PP: 1}
	whole := y.Share(one, 4, 0, false)
	require.Equal(t, whole.Low, whole.High, "nothing is in doubt on one rank")
	require.Equal(t, y.Bytes, whole.High)
	// Ranks never hold less than their part, and a stage no more than all.
	for _, tp := range []int64{2, 4, 8} {
		l := weights.Layout{TP: tp, AttnTP: tp, EP: 1, MoETP: tp, Dense: tp, Vision: tp, PP: 1}
		s := y.Share(l, 4, 0, false)
		require.GreaterOrEqual(t, s.Low*tp, whole.High)
		require.Less(t, s.High, whole.High)
	}
	two := one
	two.PP = 2
	first := y.Share(two, 4, 0, false)
	two.Stage = 1
	second := y.Share(two, 4, 0, false)
	vision := int64(0)
	for _, g := range whole.Groups {
		if g.Name == "vision" {
			vision = g.Bytes
		}
	}
	require.Equal(t, whole.High, first.High+second.High-vision-7168*2, "towers and the last norm are on both")
}

func TestMerge(t *testing.T) {
	all := bigcheckpoint.Kimi(3, 4)
	want := tally(t, all)
	got := tally(t, all[:10])
	got.Merge(tally(t, all[10:]))
	a, b := want.Stored(3)
	c, d := got.Stored(3)
	require.Equal(t, [2]Sizes{a, b}, [2]Sizes{c, d})
	require.Equal(t, want.Tensors, got.Tensors)
}

func FuzzForms(f *testing.F) {
	f.Add("model.layers.7.mlp.experts.311.down_proj.weight", 2)
	f.Add("..7..layers.x.9", 1)
	f.Fuzz(func(t *testing.T, name string, rank int) {
		var s forms
		first, layer := s.of([]byte(name), max(rank, 0))
		again, same := s.of([]byte(name), max(rank, 0))
		require.Equal(t, first, again)
		require.Equal(t, layer, same)
		require.Less(t, layer, maxLayers)
	})
}
