package hicache

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// classVector is a row that states the geometry of one pool class.
type classVector struct {
	ConvShapes    [][]int64 `json:"conv_shapes"`
	TemporalShape []int64   `json:"temporal_shape"`
	MambaLayers   int64     `json:"mamba_layers"`
	ConvDtype     string    `json:"conv_dtype"`
	TemporalDtype string    `json:"temporal_dtype"`
	SideState     int64     `json:"side_state_bytes_per_slot"`
	DeviceSlots   int64     `json:"device_slots"`
	FullTokens    int64     `json:"device_full_tokens"`
	SWATokens     int64     `json:"device_swa_tokens"`
	SWAPage       int64     `json:"swa_page_size"`
	Layers        int64     `json:"layers"`
	HostPages     int64     `json:"host_pages"`
	ItemBytes     int64     `json:"item_bytes"`
	SlotPage      int64     `json:"slot_page_size"`
	KVLayers      int64     `json:"kv_layers"`
	KVHeads       int64     `json:"kv_heads"`
	KVHeadDim     int64     `json:"kv_head_dim"`
	IndexLayers   int64     `json:"index_layers"`
	IndexHeadDim  int64     `json:"index_head_dim"`
	DCP           int64     `json:"dcp_size"`
	Compress      int64     `json:"qsa_compress_ratio"`
	IndexRowBytes int64     `json:"index_row_bytes"`
	RowBytes      int64     `json:"row_bytes"`
	FullPageBytes int64     `json:"full_page_bytes"`
	SWAPageBytes  int64     `json:"swa_page_bytes"`
}

var dtypeBytes = map[string]int64{"bfloat16": 2, "float16": 2, "float32": 4}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// What a pool class makes of stated geometry: state, paged, page-envelope,
// index and context-parallel pools of 0.5.20 and 0.5.23.
func TestPoolClassVectors(t *testing.T) {
	var c tally
	for _, v := range vectors(t, "pool_class") {
		var k classVector
		require.NoError(t, json.Unmarshal(v.raw, &k))
		s := Settings{Reason: Hierarchical, SizeGB: v.Size, Layout: v.Layout}
		if v.Ratio != nil {
			s.Ratio = *v.Ratio
		}
		want := map[string]any{}
		if v.Error != nil {
			want["error"] = v.Error.Msg
		} else {
			require.NoError(t, json.Unmarshal(v.Out, &want))
		}
		if v.Allocated > 0 {
			want["allocated"] = float64(v.Allocated)
		}
		got := viaJSON(t, classResult(t, v, k, s))
		dropClass(want) // class names are not ours
		c.check(t, v.name()+" "+v.Pool, any(want), got)
	}
	c.print(t, "pool classes")
}

