package args

import (
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Env holds the SGLANG_* variables of a launch, by name. Only those that
// SGLang reads while it resolves its arguments matter here.
type Env map[string]string

// Set reports whether the variable is set at all, which SGLang's own
// environment fields tell apart from a default.
func (e Env) Set(name string) bool { _, ok := e[name]; return ok }

// Bool reads a switch as SGLang does: "true", "1", "yes" and "y" in any case
// are on, everything else is off, and an unset variable is def.
func (e Env) Bool(name string, def bool) bool {
	v, ok := e[name]
	if !ok {
		return def
	}
	switch strings.ToLower(v) {
	case "true", "1", "yes", "y":
		return true
	}
	return false
}

// Resolve returns the values that SGLang ends up with before it starts
// loading: missing values filled, rewrites applied, in the order of the
// release's own argument handling. a is what Parse returned and is not
// changed. info is nil when the model's files are not known; rules that need
// them are then left out. cfg is the model's config.json, nil likewise. card is
// the smallest GPU of the host and gpuCount how many it has (0: not known).
//
// Each field that a rule moved has the origin FromRule with the id of the rule
// (see RuleReason). What SGLang refuses is an Error finding; a value of the
// user that it silently replaces is a Warning. All findings are returned, not
// the first.
func Resolve(r release.Release, a *Args, info *modelcfg.Info, cfg *model.Config, card machine.Card, gpuCount int, env Env) (*Args, []finding.Finding) {
	base, _ := Nearest(r)
	x := &resolver{Args: a.Clone(), r: base, m: newFacts(base, info, cfg), card: card, gpus: gpuCount, env: env}
	if p := strings.ToLower(x.Str("model_path")); p == "none" || p == "dummy" {
		return x.Args, nil // SGLang skips its own handling for these names
	}
	for _, s := range steps {
		if (s.from == "" || base.AtLeast(s.from)) && (s.until == "" || base.Before(s.until)) {
			s.run(x)
		}
	}
	return x.Args, x.findings
}

// resolver is one run of Resolve. The embedded Args are the working copy.
type resolver struct {
	*Args
	r        release.Release
	m        facts
	card     machine.Card
	gpus     int
	env      Env
	g        graphs
	findings []finding.Finding

	unquantised bool // --quantization unquant: nothing may fill it in later
	mambaRadix  bool // the model's recurrent state takes part in the radix cache
}

// step is one handler of ServerArgs.__post_init__ (the resolution pipeline
// since 0.5.20), with the releases that run it at this place: from the first,
// until before the second.
type step struct {
	from, until string
	run         func(*resolver)
}

// steps is the order of all releases since 0.5.3 in one list: a handler that
// moved stands at each of its places with the releases that had it there.
var steps = []step{
	{"0.5.22", "", (*resolver).splitDataParallel},
	{"0.5.14", "0.5.20", (*resolver).formerContextParallel},
	{"0.5.18", "", (*resolver).moeRunnerAlias},
	{"0.5.18", "", (*resolver).hostCacheDefaults},
	{"", "", (*resolver).missingDefaults},
	{"0.5.11", "", (*resolver).disaggregation},
	{"0.5.12", "", (*resolver).prefillOnly},
	{"0.5.15", "", (*resolver).decodeContextParallel},
	{"0.5.17", "", (*resolver).distributedWeightData},
	{"0.5.14", "", (*resolver).graphConfig},
	{"0.5.10", "0.5.14", (*resolver).piecewiseGraphs},
	{"", "", (*resolver).memory},
	{"", "", (*resolver).modelRules},
	{"0.5.4.post1", "0.5.8", (*resolver).hostCache},
	{"0.5.12", "", (*resolver).deterministic},
	{"0.5.21", "", (*resolver).nvfp4Prefill},
	{"", "", (*resolver).attention},
	{"0.5.15", "", (*resolver).trtllmPrefillGraph},
	{"0.5.14", "", (*resolver).mambaCheckpoint},
	{"0.5.10", "", (*resolver).linearAttention},
	{"0.5.7", "", (*resolver).fp4Cache},
	{"", "", (*resolver).pageSize},
	{"0.5.11", "", (*resolver).multiItemScoring},
	{"0.5.12", "", (*resolver).prefillOnlyBackend},
	{"0.5.8", "", (*resolver).hostCache},
	{"", "", (*resolver).dataParallel},
	{"0.5.9", "", (*resolver).contextParallel},
	{"0.5.22", "", (*resolver).cacheSharding},
	{"", "", (*resolver).moeKernels},
	{"0.5.10", "0.5.13", (*resolver).piecewiseRunners},
	{"", "", (*resolver).moeAllToAll},
	{"", "", (*resolver).expertBalance},
	{"", "", (*resolver).pipelineParallel},
	{"", "0.5.4.post1", (*resolver).hostCache},
	{"", "", (*resolver).speculative},
	{"", "", (*resolver).tokenBudgets},
	{"", "0.5.11", (*resolver).disaggregation},
	{"", "", (*resolver).encoderDisaggregation},
	{"", "", (*resolver).cacheCompatibility},
	{"0.5.15", "", (*resolver).unifiedMemory},
	{"", "0.5.12", (*resolver).deterministic},
	{"0.5.6", "", (*resolver).diffusion},
	{"", "", (*resolver).tensorDump},
	{"0.5.16", "", (*resolver).modelCapabilities},
	{"0.5.22", "", (*resolver).graphContext},
	{"", "", (*resolver).store},
	{"", "", (*resolver).check},
}

// rule gives a field the value that a rule decides. A value that stands
// already keeps its origin; one that the user gave and that changes is said.
func (x *resolver) rule(field string, v any, id string) {
	old, had := x.Get(field)
	x.Args.Rule(field, v, id)
	now, _ := x.Get(field)
	if had && equalValue(old.V, now.V) {
		x.Set(field, old.V, old.Origin)
		return
	}
	if k := old.Origin.Kind; k == FromFlag || k == FromConfig {
		x.overridden(field, old, now.V, id)
	}
}

func equalValue(a, b any) bool {
	switch a.(type) {
	case nil, bool, int64, float64, string:
		return a == b
	}
	return false
}

// isNone reports a field that is None or that the release does not have.
func (x *resolver) isNone(field string) bool { return !x.Has(field) }

// fill gives a field its value when it has none.
func (x *resolver) fill(field string, v any, id string) {
	if x.isNone(field) {
		x.rule(field, v, id)
	}
}

// envInt reads a whole number from the environment.
func (x *resolver) envInt(name string, def int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(x.env[name]), 10, 64)
	if err != nil {
		return def
	}
	return n
}
