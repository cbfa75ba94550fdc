package planner

import (
	"encoding/json"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/units"
)

// MarshalJSON writes what is not known as null, never as a zero that reads
// like a measurement.
func (g GPU) MarshalJSON() ([]byte, error) {
	type plain GPU // without this method
	out := struct {
		plain
		KVBytesPerToken  *float64      `json:"kv_bytes_per_token"`
		PreLoadFreeBytes *units.Bytes  `json:"pre_load_free_bytes"`
		PreLoad          *figure.Bytes `json:"pre_load"`
		WeightsBytes     *figure.Bytes `json:"weights_bytes"`
	}{plain: plain(g)}
	if g.KVBytesPerToken > 0 {
		out.KVBytesPerToken = &g.KVBytesPerToken
	}
	if g.PreLoad.Basis != "" {
		out.PreLoadFreeBytes, out.PreLoad = &g.PreLoadFreeBytes, &g.PreLoad
	}
	if g.WeightsBytes.Basis != "" {
		out.WeightsBytes = &g.WeightsBytes
	}
	return json.Marshal(out)
}
