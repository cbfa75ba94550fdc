package planner

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/units"
)

// ModelInfo is the geometry of a model on one rank, and what its weights take
// there.
type ModelInfo struct {
	Schema          string               `json:"schema"`
	Architecture    string               `json:"architecture"`
	Attention       string               `json:"attention"`
	Layers          int                  `json:"layers"`
	KVLayers        int                  `json:"kv_layers"`
	KVHeadsPerRank  int                  `json:"kv_heads_per_rank"`
	KVBytesPerToken *float64             `json:"kv_bytes_per_token"`
	ContextLength   int                  `json:"context_length,omitempty"`
	Quantization    string               `json:"quantization,omitempty"`
	Pools           []Pool               `json:"pools"`
	WeightsBytes    *figure.Bytes        `json:"weights_bytes"` // tensors resident per rank after loading
	LoadBytes       *figure.Bytes        `json:"load_bytes"`    // what loading takes from the card
	PeakBytes       *figure.Bytes        `json:"peak_bytes,omitempty"`
	Weights         []weights.GroupBytes `json:"weights"`
	Checkpoint      *CheckpointInfo      `json:"checkpoint,omitempty"`
	SGLangVersion   string               `json:"sglang_version"`
	Findings        []finding.Finding    `json:"findings,omitempty"`
}

// CheckpointInfo is what was found of a model's weight files.
type CheckpointInfo struct {
	Format       string      `json:"format"`
	Files        int         `json:"files"`
	MissingFiles int         `json:"missing_files,omitempty"`
	Bytes        units.Bytes `json:"bytes"`
	Tensors      int         `json:"tensors,omitempty"` // 0 when the headers could not all be read
}

func checkpointInfo(c *checkpoint.Checkpoint) *CheckpointInfo {
	if c == nil {
		return nil
	}
	out := &CheckpointInfo{Format: string(c.Format), Files: c.Files, MissingFiles: len(c.Missing), Bytes: c.Bytes}
	if c.Tally != nil {
		out.Tensors = c.Tally.Tensors
	}
	return out
}

// Model returns the geometry of the request's model on a rank of the first
// pipeline stage.
func Model(req Request) *ModelInfo {
	j := prepare(req)
	m := &ModelInfo{Schema: Schema, SGLangVersion: j.rel.String(), Pools: []Pool{}, Weights: []weights.GroupBytes{}, Checkpoint: checkpointInfo(req.Checkpoint)}
	if j.info != nil {
		m.Architecture, m.Attention = j.info.Arch, string(j.info.Class)
		m.Layers, m.ContextLength, m.Quantization = j.info.NumHiddenLayers, j.info.ContextLen, j.info.Quantization
	}
	if s := j.gpu.sizer; s != nil {
		cell := s.KVBytesPerToken()
		m.KVBytesPerToken, m.KVLayers, m.KVHeadsPerRank = &cell, s.KVLayers(), s.KVHeadsPerRank()
		for _, p := range s.Pools() {
			m.Pools = append(m.Pools, Pool{Name: p.Name, Layers: p.Layers, BytesPerToken: float64(p.BytesPerToken), BytesPerSlot: units.Bytes(p.BytesPerSlot)})
		}
	}
	if w := j.gpu.target; w != nil {
		m.WeightsBytes, m.LoadBytes, m.PeakBytes, m.Weights = &w.Resident, &w.Load, &w.Peak, w.Groups
	}
	for _, f := range order(j.findings) {
		if f.Code != CodeHostUnknown && f.Code != CodeGPUsUnknown {
			m.Findings = append(m.Findings, f)
		}
	}
	return m
}
