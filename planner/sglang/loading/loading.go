// Package loading says what loading a model takes from one rank's card: the
// tensors that planner/model/weights describes, built and rewritten as a
// release does it on that card, and replayed through the allocator's rules.
// Only this package knows which release does what.
package loading

import (
	"errors"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Options choose the rank and the role of the model. The zero value is the
// first stage of the target.
type Options struct {
	PPStage int64
	Draft   bool              // cfg is loaded as the draft model
	Target  *model.Config     // of a draft: the model that it drafts for
	Env     map[string]string // SGLANG_* variables of the launch
	// Files are the weight files of the target, nil when they are not here.
	Files *checkpoint.Checkpoint
}

var (
	codeUnknown = finding.Define("weights-unknown", "the weights of this model are not known",
		"sglplan counts the weights of an architecture by the module shapes of SGLang's own class, and those of a quantisation by its own method. This model's class or quantisation is not among them, so its weights per GPU are left open instead of guessed.",
		"Give the measured figure with --gpu-weights (what SGLang logs between 'Load weight begin' and 'Load weight end' as mem usage), or calibrate on a log with --calibrate.")
	codeConfig = finding.Define("weights-config-incomplete", "config.json lacks what counting the weights needs",
		"A size that the model's class cannot do without is missing or out of range in config.json, so the weights per GPU cannot be counted.",
		"Check that the folder holds the model's own config.json, complete; or give --gpu-weights.")
	// CodeShape says that the model cannot be split over the ranks as asked.
	CodeShape = finding.Define("weights-do-not-divide", "the model cannot be split over that many GPUs",
		"SGLang's model classes refuse sizes that do not divide by their group of ranks (heads by attention TP, widths by TP, experts by EP, fp8 blocks by the block). The server stops with an assertion while it builds the model.",
		"Choose a --tp-size (or --ep-size, --dp-size) that divides the size named.")
)

// Estimate returns what loading cfg takes on one rank. A nil result comes with
// a finding that says why.
func Estimate(r release.Release, a *args.Args, cfg *model.Config, card machine.Card, opt Options) (*weights.Result, []finding.Finding) {
	if cfg == nil || cfg.Top == nil {
		return nil, []finding.Finding{finding.New(codeConfig, finding.Warning, "--model-path", "no config.json")}
	}
	l := &loader{rel: r, args: a, card: card, env: opt.Env, cfg: cfg, arch: architecture(cfg, opt.Draft)}
	assumed := l.stateExperts(opt)
	res, err := l.estimate(opt)
	var unknown *weights.UnknownError
	switch {
	case errors.As(err, &unknown) && unknown.What != weights.OnlineQuant && !opt.Draft && opt.Files != nil && opt.Files.Tally != nil:
		return l.byNames(opt, err)
	case err != nil:
		return nil, []finding.Finding{explain(err)}
	case assumed:
		return res, l.spanExperts(res, opt)
	case opt.Draft:
		return res, nil
	}
	return res, withFiles(res, l.cfg, opt.Files)
}

func explain(err error) finding.Finding {
	var shape *weights.ShapeError
	var config *weights.ConfigError
	switch {
	case errors.As(err, &shape):
		return finding.New(CodeShape, finding.Error, "--tp-size", err.Error())
	case errors.As(err, &config):
		return finding.New(codeConfig, finding.Warning, "--model-path", err.Error())
	}
	return finding.New(codeUnknown, finding.Warning, "--model-path", err.Error())
}

// loader carries one estimate.
type loader struct {
	rel   release.Release
	args  *args.Args
	card  machine.Card
	env   map[string]string
	cfg   *model.Config
	arch  string
	quant *weights.Quant
	lay   weights.Layout
	rules weights.Rules
	mem   *weights.Replay
	back  backends
	runs  int64 // temporaries of experts so far
}

func (l *loader) estimate(opt Options) (*weights.Result, error) {
	quant, err := weights.ParseQuant(l.cfg, l.quantFlag(opt.Draft))
	if err != nil {
		return nil, err
	}
	l.quant = quant
	l.lay = l.layout(opt)
	l.back = l.chooseBackends()
	l.rules = l.buildRules()
	b := &weights.Builder{C: l.cfg, T: l.cfg.Text(), Layout: l.lay, Rules: l.rules, Draft: draftOf(l.rel, opt)}
	mods, err := b.Modules(l.arch)
	if err != nil {
		return nil, err
	}
	weights.Assign(mods, l.quant)
	for i := range mods {
		if err := l.refuses(&mods[i]); err != nil {
			return nil, err
		}
	}
	return l.load(mods, opt), nil
}

// load builds the modules, rewrites them and adds up.
func (l *loader) load(mods []weights.Module, opt Options) *weights.Result {
	l.mem, l.runs = weights.NewReplay(8*len(mods)), 0
	weights.Build(mods, l.mem, &l.rules)
	built := l.mem.Total()
	l.rewrite(mods)
	stay := l.mem.Total()
	l.mem.EmptyCache()
	k := l.known(opt.Draft)
	res := &weights.Result{
		Architecture: l.arch,
		Constructed:  k.tensors.of(built), Resident: k.tensors.of(stay), AfterSharing: k.tensors.of(stay),
		Load: k.load.of(l.mem.Reserved()), Peak: k.peak.of(l.mem.Peak()),
		Groups: weights.Table(mods, l.mem),
	}
	if l.quant != nil {
		res.Scheme = l.quant.Method
	}
	if opt.Draft {
		res.AfterSharing = k.tensors.of(stay - l.shared())
	}
	return res
}

// shared is what a draft gives up for the target's own tensors: the embedding
// and the head, unless the head covers a vocabulary of its own.
func (l *loader) shared() int64 {
	n := l.mem.Live(weights.Embedding)
	if !l.cfg.Text().Has("draft_vocab_size") {
		n += l.mem.Live(weights.LMHead)
	}
	return n
}

// draftOf describes the target to the draft's builder. A draft's position
// tables are as long as the target's context since 0.5.10.
func draftOf(r release.Release, opt Options) *weights.Draft {
	if !opt.Draft || opt.Target == nil {
		return nil
	}
	d := &weights.Draft{Target: opt.Target}
	if r.AtLeast("0.5.10") {
		d.Context, _ = opt.Target.Text().Int("max_position_embeddings")
	}
	return d
}

// architecture names the class that SGLang makes of a config.
func architecture(cfg *model.Config, draft bool) string {
	arch := cfg.Arch()
	if !draft {
		return arch
	}
	if d, ok := draftArch[arch]; ok {
		return d
	}
	return arch
}

// draftArch maps the architectures whose checkpoints carry their own draft
// layers to the draft's class (ModelConfig._config_draft_model).
var draftArch = map[string]string{
	"DeepseekV3ForCausalLM": "DeepseekV3ForCausalLMNextN", "DeepseekV32ForCausalLM": "DeepseekV3ForCausalLMNextN",
	"GlmMoeDsaForCausalLM": "GlmMoeDsaForCausalLMNextN", "Glm4MoeForCausalLM": "Glm4MoeForCausalLMNextN",
	"Glm4MoeLiteForCausalLM": "Glm4MoeLiteForCausalLMNextN",
	"Qwen3NextForCausalLM":   "Qwen3NextForCausalLMMTP", "Qwen3_5ForConditionalGeneration": "Qwen3_5ForCausalLMMTP",
	"Qwen3_5MoeForConditionalGeneration": "Qwen3_5ForCausalLMMTP", "Qwen4ExpForConditionalGeneration": "Qwen4ExpForCausalLMMTP",
	"GigaChat35ForCausalLM": "GigaChat35ForCausalLMNextN", "HYV4ForCausalLM": "HYV4ForCausalLMNextN",
	"MiMoV2FlashForCausalLM": "MiMoV2MTP", "MiMoV2ForCausalLM": "MiMoV2MTP", "MiMoForCausalLM": "MiMoMTP", "DeepseekV4ForCausalLM": "DeepseekV4ForCausalLMNextN",
}

// quantFlag returns --quantization as far as it asks for quantising while
// loading; a draft has a flag of its own.
func (l *loader) quantFlag(draft bool) string {
	if draft {
		return l.args.Str("speculative_draft_model_quantization")
	}
	return strings.ToLower(l.args.Str("quantization"))
}
