package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/modelcfg"
	"github.com/sglplan/sglplan/planner/sglang/ranks"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// job is one launch while it is judged: what each step found out, for the
// steps that follow. Steps run in the order of prepare and leave nil what they
// could not find out.
type job struct {
	req      Request
	rel      release.Release
	env      map[string]string
	given    *args.Args // as the release's argparse reads the command
	args     *args.Args // as the release's own handling leaves them
	refused  bool       // the release's argument handling refuses the launch
	info     *modelcfg.Info
	draft    *modelcfg.Info
	charged  *modelcfg.Info  // the draft as the pool's budget knows it
	machine  machine.Machine // with the limits of the launch's container
	card     machine.Card    // the smallest card of the launch
	layout   ranks.Layout
	gpu      *gpuModel
	others   []*job // the launch on its other hosts, where they are known
	findings []finding.Finding
}

// prepareHost does everything that does not depend on the fraction, for one
// host.
func prepareHost(req Request) *job {
	j := prepareLayout(req)
	j.gpu = j.newGPUModel()
	return j
}

func (j *job) add(fs ...finding.Finding) { j.findings = append(j.findings, fs...) }

// environment merges the variables: what the command itself sets wins.
func (j *job) environment() {
	if c := j.req.Launch.Container; c == nil || c.HostFiles {
		j.env = maps.Clone(j.req.Env) // a container has an environment of its own
	}
	if j.env == nil {
		j.env = map[string]string{}
	}
	maps.Copy(j.env, j.req.Launch.Env)
}

// readRelease decides the release whose rules apply.
func (j *job) readRelease() {
	j.rel = j.req.Release
	if j.rel.IsZero() {
		j.rel = imageRelease(j.req.Launch.Container)
	}
	if j.rel.IsZero() {
		j.rel = release.Newest
		j.add(finding.New(CodeReleaseAssumed, finding.Info, "",
			"No SGLang was named or found beside the command, so the rules of "+j.rel.String()+", the newest release known here, were applied. Say which one will run with --sglang."))
	}
	_, fs := args.Nearest(j.rel)
	j.add(fs...)
}

// imageRelease reads the release from the tag of a container image.
func imageRelease(c *launch.Container) release.Release {
	if c == nil {
		return release.Release{}
	}
	name, _, _ := strings.Cut(c.Image, "@")
	i := strings.LastIndexByte(name, ':')
	if i < 0 || strings.Contains(name[i:], "/") {
		return release.Release{}
	}
	r, err := release.Parse(name[i+1:])
	if err != nil {
		return release.Release{}
	}
	return r
}

// readArgs parses the command, derives the model and resolves the arguments,
// in the order in which the release does.
func (j *job) readArgs() {
	c := j.req.Launch
	given, fs := args.Parse(j.rel, c.Flags, args.ParseOptions{ReadFile: j.req.ReadFile, Serve: c.Serve()})
	if n := j.req.nodeRank; n != nil {
		given.Set("node_rank", *n, args.Origin{Kind: args.FromRule, Rule: "node"})
	}
	j.given = given
	j.add(fs...)
	if finding.Worst(fs) == finding.Error {
		j.refused = true
	}
	if j.req.Model != nil {
		j.deriveModel()
	} else {
		j.add(modelMissing(j.given.Str("model_path"), j.req.ModelError))
	}
	resolved, fs := args.Resolve(j.rel, given, j.info, j.req.Model, j.card, len(j.machine.GPUs), args.Env(j.env))
	j.args = resolved
	j.add(fs...)
	facts := args.RuleFacts{Compute: j.card.SM()}
	if j.info != nil {
		facts.Arch = j.info.Arch
	}
	judged := args.Judge(j.rel, given, resolved, facts, j.findings)
	j.add(judged...)
	fs = append(fs, judged...)
	out := j.outOfRange()
	j.add(out...)
	fs = append(fs, out...)
	if finding.Worst(fs) == finding.Error {
		j.refused = true
	}
	j.readDraft()
}

// deriveModel reads the target's files as the release does.
func (j *job) deriveModel() {
	opt := modelOptions(j.given, j.env, false)
	info, fs := modelcfg.Derive(j.rel, j.req.Model, opt)
	if since, unknown := info.UnknownToRelease(j.rel.AtLeast); unknown {
		// Builds between two releases carry the number of the older one, so
		// this is no refusal.
		j.add(finding.New(CodeClassNewer, finding.Warning, "--model-path", fmt.Sprintf(
			"%s has been served since SGLang %s; %s does not know it unless it is a build made after that release.",
			info.Arch, since, j.rel)).With("run SGLang " + since + " or newer"))
	}
	j.info = info
	j.add(j.elsewhere(fs)...)
	j.req.Model = modelcfg.Effective(j.req.Model, opt.Overrides)
}

// elsewhere softens what an environment variable allows when the launch will
// run on another machine, whose environment is not known here.
func (j *job) elsewhere(fs []finding.Finding) []finding.Finding {
	for i, f := range fs {
		if j.req.Remote && f.Code == modelcfg.CodeContextTooLong && f.Severity == finding.Error {
			fs[i].Severity = finding.Warning
			fs[i].Detail += ". SGLang refuses it unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set where it runs, which is not known here"
		}
	}
	return fs
}

// modelOptions are the arguments that bear on what a release derives from the
// model's files.
func modelOptions(a *args.Args, env map[string]string, draft bool) modelcfg.Options {
	o := modelcfg.Options{
		Overrides:          a.Str("json_model_override_args"),
		ContextLength:      int(a.Int("context_length")),
		AllowLongerContext: args.Env(env).Bool("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", false),
		DType:              a.Str("dtype"),
		Quantization:       a.Str("quantization"),
		LanguageModelOnly:  a.Bool("language_model_only"),
		ModelImpl:          a.Str("model_impl"),
		DisableHybridSWA:   a.Bool("disable_hybrid_swa_memory"),
		SSMDType:           firstOf(a.Str("mamba_ssm_dtype"), env["SGLANG_MAMBA_SSM_DTYPE"]),
		ConvDType:          env["SGLANG_MAMBA_CONV_DTYPE"],
	}
	if v, ok := a.Get("enable_multimodal"); ok {
		if b, ok := v.V.(bool); ok {
			o.EnableMultimodal = &b
		}
	}
	if draft {
		o.IsDraft, o.Algorithm = true, strings.ToUpper(a.Str("speculative_algorithm"))
		o.Quantization = a.Str("speculative_draft_model_quantization")
		o.Overrides = ""
	}
	return o
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

func (j *job) layOut() {
	l, fs := ranks.Of(j.rel, j.args)
	j.layout = l
	j.add(fs...)
}

// measured wraps a reading.
func measured(b units.Bytes) figure.Bytes { return figure.New(b, figure.Measured) }

// prepareLayout is the part of prepare that places ranks on GPUs.
func prepareLayout(req Request) *job {
	j := &job{req: req, findings: slices.Concat(req.Findings, req.Launch.Findings)}
	j.environment()
	j.readRelease()
	j.req.Launch = spelled(j.req.Launch, j.rel)
	j.readMachine()
	j.readArgs()
	j.layOut()
	return j
}
