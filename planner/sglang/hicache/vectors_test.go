package hicache

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// vector is one row of testdata/host_pool.jsonl.gz: what SGLang's own pool
// code made of stated inputs.
type vector struct {
	Tag  string
	ID   int
	Kind string
	Pool string

	LayerNum       int64    `json:"layer_num"`
	HeadNum        int64    `json:"head_num"`
	HeadDim        int64    `json:"head_dim"`
	VHeadDim       int64    `json:"v_head_dim"`
	LoraRank       int64    `json:"kv_lora_rank"`
	RopeDim        int64    `json:"qk_rope_head_dim"`
	KVCacheDim     int64    `json:"kv_cache_dim"`
	IndexHeadDim   int64    `json:"index_head_dim"`
	StoreDtype     string   `json:"store_dtype"`
	Page           int64    `json:"page_size"`
	Layout         string   `json:"layout"`
	Size           float64  `json:"hicache_size"`
	Ratio          *float64 `json:"hicache_ratio"`
	Fraction       *float64 `json:"hicache_host_memory_fraction"`
	DeviceTokens   int64    `json:"device_tokens"`
	Available      int64    `json:"host_available_bytes"`
	Headroom       *int64   `json:"cgroup_headroom_bytes"`
	OverridePassed bool     `json:"override_passed"`

	// One pool alone.
	SizePerToken   int64   `json:"size_per_token"`
	Tokens         int64   `json:"size"`
	PageNum        int64   `json:"page_num"`
	RequestedBytes int64   `json:"requested_bytes"`
	Buffers        []int64 `json:"buffers"`

	// A rank's whole set.
	Spec struct {
		Class      string
		LayerNum   int64 `json:"layer_num"`
		HeadNum    int64 `json:"head_num"`
		HeadDim    int64 `json:"head_dim"`
		KVCacheDim int64 `json:"kv_cache_dim"`
		SkipTopK   int64 `json:"skip_topk"`
		FullEvery  int64 `json:"full_every"`
		KHeads     int64 `json:"k_heads"`
		VHeads     int64 `json:"v_heads"`
		TP         int64
	} `json:"geometry_spec"`
	TP, PP, Nnodes int64
	SWATokens      int64 `json:"device_swa_tokens"`
	MambaSlots     int64 `json:"device_mamba_slots"`
	Packed         int64 `json:"packed_mtp_layers"`
	DraftTokens    int64 `json:"draft_tokens"`
	Sidecar        *struct {
		Class    string
		LayerNum int64 `json:"layer_num"`
		HeadNum  int64 `json:"head_num"`
		HeadDim  int64 `json:"head_dim"`
	} `json:"sidecar_draft"`

	Allocated       int64 `json:"allocated_bytes_per_rank"`
	AllocatedOnHost int64 `json:"allocated_bytes_on_host"`
	Out             json.RawMessage
	Error           *struct{ Type, Msg string }
	Args            map[string]any
	Case            string
	Tree            json.RawMessage

	raw json.RawMessage
}

func (v vector) release() release.Release { return release.MustParse(v.Tag) }
func (v vector) name() string             { return fmt.Sprintf("%s/%d", v.Tag, v.ID) }

func (v vector) elt() int64 {
	if strings.HasPrefix(v.StoreDtype, "fp8") {
		return 1
	}
	return 2
}

func vectors(t *testing.T, kind string) []vector {
	t.Helper()
	f, err := os.Open("testdata/host_pool.jsonl.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var out []vector
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v), "%s", lines.Text())
		if v.Kind == kind {
			v.raw = append(json.RawMessage(nil), lines.Bytes()...)
			out = append(out, v)
		}
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, out)
	return out
}

// tally counts rows that agree, prints the figure and fails on any that does not.
type tally struct{ rows, wrong int }

func (c *tally) check(t *testing.T, name string, want, got any) {
	t.Helper()
	c.rows++
	if !assert.ObjectsAreEqual(want, got) {
		if c.wrong++; c.wrong <= 12 {
			t.Errorf("%s:\nwant %+v\ngot  %+v", name, want, got)
		}
	}
}

func (c *tally) print(t *testing.T, what string) {
	t.Logf("%s: %d of %d rows as SGLang", what, c.rows-c.wrong, c.rows)
	require.Zero(t, c.wrong)
}

