package hicache

import "github.com/sglplan/sglplan/planner/sglang/release"

// split shares --hicache-size out among the sized pools of a rank, in GB.
// From 0.5.17 each gets the part that its device pool has of them all; before,
// every one of them gets the whole size again, so that two pools take twice
// what was asked.
func split(r release.Release, pools []DevicePool, sizeGB float64) map[string]float64 {
	out := make(map[string]float64, 3)
	var total int64
	count := 0
	for _, p := range pools {
		if p.sized() {
			total = add(total, p.deviceBytes())
			count++
		}
	}
	for _, p := range pools {
		switch {
		case !p.sized():
		case count == 1 || r.Before("0.5.17") || total <= 0:
			out[p.Name] = sizeGB
		default:
			out[p.Name] = sizeGB * float64(p.deviceBytes()) / float64(total)
		}
	}
	if main, ok := find(pools, Main); ok {
		out[main.Name] = insideShare(pools, main, out[main.Name])
	}
	return out
}

// insideShare takes the part of index rows that are paid from the main pool's
// share out of it: QSA by tensor bytes, MiniMax NVFP4 by bytes per slot with
// the draft counted in.
func insideShare(pools []DevicePool, main DevicePool, share float64) float64 {
	if x, ok := find(pools, QSAIndex); ok {
		kv, index := float64(main.deviceBytes()), float64(x.deviceBytes()+x.packedBytes())
		return share * (kv / (kv + index))
	}
	if total := nvfp4SlotBytes(pools); total > 0 {
		return share * (slotBytes(main) / total)
	}
	return share
}

// nvfp4SlotBytes is what one slot takes in the main, index and draft pools of
// a MiniMax NVFP4 cache together, 0 for other caches. SGLang lays slots times
// this before its guard first, as one figure.
func nvfp4SlotBytes(pools []DevicePool) float64 {
	main, ok := find(pools, Main)
	index, nvfp4 := find(pools, NVFP4Index)
	if !ok || !nvfp4 {
		return 0
	}
	total := slotBytes(main) + slotBytes(index)
	if draft, ok := find(pools, Draft); ok {
		total += slotBytes(draft)
	}
	return total
}

func slotBytes(p DevicePool) float64 {
	return float64(p.deviceBytes()) / float64(max(p.Tokens+p.Page, 1))
}
