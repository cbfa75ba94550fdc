package hicache

import (
	"encoding/json"
	"math"

	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Reason says why a launch has host pools at all.
type Reason string

// The reasons. The last two come without --enable-hierarchical-cache.
const (
	None            Reason = ""
	Hierarchical    Reason = "hierarchical-cache"
	DecodeOffload   Reason = "decode-offload"    // --disaggregation-decode-enable-offload-kvcache
	DecodeRetracted Reason = "decode-retraction" // a PD decode server's backup of retracted requests, on by default from 0.5.18
	HiSparse        Reason = "hisparse"          // --enable-hisparse keeps the whole cache on the host
)

// Settings are the options that size the host pools, as a release resolves
// them.
type Settings struct {
	Reason Reason  `json:"reason,omitempty"`
	SizeGB float64 `json:"size_gb,omitempty"` // --hicache-size, 1e9 bytes a rank; wins over the ratio
	Ratio  float64 `json:"ratio,omitempty"`   // host tokens to device tokens
	// Fraction is the share of the host that automatic sizing may take; nil
	// when a size or a ratio is given, and before 0.5.21.
	Fraction   *float64 `json:"fraction,omitempty"`
	Layout     string   `json:"layout,omitempty"`
	IO         string   `json:"io,omitempty"`
	Storage    string   `json:"storage,omitempty"`
	BufferOnly bool     `json:"buffer_only,omitempty"`
}

// Automatic reports whether the release chooses the size itself.
func (s Settings) Automatic() bool { return s.Fraction != nil }

// Defaults are the ratio and the fraction that argument handling leaves: nil
// is unset. A decode server keeps its ratio unset until the pools are built.
func Defaults(r release.Release, a *args.Args) (ratio, fraction *float64) {
	if v, ok := given(a, "hicache_ratio"); ok {
		ratio = &v
	}
	explicit := ratio != nil || a.Float("hicache_size") > 0
	if ratio == nil && (r.Before("0.5.18") || a.Str("disaggregation_mode") != "decode") {
		v := 2.0
		if bufferOnly(r, a) {
			v = 1.2
		}
		ratio = &v
	}
	if r.AtLeast("0.5.21") && !explicit {
		v := 0.8
		if f, ok := given(a, "hicache_host_memory_fraction"); ok {
			v = f
		}
		fraction = &v
	}
	return ratio, fraction
}

// given returns a number that the user set.
func given(a *args.Args, field string) (float64, bool) {
	if !a.Given(field) || !a.Has(field) {
		return 0, false
	}
	v := a.Float(field)
	return v, !math.IsNaN(v)
}

func bufferOnly(r release.Release, a *args.Args) bool {
	return r.AtLeast("0.5.19") && a.Str("hicache_host_memory_mode") == "buffer_only"
}

// Resolve returns what sizes the host pools of a launch. pools are the device
// pools of one rank, on which the unasked pools of a decode server depend;
// maxContext is the model's context length (0 unknown).
func Resolve(r release.Release, a *args.Args, pools []DevicePool, maxContext int64) Settings {
	s := Settings{
		Reason: reason(r, a, pools), SizeGB: max(a.Float("hicache_size"), 0),
		Layout: a.Str("hicache_mem_layout"), IO: a.Str("hicache_io_backend"),
		Storage: a.Str("hicache_storage_backend"), BufferOnly: bufferOnly(r, a),
	}
	if s.Layout == "" {
		s.Layout = "layer_first"
		if r.AtLeast("0.5.14") {
			s.Layout = "page_first"
		}
	}
	switch s.Reason {
	case None:
		return Settings{}
	case HiSparse:
		s.SizeGB, s.Ratio = 0, hisparseRatio(a)
		return s
	}
	ratio, fraction := Defaults(r, a)
	s.Fraction = fraction
	if s.Reason == DecodeOffload {
		s.Fraction = nil // built outside the automatic budget in every release
	}
	if ratio == nil {
		v := decodeRatio(r, a, s, pools, maxContext)
		ratio = &v
	}
	s.Ratio = max(*ratio, 0)
	return s
}

func reason(r release.Release, a *args.Args, pools []DevicePool) Reason {
	switch {
	case a.Bool("enable_hierarchical_cache"):
		if onlyWindows(pools) && r.AtLeast("0.5.15") {
			return None // no HiCache is attached to a cache of window layers alone
		}
		return Hierarchical
	case r.AtLeast("0.5.10") && a.Bool("enable_hisparse"):
		return HiSparse
	case a.Str("disaggregation_mode") != "decode":
		return None
	case r.AtLeast("0.5.3") && a.Bool("disaggregation_decode_enable_offload_kvcache"):
		return DecodeOffload
	case r.AtLeast("0.5.18") && retractsToHost(r, a, pools):
		return DecodeRetracted
	}
	return None
}

// retractsToHost follows the choice that a decode server makes when
// --disaggregation-decode-retraction-backup is not given.
func retractsToHost(r release.Release, a *args.Args, pools []DevicePool) bool {
	switch a.Str("disaggregation_decode_retraction_backup") {
	case "host_pool":
		return true
	case "":
	default:
		return false
	}
	preempts := a.Bool("enable_priority_scheduling") && !a.Bool("disable_priority_preemption")
	if a.IntOr("dcp_size", 1) > 1 || a.Bool("disaggregation_decode_enable_radix_cache") || preempts {
		return false
	}
	if r.AtLeast("0.5.19") && (a.Str("device") == "rocm" || has(pools, State)) {
		return false
	}
	if a.Bool("enable_unified_memory") && !unifiedRetracts(r, a, pools) {
		return false
	}
	return plainHeads(pools)
}

// unifiedRetracts: 0.5.20 keeps unified memory away from host retraction;
// 0.5.21 on allows it without window layers and without a draft other than
// DSPARK's.
func unifiedRetracts(r release.Release, a *args.Args, pools []DevicePool) bool {
	if r.Before("0.5.20") {
		return true
	}
	drafts := has(pools, Draft) || has(pools, DraftWindow)
	for _, p := range pools {
		drafts = drafts || p.PackedLayers > 0
	}
	return r.AtLeast("0.5.21") && !has(pools, Window) && !has(pools, Envelope) &&
		(!drafts || a.Str("speculative_algorithm") == "DSPARK")
}

// plainHeads reports a KV cache of plain MHA rows, with or without window
// layers: the only classes a decode server backs up on the host by default.
func plainHeads(pools []DevicePool) bool {
	for _, p := range pools {
		switch p.Kind {
		case Paged, PagedWindow, Indexer, IndexKeys, NVFP4Index:
			return false
		case Main:
			if p.MLA {
				return false
			}
		}
	}
	return has(pools, Main)
}

// onlyWindows reports a model without a layer of full attention or state.
func onlyWindows(pools []DevicePool) bool {
	for _, p := range pools {
		if p.Kind != Window && p.Kind != DraftWindow {
			return false
		}
	}
	return len(pools) > 0
}

// decodeRatio is the ratio of a decode server that was given none.
func decodeRatio(r release.Release, a *args.Args, s Settings, pools []DevicePool, maxContext int64) float64 {
	backup := s.Reason == DecodeRetracted
	switch {
	case r.Before("0.5.19"):
		if backup || (s.Reason == Hierarchical && retractsToHost(r, a, pools)) {
			return 1.0
		}
		return 2.0
	case !backup:
		return 2.0
	case r.Before("0.5.21") || s.SizeGB > 0:
		return 0.2
	}
	main, ok := find(pools, Main)
	if !ok || main.Tokens <= 0 || maxContext <= 0 {
		return 0.2
	}
	need := min(maxContext-1, main.Tokens)
	need = (need + main.Page - 1) / main.Page * main.Page
	if receivesOnHost(r, a) {
		need *= 2 // one request can arrive while another is retracted
	}
	return max(0.2, float64(need)/float64(main.Tokens))
}

// receivesOnHost reports whether a decode server takes KV into host memory:
// on above 0 in 0.5.21, on below 1 from 0.5.22.
func receivesOnHost(r release.Release, a *args.Args) bool {
	const field = "disaggregation_decode_host_receive_threshold"
	if r.Before("0.5.22") {
		return a.Float(field) > 0
	}
	return a.Has(field) && a.Float(field) < 1
}

// hisparseRatio reads host_to_device_ratio of --hisparse-config, default 2.
func hisparseRatio(a *args.Args) float64 {
	var cfg map[string]any
	v, _ := a.Get("hisparse_config")
	switch c := v.V.(type) {
	case string:
		if json.Unmarshal([]byte(c), &cfg) != nil {
			return 2
		}
	case map[string]any:
		cfg = c
	}
	switch n := cfg["host_to_device_ratio"].(type) {
	case float64:
		return max(n, 0)
	case int64:
		return max(float64(n), 0)
	}
	return 2
}

func find(pools []DevicePool, k Kind) (DevicePool, bool) {
	for _, p := range pools {
		if p.Kind == k {
			return p, true
		}
	}
	return DevicePool{}, false
}

func has(pools []DevicePool, k Kind) bool { _, ok := find(pools, k); return ok }
