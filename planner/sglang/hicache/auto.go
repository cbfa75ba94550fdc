package hicache

import (
	"math"

	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Auto is what automatic sizing (0.5.21 on) makes of a host.
type Auto struct {
	ShareBytes  units.Bytes `json:"share_bytes"`  // of what is left after the reserve, for one rank; may be negative
	BudgetBytes units.Bytes `json:"budget_bytes"` // the fraction of the share that pools may take
	DeviceBytes units.Bytes `json:"device_bytes"` // device pools that get a mirror
	Bound       float64     `json:"bound"`        // the ratio it starts from
	Ratio       float64     `json:"ratio"`        // the ratio it takes
	// LeftBytes is what of the budget the pools did not take.
	LeftBytes units.Bytes `json:"left_bytes"`
	// Unsupported names the device pool that automatic sizing does not know.
	Unsupported string `json:"unsupported,omitempty"`
}

// slack is the part of the budget kept back for page rounding and metadata.
const slack = 0.05

// autoSize follows SGLang's automatic sizing on one rank; the caller takes the
// smallest ratio over the stages.
func autoSize(pools []DevicePool, s Settings, share units.Bytes) Auto {
	a := Auto{ShareBytes: share, Bound: s.Ratio}
	a.BudgetBytes = units.Bytes(math.Trunc(float64(share) * *s.Fraction))
	for _, p := range pools {
		if p.Kind == Paged || p.Kind == PagedWindow {
			a.Unsupported = p.Name
		}
	}
	a.DeviceBytes = mirroredBytes(pools)
	a.Ratio = s.Ratio
	if a.DeviceBytes > 0 {
		a.Ratio = min(s.Ratio, float64(a.BudgetBytes)*(1-slack)/float64(a.DeviceBytes))
	}
	return a
}

// mirroredBytes adds up the device pools whose mirrors grow with the ratio.
// QSA index rows and packed draft states are not among them.
func mirroredBytes(pools []DevicePool) units.Bytes {
	var total, region int64
	main, _ := find(pools, Main)
	window, _ := find(pools, Window)
	for _, p := range pools {
		switch p.Kind {
		case Main, Window, Indexer, IndexKeys, NVFP4Index:
			total = add(total, add(p.deviceBytes(), p.packedBytes()))
		case State:
			total = add(total, p.deviceBytes())
		case Envelope: // capacity tokens times entry bytes, without the padding page
			region = add(region, mul(p.Tokens, p.RowBytes)/p.Page)
		case Draft, DraftIndex:
			total = add(total, perSlot(p, main.Tokens))
		case DraftWindow:
			total = add(total, perSlot(p, window.Tokens))
		}
	}
	return units.Bytes(add(total, region))
}

// perSlot scales a draft's device bytes to one draft slot for every target
// slot, as its host mirror has it.
func perSlot(p DevicePool, slots int64) int64 {
	b := p.deviceBytes()
	if p.Tokens <= 0 || p.Tokens == slots {
		return b
	}
	hi, lo := b/p.Tokens, b%p.Tokens
	return add(mul(hi, slots), mul(lo, slots)/p.Tokens)
}

// book takes the pools off the budget in their order and returns the first
// that does not fit.
func (a *Auto) book(pools []HostPool) *Refusal {
	left := a.BudgetBytes
	for _, p := range pools {
		if p.RequestedBytes > left {
			a.LeftBytes = left
			return &Refusal{Pool: p.Name, Requested: p.RequestedBytes, Free: left}
		}
		left -= p.RequestedBytes
	}
	a.LeftBytes = left
	return nil
}

// automatic reports whether the release sizes this launch itself.
func automatic(r release.Release, s Settings) bool {
	return r.AtLeast("0.5.21") && s.Automatic() && (s.Reason == Hierarchical || s.Reason == DecodeRetracted)
}
