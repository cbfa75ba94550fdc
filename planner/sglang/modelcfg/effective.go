package modelcfg

import "github.com/sglplan/sglplan/planner/model"

// Effective returns the configuration that a launch really loads: the file's
// with the JSON of --json-model-override-args laid over it. Without overrides,
// and where they cannot be read (which Derive reports), it is cfg itself.
func Effective(cfg *model.Config, overrides string) *model.Config {
	if cfg == nil || overrides == "" || overrides == "{}" {
		return cfg
	}
	top, err := override(cfg.Top, overrides)
	if err != nil {
		return cfg
	}
	return &model.Config{Top: top, Quant: cfg.Quant}
}
