package main

import (
	"slices"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/units"
)

// hand is the estimate that people make with a calculator: the checkpoint
// split evenly over the GPUs, keys and values of every layer and head split
// the same way.
type hand struct {
	cell    float64 // bytes per token and rank
	weights float64 // bytes per rank
	gpus    float64
}

// byHand reads the figures of a config.json as its fields are named; ok is
// false where one is missing. The checkpoint is the model's weights on a single
// rank, which is what its files add up to.
func byHand(r row) (hand, bool) {
	req, err := r.Request(cases.Nothing)
	if err != nil {
		return hand{}, false
	}
	t := req.Model.Text()
	layers, ok1 := t.Int("num_hidden_layers")
	heads, ok2 := t.FirstInt("num_key_value_heads", "num_attention_heads")
	dim, ok3 := headDim(t)
	whole := checkpoint(req)
	n := float64(r.GPUs)
	width := 2.0
	if slices.Contains(r.Argv, "fp8_e4m3") {
		width = 1
	}
	return hand{cell: 2 * float64(layers) * float64(heads) * float64(dim) * width / n, weights: float64(whole) / n, gpus: n}, ok1 && ok2 && ok3 && whole > 0
}

func headDim(t model.Section) (int64, bool) {
	if d, ok := t.Int("head_dim"); ok {
		return d, true
	}
	hidden, ok1 := t.Int("hidden_size")
	heads, ok2 := t.Int("num_attention_heads")
	if !ok1 || !ok2 || heads == 0 {
		return 0, false
	}
	return hidden / heads, true
}

// checkpoint is the size of the weights on a single rank.
func checkpoint(req planner.Request) units.Bytes {
	argv := []string{"--model-path", "model"}
	for i, w := range req.Launch.Argv() {
		if w == "--json-model-override-args" {
			argv = append(argv, w, req.Launch.Argv()[i+1])
		}
	}
	cmd, err := launch.FromArgv(argv)
	if err != nil {
		return 0
	}
	req.Launch = cmd
	if w := planner.Model(req).WeightsBytes; w != nil {
		return w.Value
	}
	return 0
}

// tokens is the estimate when the fraction is taken of so many bytes.
func (h hand) tokens(of units.Bytes, fraction float64) float64 {
	return max((float64(of)*fraction-h.weights)/h.cell, 0)
}
