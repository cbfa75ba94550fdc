package modelcfg

import "github.com/sglplan/sglplan/planner/finding"

// Codes of the findings about a configuration.
var (
	CodeBadConfig = finding.Define("model-config-unusable",
		"the model's config.json cannot be used",
		"A field that SGLang needs is missing, contradicts another or is outside of any model's range, so that neither SGLang nor a plan can be built on it.",
		"Look at the named field; download config.json again or correct --json-model-override-args.")
	CodeUndecided = finding.Define("model-class-undecided",
		"the pools of this model class are not modelled",
		"The architecture is one that this release does not serve or whose memory pools this module does not model; nothing is guessed for it.",
		"Check the architecture name against the release's list of models, or give measured figures (--calibrate with a startup log).")
	CodeContextTooLong = finding.Define("context-length-exceeds-model",
		"--context-length is longer than the model's own",
		"SGLang refuses a context length above the one derived from config.json unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set (ModelConfig).",
		"Lower --context-length, extend the model's RoPE scaling with --json-model-override-args, or set the variable.")
	CodeQuantizationMismatch = finding.Define("quantization-mismatch",
		"--quantization contradicts the checkpoint",
		"The checkpoint names another quantization method than the flag, and the two are not compatible (ModelConfig._verify_quantization).",
		"Leave out --quantization: SGLang reads the method from the checkpoint.")
)

func badConfig(field string, err error) finding.Finding {
	detail := "config.json: "
	if field != "" {
		detail += field + " "
	}
	return finding.New(CodeBadConfig, finding.Error, "--model-path", detail+err.Error())
}