// One pool alone: bytes per token, slots, pages, requested bytes and the end
// of the constructor, in seven releases.
func TestSinglePoolVectors(t *testing.T) {
	type result struct {
		SPT, Tokens, Pages, Requested int64
		End                           string
	}
	var c tally
	for _, v := range vectors(t, "") {
		r := v.release()
		p := singlePool(v)
		s := Settings{Reason: Hierarchical, SizeGB: v.Size, Layout: v.Layout}
		if v.Ratio != nil {
			s.Ratio = *v.Ratio
		}
		pools := []DevicePool{p}
		if v.IndexHeadDim > 0 && insideIndexer(r) {
			pools = append(pools, DevicePool{Name: "indexer", Kind: Indexer, Layers: v.LayerNum,
				RowBytes: v.IndexHeadDim + v.IndexHeadDim/128*4, Page: v.Page, Tokens: v.DeviceTokens})
		}
		host := build(r, pools, s, nil)
		settle(r, host, 0)
		h := host[0]
		want := result{v.SizePerToken, v.Tokens, v.PageNum, v.RequestedBytes, "ok"}
		if v.Error != nil {
			want.End = v.Error.Msg
		}
		free := share(r, HostView{AfterLoad: units.Bytes(v.Available)}, 1, 0)
		c.check(t, v.name(), want, result{h.BytesPerToken, h.Tokens, h.Pages, int64(h.RequestedBytes), singleEnd(v, h, p, free)})
	}
	c.print(t, "single pools")
}

func singlePool(v vector) DevicePool {
	p := DevicePool{Name: "kv", Kind: Main, Layers: v.LayerNum, Page: v.Page, Tokens: v.DeviceTokens}
	switch {
	case v.LoraRank > 0:
		p.MLA = true
		p.RowBytes = (v.LoraRank + v.RopeDim) * v.elt()
		if v.KVCacheDim > 0 && (v.OverridePassed || v.Tag == "v0.5.9") {
			p.RowBytes = v.KVCacheDim * v.elt()
		}
	case v.VHeadDim > 0 && strings.HasPrefix(v.Pool, "Asymmetric"):
		p.RowBytes = v.HeadNum * (v.HeadDim + v.VHeadDim) * v.elt()
		p.KeyRowBytes = v.HeadNum * v.HeadDim * v.elt()
	default:
		p.RowBytes = v.HeadNum * v.HeadDim * 2 * v.elt()
	}
	return p
}

func singleEnd(v vector, h HostPool, p DevicePool, free units.Bytes) string {
	switch {
	case v.release().Before("0.5.15") && h.Tokens <= p.Tokens:
		return "The host memory should be larger than the device memory with the current protocol"
	case h.RequestedBytes > free:
		return notEnough(h.RequestedBytes, free)
	case p.KeyRowBytes > 0 && v.Layout == "layer_first":
		return "Unsupported layout for models with head_dim != v_head_dim: layer_first; expected 'page_first' or 'page_first_direct'."
	}
	return "ok"
}

func notEnough(requested, free units.Bytes) string {
	return fmt.Sprintf("Not enough host memory available. Requesting %.2f GB but only have %.2f GB free. Please reduce the size of the hierarchical cache.",
		requested.GB(), free.GB())
}

// All pools of one rank, with the defaults, the split, automatic sizing and
// the guard of 0.5.20, 0.5.21 and 0.5.23.
func TestPoolSetVectors(t *testing.T) {
	type pool struct {
		Name           string `json:"name"`
		SizePerToken   int64  `json:"size_per_token"`
		Size           int64  `json:"size"`
		PageNum        int64  `json:"page_num"`
		RequestedBytes int64  `json:"requested_bytes"`
	}
	type out struct {
		RanksPerHost int64   `json:"ranks_per_host"`
		DeviceBytes  *int64  `json:"device_bytes"`
		RatioUsed    float64 `json:"ratio_used"`
		Budget       *int64  `json:"budget_bytes"`
		Left         *int64  `json:"budget_left_bytes"`
		Pools        []pool  `json:"pools"`
		Rank, Host   int64
		Buffers      []int64
		End          string
	}
	var c tally
	for _, v := range vectors(t, "pool_set") {
		if v.Spec.Class == "" {
			continue // an explicit ratio with no pools stated; see TestPagedByRatio
		}
		var want out
		var extra struct {
			Buffers         []int64 `json:"buffers"`
			AllocatedRank   int64   `json:"allocated_bytes_per_rank"`
			AllocatedOnHost int64   `json:"allocated_bytes_on_host"`
		}
		require.NoError(t, json.Unmarshal(v.Out, &want))
		require.NoError(t, json.Unmarshal(v.Out, &extra))
		want.Buffers, want.Rank, want.Host, want.End = extra.Buffers, extra.AllocatedRank, extra.AllocatedOnHost, "ok"

		q := setRequest(v)
		h, _ := Plan(q)
		got := out{RanksPerHost: int64(q.Layout.PerReplica()), RatioUsed: h.RatioUsed, End: "ok"}
		if v.Error != nil {
			want = out{End: v.Error.Msg}
			c.check(t, v.name(), want.End, setEnd(q, h))
			continue
		}
		for _, p := range h.Pools {
			got.Pools = append(got.Pools, pool{p.Name, p.BytesPerToken, p.Tokens, p.Pages, int64(p.RequestedBytes)})
			got.Rank += int64(p.BytesPerRank)
		}
		got.Host = int64(h.TotalBytes)
		got.End = setEnd(q, h)
		got.Buffers, want.Buffers = nil, nil
		if h.Auto != nil {
			budget, left := int64(h.Auto.BudgetBytes), int64(h.Auto.LeftBytes)
			got.Budget, got.Left = &budget, &left
		}
		if want.DeviceBytes != nil {
			n := int64(mirroredBytes(q.Stages[0]))
			got.DeviceBytes = &n
		}
		c.check(t, v.name(), want, got)
	}
	c.print(t, "pool sets")
}

