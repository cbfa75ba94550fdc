package modelcfg_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// The vectors were made by running SGLang's own ModelConfig on these
// configurations.
const (
	configsFile = "../pool/testdata/configs.jsonl.gz"
	vectorsFile = "../pool/testdata/kv_cell.jsonl.gz"
)

func eachLine(t testing.TB, file string, use func([]byte)) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s := bufio.NewScanner(z)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		use(s.Bytes())
	}
	require.NoError(t, s.Err())
}

func configs(t testing.TB) map[string]*model.Config {
	out := map[string]*model.Config{}
	eachLine(t, configsFile, func(b []byte) {
		var c struct {
			Name          string
			Config, Quant json.RawMessage
		}
		require.NoError(t, json.Unmarshal(b, &c))
		cfg := &model.Config{Top: section(t, c.Config)}
		if c.Quant != nil {
			cfg.Quant = section(t, c.Quant)
		}
		out[c.Name] = cfg
	})
	return out
}

func section(t testing.TB, b []byte) model.Section {
	s, err := model.ParseSection(byteReader(b))
	require.NoError(t, err)
	return s
}

// derived are the fields that the vectors hold of a ModelConfig.
type derived struct {
	Layers     int     `json:"num_hidden_layers"`
	Attention  int     `json:"num_attention_layers"`
	Heads      *int    `json:"num_attention_heads"`
	KVHeads    *int    `json:"num_key_value_heads"`
	HeadDim    int     `json:"head_dim"`
	VHeadDim   *int    `json:"v_head_dim"`
	Hidden     int     `json:"hidden_size"`
	Vocab      int     `json:"vocab_size"`
	Context    int     `json:"context_len"`
	LoraRank   *int    `json:"kv_lora_rank"`
	Rope       *int    `json:"qk_rope_head_dim"`
	Nope       *int    `json:"qk_nope_head_dim"`
	Index      *int    `json:"index_head_dim"`
	Hybrid     *bool   `json:"is_hybrid_swa"`
	Compress   *bool   `json:"is_hybrid_swa_compress"`
	Multimodal bool    `json:"is_multimodal"`
	NextN      *int    `json:"num_nextn_predict_layers"`
	Full       []int   `json:"full_attention_layer_ids"`
	Window     []int   `json:"swa_attention_layer_ids"`
	Quant      *string `json:"quantization"`
	Arch       string  `json:"attention_arch"`
	DType      string  `json:"dtype"`
}

type vector struct {
	Tag     string
	ID      int
	Model   string `json:"model_name"`
	Flags   []string
	Want    *derived `json:"model"`
	TotalKV int      `json:"total_kv_heads"`
	Rank    int      `json:"kv_heads_per_rank"`
	SWARank *int     `json:"swa_kv_heads_per_rank"`
	AttnTP  int      `json:"attn_tp"`
	Mamba   *struct {
		PerRequest int64 `json:"mamba_cache_per_req"`
		Layers     []int
		Full       []int `json:"full_attention_layer_ids"`
	}
}

func ptr[T any](v T) *T { return &v }

// got lays an Info out as the vectors do; where the release has no such field
// or leaves it out, the vector's null is taken over.
func got(m *modelcfg.Info, w *derived) *derived {
	g := &derived{
		Layers: m.NumHiddenLayers, Attention: m.NumAttentionLayers, Heads: ptr(m.NumAttentionHeads), KVHeads: ptr(m.NumKeyValueHeads),
		HeadDim: m.HeadDim, VHeadDim: ptr(m.VHeadDim), Hidden: m.HiddenSize, Vocab: m.VocabSize, Context: m.ContextLen,
		Hybrid: ptr(m.IsHybridSWA), Compress: w.Compress, Multimodal: m.IsMultimodal, Arch: string(m.AttentionArch),
		DType: "torch." + m.DType,
	}
	if m.AttentionArch == modelcfg.SSM {
		g.Heads, g.KVHeads = nil, nil
	}
	if m.AttentionArch == modelcfg.MLA {
		g.LoraRank = ptr(m.KVLoraRank)
	}
	if m.AttentionArch == modelcfg.MLA || m.IsDeepseekV4 {
		g.Rope, g.Nope = ptr(m.QKRopeHeadDim), ptr(m.QKNopeHeadDim)
	}
	if m.IndexHeadDim > 0 {
		g.Index = ptr(m.IndexHeadDim)
	}
	if m.HasNumNextN {
		g.NextN = ptr(m.NumNextN)
	}
	if m.Window != nil {
		g.Full, g.Window = m.Window.FullLayers, m.Window.SWALayers
		g.Compress = ptr(m.Window.Compress)
	}
	if m.Quantization != "" {
		g.Quant = ptr(m.Quantization)
	}
	if w.VHeadDim == nil {
		g.VHeadDim = nil // not derived before 0.5.7
	}
	if w.Hybrid == nil {
		g.Hybrid = nil
	}
	return g
}

func options(flags []string) modelcfg.Options {
	var o modelcfg.Options
	for i, f := range flags {
		switch f {
		case "--disable-hybrid-swa-memory":
			o.DisableHybridSWA = true
		case "--context-length":
			fmt.Sscan(flags[i+1], &o.ContextLength)
		case "--mamba-ssm-dtype":
			o.SSMDType = flags[i+1]
		}
	}
	return o
}

func TestVectors(t *testing.T) {
	cfgs := configs(t)
	rows, exact := 0, 0
	byTag := map[string][2]int{}
	shown := map[string]bool{}
	eachLine(t, vectorsFile, func(b []byte) {
		var v vector
		require.NoError(t, json.Unmarshal(b, &v))
		if v.Want == nil {
			return
		}
		rows++
		opt := options(v.Flags)
		if v.Want.DType != "torch.float16" {
			opt.DType = v.Want.DType[len("torch."):] // argument handling may have set it (gpt-oss)
		}
		m, _ := modelcfg.Derive(release.MustParse(v.Tag), cfgs[v.Model], opt)
		diff := cmp.Diff(v.Want, got(m, v.Want))
		diff += cmp.Diff(v.TotalKV, m.TotalKVHeads) + cmp.Diff(v.Rank, rank(m, v))
		if v.SWARank != nil && m.Window != nil {
			diff += cmp.Diff(*v.SWARank, m.SWAKVHeads(v.AttnTP))
		}
		if v.Mamba != nil && m.Linear == nil {
			diff += "no recurrent layers"
		} else if v.Mamba != nil {
			tp := v.AttnTP
			diff += cmp.Diff(v.Mamba.PerRequest, m.Linear.BytesPerRequest(tp, len(m.Linear.Layers)))
			diff += cmp.Diff(len(v.Mamba.Full), len(m.Linear.FullLayers))
			if !slices.Equal(v.Mamba.Layers, m.Linear.Layers) {
				diff += fmt.Sprint(v.Mamba.Layers, m.Linear.Layers)
			}
		}
		n := byTag[v.Tag]
		n[1]++
		if diff == "" {
			exact++
			n[0]++
		} else if key := v.Tag + v.Model; !shown[key] && len(shown) < 40 {
			shown[key] = true
			t.Logf("%s %d %s %v\n%s", v.Tag, v.ID, v.Model, v.Flags, diff)
		}
		byTag[v.Tag] = n
	})
	t.Logf("derived configurations exact: %d of %d, by release %v", exact, rows, byTag)
	require.Equal(t, rows, exact)
}

func rank(m *modelcfg.Info, v vector) int {
	if m.AttentionArch == modelcfg.SSM {
		return v.Rank
	}
	return m.KVHeads(v.AttnTP)
}
