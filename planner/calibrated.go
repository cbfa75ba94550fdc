package planner

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
)

// Findings about measurements that were given for this launch.
var (
	CodeOtherLaunch = finding.Define("calibration-of-another-launch",
		"the calibration comes from another model or layout",
		"Free memory, weights and needs of a log hold for the same model and the same --tp-size; those of another launch say nothing about this one, so they are left out.",
		"Give a log of this launch with --calibrate, at any fraction.")
	CodeWeightsDiffer = finding.Define("weights-far-from-estimate",
		"the weights given are far from what the model's files give",
		"The weights of --gpu-weights or --calibrate are taken as measured. These differ by more than a third from what the model's own shapes give at this --tp-size, so they may be those of another model or layout.",
		"Check that the figure is what one GPU of this launch takes (mem usage on the line Load weight end), or leave it out.")
)

// checkCalibration drops the measurements of another launch.
func (j *job) checkCalibration() {
	c := j.req.Calibration
	if c == nil {
		return
	}
	var differs []string
	if path := j.args.Str("model_path"); publicID(c.ModelPath) && publicID(path) && !strings.EqualFold(c.ModelPath, path) {
		differs = append(differs, fmt.Sprintf("of %s, not %s", c.ModelPath, path))
	}
	if tp := j.args.Int("tp_size"); c.TPSize > 0 && tp > 0 && c.TPSize != tp {
		differs = append(differs, fmt.Sprintf("at --tp-size %d, not %d", c.TPSize, tp))
	}
	if len(differs) == 0 {
		return
	}
	j.add(finding.New(CodeOtherLaunch, finding.Warning, "", fmt.Sprintf(
		"The log is of a launch %s. Its figures are left out.", strings.Join(differs, " and "))))
	j.req.Calibration = nil
}

// publicID reports a name of the form owner/model.
func publicID(path string) bool {
	owner, name, ok := strings.Cut(path, "/")
	return ok && owner != "" && owner != "." && owner != ".." && owner != "~" && name != "" && !strings.Contains(name, "/")
}

// farOff is how many times larger or smaller measured weights are than any
// estimate was seen to be off by.
const farOff = 4.0 / 3

// checkWeights compares measured weights with those that the files give.
func (j *job) checkWeights(measured, estimate figure.Bytes, flag string) {
	given := float64(measured.Value)
	if given >= float64(estimate.Low)/farOff && given <= float64(estimate.High)*farOff {
		return
	}
	j.add(finding.New(CodeWeightsDiffer, finding.Warning, flag, fmt.Sprintf(
		"%.2f GiB were measured; the model's files give %s GiB at --tp-size %d.",
		measured.Value.GiB(), gibBand(estimate), j.args.Int("tp_size"))))
}
