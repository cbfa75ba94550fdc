package planner

import (
	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// Request is one launch to judge. Only Launch is required: what else is
// missing becomes a finding, and the parts that need it are undecided.
type Request struct {
	// Launch is the command as read by package launch.
	Launch *launch.Command
	// Release is the SGLang that will run; zero takes the tag of the launch's
	// container image, else the newest known, which a finding says.
	Release release.Release
	// Model is the target's configuration, Draft that of the speculative
	// draft model where the launch names one. ModelError says why Model is
	// nil.
	Model      *model.Config
	Draft      *model.Config
	ModelError error
	// Checkpoint is what is known of the target's weight files; nil when they
	// are not here.
	Checkpoint *checkpoint.Checkpoint
	// Machines are the hosts in node-rank order; usually one. With fewer
	// machines than nodes the last one stands for the rest.
	Machines []machine.Machine
	// GPUFree replaces the estimate of what is free on each GPU when loading
	// begins, GPUWeights that of what loading takes.
	GPUFree    *units.Bytes
	GPUWeights *units.Bytes
	// Calibration holds measurements of an earlier start of the same model and
	// layout.
	Calibration *Calibration
	// TokensPerRequest is the size of a request for the concurrency figure; 0
	// leaves it out.
	TokensPerRequest int64
	// Ignore lists codes whose errors become printed warnings.
	Ignore []finding.Code
	// Env is the environment the launch will see; what the command itself sets
	// wins over it.
	Env map[string]string
	// Remote says that the launch will run on another machine than this one, so
	// that variables which are not in Env may be set there.
	Remote bool
	// ReadFile reads a file that the command names (--config); nil means that
	// no file can be read.
	ReadFile func(name string) ([]byte, error)
	// Findings were made while the request was put together.
	Findings []finding.Finding

	nodeRank *int // the host of a launch over several that is looked at
	repairs  int  // how often the launch was repaired before it is recommended
}

// Calibration is what an earlier start of the same model and layout measured;
// nil fields were not seen. It is the JSON that `sglplan verify --write` makes
// and that --calibrate reads.
type Calibration struct {
	Schema          string        `json:"schema"`
	SGLangVersion   string        `json:"sglang_version,omitempty"`
	ModelPath       string        `json:"model_path,omitempty"`
	TPSize          int64         `json:"tp_size,omitempty"`
	MemFraction     *float64      `json:"mem_fraction_static,omitempty"`
	PreLoadFree     *units.Bytes  `json:"pre_load_free_bytes,omitempty"`
	Weights         *units.Bytes  `json:"weights_bytes,omitempty"`
	MaxTotalTokens  *int64        `json:"max_total_num_tokens,omitempty"`
	PoolEndFree     *units.Bytes  `json:"pool_end_free_bytes,omitempty"`
	NeedStart       *figure.Bytes `json:"need_start_bytes,omitempty"`
	NeedServing     *figure.Bytes `json:"need_serving_bytes,omitempty"`
	HostPoolPerRank *units.Bytes  `json:"host_pool_bytes_per_rank,omitempty"`
	DiedServing     bool          `json:"died_serving,omitempty"` // ran out of GPU memory under load
	DiedInCapture   bool          `json:"died_in_capture,omitempty"`
}
