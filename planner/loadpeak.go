package planner

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
)

// loadingSeverity judges the worst moment of loading, before any pool exists:
// repacked or quantised weights stand beside the old ones for a while. It is
// an error when not even the low end fits the whole free memory, and nothing
// where a measured load lived through it or the weights are too large anyway.
func (g *gpuModel) loadingSeverity(pt point) finding.Severity {
	switch {
	case g.peak == nil || g.weights.Value > g.pre.Value:
		return 0
	case pt.peaked:
		return finding.Error
	case g.peak.Value > g.pre.Low:
		return finding.Warning
	}
	return 0
}

func (j *job) loadingPeak(pt point) {
	m := j.gpu
	sev := m.loadingSeverity(pt)
	if sev == 0 {
		return
	}
	f := finding.New(CodeDiesLoading, sev, "--model-path", fmt.Sprintf(
		"Loading holds %s GiB at its worst moment, %s GiB stay of it; %s GiB are free before.", gibBand(*m.peak), gibBand(*m.weights), gibBand(*m.pre)))
	f.Position = j.positionOf("model_path")
	if j.given.Given("quantization") {
		f = f.With("use a checkpoint that is quantised already instead of --quantization")
	}
	f.Fixes = append(f.Fixes, j.alternatives()...)
	j.add(f)
}
