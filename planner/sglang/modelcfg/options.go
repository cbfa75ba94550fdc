package modelcfg

// Options are the launch arguments that bear on the model's configuration, as
// plain values. The zero value is a launch without any of them.
type Options struct {
	// Overrides is the JSON of --json-model-override-args, "" or "{}" for none.
	Overrides string
	// ContextLength is --context-length, 0 when not given.
	ContextLength int
	// AllowLongerContext is SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.
	AllowLongerContext bool
	DType              string // --dtype, "" and "auto" take the file's
	Quantization       string // --quantization (the draft's for a draft)
	// EnableMultimodal is --enable-multimodal: nil when not given.
	EnableMultimodal  *bool
	LanguageModelOnly bool   // --language-model-only
	ModelImpl         string // --model-impl
	DisableHybridSWA  bool   // --disable-hybrid-swa-memory
	// IsDraft derives the config as that of a draft model, for the algorithm.
	IsDraft   bool
	Algorithm string // --speculative-algorithm
	// SSMDType and ConvDType are the dtypes of recurrent state when set
	// (--mamba-ssm-dtype, SGLANG_MAMBA_SSM_DTYPE, SGLANG_MAMBA_CONV_DTYPE).
	SSMDType  string
	ConvDType string
}