func viaJSON(t *testing.T, x any) any {
	b, err := json.Marshal(x)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func dropClass(x any) {
	m, ok := x.(map[string]any)
	if !ok {
		return
	}
	delete(m, "class")
	for _, v := range m {
		dropClass(v)
	}
}

func sizes(h HostPool) map[string]any {
	return map[string]any{"size_per_token": h.BytesPerToken, "size": h.Tokens, "page_num": h.Pages}
}

func classResult(t *testing.T, v vector, k classVector, s Settings) map[string]any {
	r := v.release()
	one := func(p DevicePool) map[string]any {
		h := settled(r, build(r, []DevicePool{p}, s, nil))
		out := sizes(h[0])
		out["allocated"] = int64(h[0].BytesPerRank)
		return out
	}
	switch v.Pool {
	case "MambaPoolHost":
		row := product(k.TemporalShape) * dtypeBytes[k.TemporalDtype]
		for _, shape := range k.ConvShapes {
			row += product(shape) * dtypeBytes[k.ConvDtype]
		}
		return one(DevicePool{Name: "mamba", Kind: State, Layers: k.MambaLayers, RowBytes: row, SideBytes: k.SideState, Page: 1, Tokens: k.DeviceSlots})
	case "MLATokenToKVPoolHost": // context-parallel decode: the pool counts physical pages of this rank
		out := one(DevicePool{Name: "kv", Kind: Main, Layers: v.LayerNum, RowBytes: (v.LoraRank + v.RopeDim) * 2, Page: v.Page, Tokens: v.DeviceTokens})
		out["logical_size"] = out["size"].(int64) * k.DCP
		return out
	case "MiniMaxM3Nvfp4MainKVPoolHost":
		return one(DevicePool{Name: "kv", Kind: Main, Layers: k.Layers, RowBytes: k.RowBytes / v.Page, Page: v.Page, Tokens: v.DeviceTokens})
	case "DeepSeekV4PagedHostPool":
		h := settled(r, []HostPool{pagedPool(DevicePool{Layers: k.Layers, RowBytes: k.ItemBytes, Page: k.SlotPage}, k.HostPages)})
		out := sizes(h[0])
		out["allocated"] = int64(h[0].BytesPerRank)
		return out
	case "DeepSeekV4 host pages":
		return v4Pages(v, k, s)
	case "UnifiedPageEnvelopeHostPool pair":
		return envelopeResult(t, v, k, s)
	}
	return followerResult(v, k, s)
}

func settled(r release.Release, pools []HostPool) []HostPool {
	settle(r, pools, 0)
	return pools
}

func v4Pages(v vector, k classVector, s Settings) map[string]any {
	pools := []DevicePool{
		{Name: "c4", Kind: Paged, Layers: 1, RowBytes: 1, Page: v.Page, Tokens: k.FullTokens},
		{Name: "swa", Kind: PagedWindow, Layers: 1, RowBytes: 1, Page: k.SWAPage, Tokens: k.SWATokens},
	}
	if s.SizeGB > 0 {
		a := args.New()
		a.Set("hicache_size", int64(s.SizeGB), args.Origin{Kind: args.FromFlag})
		found := unsupported(Request{Release: v.release(), Args: a, Stages: [][]DevicePool{pools}}, s)
		if len(found) == 1 && found[0].Code == CodeSizeUnsupported {
			return map[string]any{"error": "DeepSeek V4 HiCache currently does not support --hicache-size; use --hicache-ratio instead."}
		}
		return nil
	}
	h := build(v.release(), pools, s, nil)
	return map[string]any{"host_pages_full": h[0].Pages, "host_pages_swa": h[1].Pages, "host_pages_c128": h[0].Pages}
}

func envelopeResult(t *testing.T, v vector, k classVector, s Settings) map[string]any {
	var out struct {
		Region int64 `json:"device_total_bytes"`
	}
	require.NoError(t, json.Unmarshal(v.Out, &out))
	h := settled(v.release(), build(v.release(), []DevicePool{
		{Name: "kv", Kind: Envelope, Layers: 1, RowBytes: k.FullPageBytes, Page: v.Page, Tokens: k.FullTokens, DeviceBytes: out.Region},
		{Name: "swa", Kind: Envelope, Layers: 1, RowBytes: k.SWAPageBytes, Page: v.Page, Tokens: k.SWATokens, DeviceBytes: out.Region},
	}, s, nil))
	return map[string]any{
		"capacity_bytes": int64(h[0].RequestedBytes), "device_total_bytes": out.Region, "allocated": int64(h[0].BytesPerRank),
		"pages": map[string]any{"full": int64(h[0].RequestedBytes) / k.FullPageBytes, "swa": int64(h[0].RequestedBytes) / k.SWAPageBytes},
	}
}

// followerResult is a main pool with an index pool on its pages. The rows give
// the main pool the whole size, so the split is left out here.
func followerResult(v vector, k classVector, s Settings) map[string]any {
	r := v.release()
	main := DevicePool{Name: "kv", Kind: Main, Layers: k.KVLayers, RowBytes: k.KVHeads * k.KVHeadDim * 2 * v.elt(), Page: v.Page, Tokens: v.DeviceTokens}
	name, index := "index_k", DevicePool{Kind: IndexKeys, Layers: k.IndexLayers, RowBytes: k.IndexHeadDim * v.elt(), Tokens: v.DeviceTokens}
	if k.Compress > 0 {
		name, index = "qsa_index", DevicePool{Kind: QSAIndex, Layers: k.IndexLayers, RowBytes: k.IndexRowBytes / k.Compress, Tokens: v.DeviceTokens}
	}
	h := sizedPool(r, main, unroundedTokens(main, s.SizeGB, s))
	x, _ := follower(r, index, map[Kind]HostPool{Main: h})
	both := settled(r, []HostPool{h, x})
	return map[string]any{"kv": sizes(h), name: sizes(x), "allocated": int64(both[0].BytesPerRank + both[1].BytesPerRank)}
}

// The ratio, size and fraction that argument handling leaves.
func TestDefaultArgVectors(t *testing.T) {
	type out struct {
		Ratio    *float64 `json:"hicache_ratio"`
		Size     float64  `json:"hicache_size"`
		Fraction *float64 `json:"hicache_host_memory_fraction"`
	}
	var c tally
	for _, v := range vectors(t, "default_args") {
		a := args.New()
		for field, x := range v.Args {
			a.Set(field, x, args.Origin{Kind: args.FromFlag})
		}
		r := v.release()
		var got out
		got.Ratio, got.Fraction = Defaults(r, a)
		got.Size = a.Float("hicache_size")
		if v.Error != nil {
			s := Settings{Reason: Hierarchical, Fraction: got.Fraction}
			found := unsupported(Request{Release: r, Args: a, Stages: [][]DevicePool{{{Name: "kv", Kind: Main, Page: 1}}}}, s)
			require.Len(t, found, 1)
			c.check(t, v.name(), CodeFraction, found[0].Code)
			continue
		}
		var want out
		require.NoError(t, json.Unmarshal(v.Out, &want))
		c.check(t, v.name(), want, got)
	}
	c.print(t, "default arguments")
}

// cgroupTree writes a row's tree as the files that SGLang reads.
func cgroupTree(t *testing.T, raw json.RawMessage) fs.FS {
	t.Helper()
	var tree struct {
		Version   int
		Path      string
		MountRoot string `json:"mount_root"`
		Dirs      map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(raw, &tree))
	if tree.MountRoot == "" {
		tree.MountRoot = "/"
	}
	files := fstest.MapFS{}
	kind, member := "cgroup2", "0::"+tree.Path
	if tree.Version == 1 {
		kind, member = "cgroup", "4:memory:"+tree.Path
	}
	files["proc/self/cgroup"] = &fstest.MapFile{Data: []byte(member + "\n")}
	files["proc/self/mountinfo"] = &fstest.MapFile{Data: []byte(fmt.Sprintf("31 23 0:26 %s /cg rw - %s cgroup rw,memory\n", tree.MountRoot, kind))}
	for dir, entries := range tree.Dirs {
		files[rooted(path.Join("/cg", dir))] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		for name, value := range entries {
			if n, ok := value.(float64); ok {
				value = fmt.Sprintf("%.0f", n)
			}
			files[rooted(path.Join("/cg", dir, name))] = &fstest.MapFile{Data: []byte(fmt.Sprintf("%v\n", value))}
		}
	}
	return files
}

// SGLang's own cgroup reader of 0.5.21 and 0.5.23 on the same trees.
func TestCgroupHeadroomVectors(t *testing.T) {
	var c tally
	for _, v := range vectors(t, "cgroup_headroom") {
		room, err := CgroupHeadroom(v.release(), cgroupTree(t, v.Tree))
		if v.Error != nil {
			require.Error(t, err, v.Case)
			var typed *CgroupError
			require.ErrorAs(t, err, &typed)
			c.check(t, v.name()+" "+v.Case, v.Error.Type == "ValueError", typed.Fatal)
			continue
		}
		require.NoError(t, err, v.Case)
		var want struct {
			Headroom *json.Number `json:"headroom_bytes"`
		}
		require.NoError(t, json.Unmarshal(v.Out, &want))
		var got *json.Number
		if room != nil {
			n := json.Number(fmt.Sprint(int64(*room)))
			got = &n
		}
		c.check(t, v.name()+" "+v.Case, want.Headroom, got)
	}
	c.print(t, "cgroup reader")
}

func TestCgroupHeadroomOutside(t *testing.T) {
	room, err := CgroupHeadroom(release.MustParse("0.5.23"), fstest.MapFS{})
	require.NoError(t, err)
	assert.Nil(t, room, "a system without procfs has no bound")

	member := fstest.MapFS{
		"proc/self/cgroup":    {Data: []byte("0::/a\n")},
		"proc/self/mountinfo": {Data: []byte("31 23 0:26 / /cg rw - cgroup2 cgroup rw\n")},
	}
	_, err = CgroupHeadroom(release.MustParse("0.5.23"), member)
	require.ErrorContains(t, err, "no mounted cgroup filesystem")
	room, err = CgroupHeadroom(release.MustParse("0.5.20"), member)
	require.NoError(t, err)
	assert.Nil(t, room, "0.5.20 does not look at cgroups")
}

func FuzzCgroupHeadroom(f *testing.F) {
	f.Add("0::/a\n", "31 23 0:26 / /cg rw - cgroup2 cgroup rw\n", "100\n", "7\n", "active_file 1\ninactive_file 2\n")
	f.Add("4:memory:/../x\n", `31 23 0:26 /a\040b /cg rw - cgroup cgroup rw,memory`, "max", "-1", "x")
	f.Fuzz(func(t *testing.T, cgroups, mounts, limit, usage, stat string) {
		files := fstest.MapFS{
			"proc/self/cgroup": {Data: []byte(cgroups)}, "proc/self/mountinfo": {Data: []byte(mounts)},
			"cg/a/memory.max": {Data: []byte(limit)}, "cg/a/memory.current": {Data: []byte(usage)},
			"cg/a/memory.stat": {Data: []byte(stat)}, "cg/a/c/memory.min": {Data: []byte("0")},
		}
		room, err := CgroupHeadroom(release.Newest, files)
		if err == nil && room != nil && *room < 0 {
			t.Fatalf("negative room %d", *room)
		}
	})
}