// setEnd is how SGLang's code ends with unchanged memory and no peers.
func setEnd(q Request, h HostPools) string {
	if h.Auto != nil && h.Auto.Ratio <= 0 {
		return "No host memory is left for HiCache after the 10 GiB reserve; set --hicache-ratio or --hicache-size explicitly."
	}
	if len(h.sets) == 0 {
		return "Unsupported layout: " + h.Settings.Layout
	}
	refusal := h.sets[0].refusal
	if h.Auto != nil {
		refusal = h.Guard.Refusal
	}
	switch {
	case refusal == nil:
		return "ok"
	case refusal.Pool == "indexer":
		return fmt.Sprintf("Not enough host memory for DSA indexer hierarchical cache. Requesting %.2f GB but only have %.2f GB free.",
			refusal.Requested.GB(), refusal.Free.GB())
	}
	return notEnough(refusal.Requested, refusal.Free)
}

func setRequest(v vector) Request {
	a := args.New()
	set := func(k string, x any) { a.Set(k, x, args.Origin{Kind: args.FromFlag}) }
	set("enable_hierarchical_cache", true)
	set("tp_size", v.TP)
	set("pp_size", v.PP)
	set("nnodes", v.Nnodes)
	set("hicache_mem_layout", v.Layout)
	if v.Size > 0 {
		set("hicache_size", int64(v.Size))
	}
	if v.Ratio != nil {
		set("hicache_ratio", *v.Ratio)
	}
	if v.Fraction != nil {
		set("hicache_host_memory_fraction", *v.Fraction)
	}
	r := v.release()
	layout, _ := ranks.Of(r, a)
	q := Request{Release: r, Args: a, Layout: layout, Host: HostView{AfterLoad: units.Bytes(v.Available)}}
	if v.Headroom != nil {
		n := units.Bytes(*v.Headroom)
		q.Host.CgroupHeadroom = &n
	}
	q.Stages = [][]DevicePool{setPools(v)}
	return q
}

func setPools(v vector) []DevicePool {
	s := v.Spec
	main := DevicePool{Name: "kv", Kind: Main, Layers: s.LayerNum, Page: v.Page, Tokens: v.DeviceTokens, PackedLayers: v.Packed}
	var pools []DevicePool
	switch s.Class {
	case "mla", "dsa":
		main.MLA = true
		main.RowBytes = 576 * v.elt()
		if s.KVCacheDim > 0 {
			main.RowBytes = s.KVCacheDim * v.elt()
		}
		pools = append(pools, main)
		if s.Class == "dsa" {
			x := DevicePool{Name: "indexer", Kind: Indexer, Layers: s.LayerNum, RowBytes: 132, Page: v.Page,
				Tokens: v.DeviceTokens, PackedLayers: v.Packed}
			if s.SkipTopK > 0 {
				x.OwnedLayers = (s.LayerNum + s.SkipTopK - 1) / s.SkipTopK
			}
			pools = append(pools, x)
		}
	case "swa":
		main.RowBytes = s.HeadNum * s.HeadDim * 2 * v.elt()
		main.Layers = s.LayerNum / s.FullEvery
		swa := main
		swa.Name, swa.Kind, swa.Layers, swa.Tokens = "swa", Window, s.LayerNum-main.Layers, v.SWATokens
		pools = append(pools, main, swa)
	case "mamba":
		main.RowBytes = s.HeadNum * s.HeadDim * 2 * v.elt()
		main.Layers = s.LayerNum / 4
		// Gated delta net: 128 x 128 fp32 states per value head, and a
		// convolution over the key and value channels of the last 3 tokens.
		conv := (2*s.KHeads + s.VHeads) * 128 / s.TP * 3 * 2
		states := DevicePool{Name: "mamba", Kind: State, Layers: s.LayerNum - main.Layers, Page: 1, Tokens: v.MambaSlots,
			RowBytes: s.VHeads/s.TP*128*128*4 + conv}
		pools = append(pools, main, states)
	default:
		main.RowBytes = s.HeadNum * s.HeadDim * 2 * v.elt()
		pools = append(pools, main)
	}
	if d := v.Sidecar; d != nil {
		tokens := v.DraftTokens
		if tokens == 0 {
			tokens = v.DeviceTokens
		}
		pools = append(pools, DevicePool{Name: "draft", Kind: Draft, Layers: d.LayerNum, RowBytes: d.HeadNum * d.HeadDim * 2 * 2,
			Page: v.Page, Tokens: tokens})
	}
	return pools
}
