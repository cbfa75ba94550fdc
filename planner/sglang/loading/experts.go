package loading

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/weights"
)

var codeExperts = finding.Define("weights-expert-type-assumed", "config.json does not say whether the experts are fp4 or fp8",
	"DeepSeek-V4 was released with fp4 experts inside an fp8 checkpoint, and conversions to fp8 keep the same config.json. SGLang looks into the weight files; where it finds none it assumes fp4.",
	"Point --model-path at a folder with the weight files, or write \"expert_dtype\": \"fp8\" into config.json; SGLANG_DSV4_FP4_EXPERTS=0 tells SGLang the same.")

// stateExperts writes into a copy of the config what SGLang would find out
// about the experts of a DeepSeek-V4 whose config does not say it: by the
// variable, by the files, else by its default. It reports the last.
func (l *loader) stateExperts(opt Options) (assumed bool) {
	q := weights.QuantSection(l.cfg)
	if !isV4(l.cfg.Arch()) || q.Str("quant_method") != "fp8" || q.Has("moe_quant_algo") || cmp.Or(q.Str("expert_dtype"), l.cfg.Text().Str("expert_dtype")) != "" {
		return false
	}
	kind := "fp4"
	switch v := l.env["SGLANG_DSV4_FP4_EXPERTS"]; {
	case v == "0" || v == "false" || v == "False" || v == "FALSE":
		kind = "fp8"
	case v != "":
	case opt.Files != nil && opt.Files.Tally != nil && !opt.Draft:
		kind = l.expertsOfFiles(opt.Files)
	default:
		assumed = true
	}
	l.cfg = withExpertType(l.cfg, kind)
	return assumed
}

// withExpertType returns the config with the type stated.
func withExpertType(cfg *model.Config, kind string) *model.Config {
	top := maps.Clone(cfg.Top)
	quant := maps.Clone(weights.QuantSection(cfg))
	quant["expert_dtype"] = kind
	top["quantization_config"] = map[string]any(quant)
	return &model.Config{Top: top, Quant: cfg.Quant}
}

// expertsOfFiles tells fp8 from fp4 by the bytes of all experts.
func (l *loader) expertsOfFiles(c *checkpoint.Checkpoint) string {
	groups, err := weights.Stored(withExpertType(l.cfg, "fp4"), l.arch)
	if err != nil {
		return "fp4"
	}
	stored, _ := c.Tally.Stored(layersOf(l.cfg, c.Tally))
	if 2*stored[checkpoint.Experts] > 3*checkpoint.Described(groups)[checkpoint.Experts] {
		return "fp8"
	}
	return "fp4"
}

// spanExperts widens an estimate that assumes fp4 up to fp8.
func (l *loader) spanExperts(res *weights.Result, opt Options) []finding.Finding {
	other := *l
	other.cfg = withExpertType(l.cfg, "fp8")
	wide, err := other.estimate(opt)
	if err != nil {
		return nil
	}
	res.Resident.High, res.Load.High, res.Peak.High = wide.Resident.High, wide.Load.High, wide.Peak.High
	res.Constructed.High, res.AfterSharing.High = wide.Constructed.High, wide.AfterSharing.High
	return []finding.Finding{finding.New(codeExperts, finding.Warning, "--model-path",
		fmt.Sprintf("With fp4 experts a GPU loads %v, with fp8 ones %v.", res.Load.Value, wide.Load.Value))}
}
