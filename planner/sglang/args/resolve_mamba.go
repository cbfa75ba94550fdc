package args

import (
	"fmt"
	"strings"
)

// hybridRadix are the architectures whose recurrent state takes part in the
// radix cache (_MAMBA_RADIX_CACHE_ARCHS), with the release that joined them.
var hybridRadix = archSince{
	"KimiLinearForCausalLM": {"0.5.14"}, "BailingMoeV2_5ForCausalLM": {"0.5.14"}, "Qwen3NextForCausalLM": {"0.5.14"},
	"Qwen3_5MoeForConditionalGeneration": {"0.5.14"}, "Qwen3_5ForConditionalGeneration": {"0.5.14"},
	"InternS2PreviewForConditionalGeneration": {"0.5.14"}, "MiniCPMV4_6ForConditionalGeneration": {"0.5.14"},
	"NemotronHForCausalLM": {"0.5.14"}, "NemotronHPuzzleForCausalLM": {"0.5.14"}, "FalconH1ForCausalLM": {"0.5.14"},
	"JetNemotronForCausalLM": {"0.5.14"}, "JetVLMForConditionalGeneration": {"0.5.14"}, "Lfm2ForCausalLM": {"0.5.14"},
	"ZayaForCausalLM": {"0.5.14"}, "GraniteMoeHybridForCausalLM": {"0.5.14"},
	"KimiK3ForConditionalGeneration": {"0.5.17"}, "Lfm2MoeForCausalLM": {"0.5.17"}, "InternS2MobiusForConditionalGeneration": {"0.5.18"},
	"BailingMoeV3ForCausalLM": {"0.5.19"}, "Qwen3_5ForCausalLM": {"0.5.19"}, "Qwen3_5MoeForCausalLM": {"0.5.19"},
	"Glm5NextForConditionalGeneration": {"0.5.20"}, "NemotronH_Omni_Reasoning_V3": {"0.5.20"}, "Qwen4ExpForConditionalGeneration": {"0.5.20"},
	"BailingMoeV3VLForConditionalGeneration": {"0.5.21"}, "MiniCPMV4_7ForConditionalGeneration": {"0.5.23"},
	"GigaChat35ForCausalLM": {"0.5.21"},
}

// hybridExtraBuffer are those that can keep extra state snapshots and so run
// with overlap and pages (_MAMBA_EXTRA_BUFFER_ARCHS).
var hybridExtraBuffer = archSince{
	"Qwen3NextForCausalLM": {"0.5.14"}, "Qwen3_5MoeForConditionalGeneration": {"0.5.14"}, "Qwen3_5ForConditionalGeneration": {"0.5.14"},
	"InternS2PreviewForConditionalGeneration": {"0.5.14"}, "MiniCPMV4_6ForConditionalGeneration": {"0.5.14"},
	"BailingMoeV2_5ForCausalLM": {"0.5.14"}, "FalconH1ForCausalLM": {"0.5.14"}, "GraniteMoeHybridForCausalLM": {"0.5.14"},
	"NemotronHForCausalLM": {"0.5.14"}, "NemotronHPuzzleForCausalLM": {"0.5.14"},
	"KimiLinearForCausalLM": {"0.5.16"}, "KimiK3ForConditionalGeneration": {"0.5.17"},
	"BailingMoeV3ForCausalLM": {"0.5.19"}, "Qwen3_5ForCausalLM": {"0.5.19"}, "Qwen3_5MoeForCausalLM": {"0.5.19"},
	"Glm5NextForConditionalGeneration": {"0.5.20"}, "NemotronH_Omni_Reasoning_V3": {"0.5.20"}, "Qwen4ExpForConditionalGeneration": {"0.5.20"},
	"BailingMoeV3VLForConditionalGeneration": {"0.5.21"}, "InklingForConditionalGeneration": {"0.5.21"}, "InklingForConditionalGenerationMTP": {"0.5.21"},
	"MiniCPMV4_7ForConditionalGeneration": {"0.5.23"},
}

// strategyField is the argument that says how recurrent state is cached; it
// was renamed in 0.5.14.
func (x *resolver) strategyField() string {
	if x.r.Before("0.5.14") {
		return "mamba_scheduler_strategy"
	}
	return "mamba_radix_cache_strategy"
}

// extraBuffer is enable_mamba_extra_buffer; since 0.5.14 it needs the radix
// cache as well.
func (x *resolver) extraBuffer() bool {
	on := strings.HasPrefix(x.Str(x.strategyField()), "extra_buffer")
	return on && (x.r.Before("0.5.14") || !x.Bool("disable_radix_cache"))
}

// hybrid is _handle_mamba_radix_cache until 0.5.13, called by the branch of
// each family: a backend of its own on SM100 ("" none), whether the radix
// cache can hold the family's state, and whether snapshots can be kept. From
// 0.5.14 on only the backend is left here.
func (x *resolver) hybrid(sm100Backend string, cached, snapshots bool) {
	if x.r.Before("0.5.7") {
		x.hybridBefore057(sm100Backend, cached)
		return
	}
	if x.sm100() && sm100Backend != "" && (x.r.AtLeast("0.5.9") || !x.Bool("disable_radix_cache")) {
		x.fill("attention_backend", sm100Backend, "model-attention-backend")
	}
	if x.r.AtLeast("0.5.14") {
		return
	}
	x.mambaRadix = true
	if !cached {
		x.rule("disable_radix_cache", true, "hybrid-without-radix")
		return
	}
	switch {
	case x.extraBuffer():
		x.oldExtraBuffer(snapshots)
	case !x.Bool("disable_radix_cache"):
		x.oldNoBuffer()
	}
}

// hybridBefore057: only Kimi-Linear lost the radix cache; Qwen3-Next was put
// on triton outright on SM100 in 0.5.6.
func (x *resolver) hybridBefore057(sm100Backend string, cached bool) {
	if !cached {
		x.rule("disable_radix_cache", true, "hybrid-without-radix")
		return
	}
	if x.r.AtLeast("0.5.6") && !x.Bool("disable_radix_cache") {
		x.rule("disable_overlap_schedule", true, "hybrid-without-overlap")
	}
	if x.r.AtLeast("0.5.6") && x.sm100() && sm100Backend != "" {
		x.rule("attention_backend", sm100Backend, "model-attention-backend")
	}
}

func (x *resolver) oldExtraBuffer(snapshots bool) {
	const flag = "--mamba-scheduler-strategy"
	if !snapshots && x.r.Before("0.5.13") {
		x.refuse(CodeHybridStrategy, flag, "extra_buffer is not supported for "+x.m.Arch+".", fix("use no_buffer", setFlag(flag, "no_buffer")))
	}
	if x.Bool("disable_radix_cache") && x.r.AtLeast("0.5.10") {
		x.refuse(CodeHybridStrategy, flag, "extra_buffer needs the radix cache, which is off.", fix("use no_buffer", setFlag(flag, "no_buffer")))
	}
	x.trackInterval(flag)
}

// trackInterval: state is tracked every mamba_track_interval tokens, which
// must cover a draft and be whole pages.
func (x *resolver) trackInterval(flag string) {
	every := x.Int("mamba_track_interval")
	if n := x.Int("speculative_num_draft_tokens"); n > every {
		x.refuse(CodeHybridStrategy, flag, fmt.Sprintf("State is tracked every %d tokens, fewer than the %d draft tokens.", every, n),
			fix("track further apart", setFlag("--mamba-track-interval", fmt.Sprint(n))))
	}
	page := x.Int("page_size")
	if x.isNone("page_size") || page <= 0 {
		return
	}
	if every%page != 0 {
		x.refuse(CodeHybridStrategy, "--page-size", fmt.Sprintf("State is tracked every %d tokens, which is not a multiple of pages of %d.", every, page))
	}
	chunk := int64(64) // FLA's chunk
	if n, ok := x.m.cfg.Top.Int("mamba_chunk_size"); ok && n > 0 && x.r.AtLeast("0.5.12") {
		chunk = n
	}
	if max(chunk, page)%min(chunk, page) != 0 {
		x.refuse(CodeHybridStrategy, "--page-size", fmt.Sprintf("Pages of %d and state chunks of %d do not divide one another.", page, chunk))
	}
}

// oldNoBuffer: without snapshots the radix cache works with pages of one
// token and without overlap, and not with a draft.
func (x *resolver) oldNoBuffer() {
	if x.r.AtLeast("0.5.11") && x.Has("page_size") && x.Int("page_size") != 1 {
		x.rule("page_size", int64(1), "hybrid-page-size")
	}
	if x.Has("speculative_algorithm") && x.r.AtLeast("0.5.9") {
		if x.r.Before("0.5.10") {
			x.rule("disable_radix_cache", true, "hybrid-draft-without-radix")
			return
		}
		x.refuse(CodeHybridStrategy, "--speculative-algorithm", x.m.Arch+" drafts with the radix cache only in the extra_buffer strategy.",
			fix("keep state snapshots", setFlag("--mamba-scheduler-strategy", "extra_buffer")), fix("run without the radix cache", setFlag("--disable-radix-cache", "")))
		return
	}
	if x.Str("attention_backend") == "trtllm_mha" && (x.r.AtLeast("0.5.9") || x.sm100()) {
		x.rule("disable_radix_cache", true, "hybrid-trtllm-without-radix")
		return
	}
	x.rule("disable_overlap_schedule", true, "hybrid-without-overlap")
}

// mambaStrategy is _handle_mamba_radix_cache since 0.5.14, one call after all
// family branches.
func (x *resolver) mambaStrategy() {
	field := x.strategyField()
	hybrid := hybridRadix.has(x.r, x.m.Arch) && (!x.m.is("GraniteMoeHybridForCausalLM") || x.graniteMamba())
	if x.m.is("InklingForConditionalGeneration", "InklingForConditionalGenerationMTP") && x.r.AtLeast("0.5.22") {
		x.mambaRadix = !x.Bool("disable_radix_cache")
	}
	if hybrid && !x.Bool("disable_radix_cache") {
		x.mambaRadix = true
		x.chooseStrategy(field)
	}
	if !x.mambaRadix {
		if x.r.AtLeast("0.5.21") && x.extraBuffer() {
			x.refuse(CodeHybridStrategy, "--mamba-radix-cache-strategy", x.m.Arch+" has no recurrent state to keep.", fix("leave the flag out", dropFlag("--mamba-radix-cache-strategy")))
		}
		return
	}
	if x.extraBuffer() {
		x.checkExtraBuffer(field)
	} else {
		x.checkNoBuffer()
	}
}

func (x *resolver) chooseStrategy(field string) {
	if x.Str(field) != "auto" {
		return
	}
	wants := !x.Bool("disable_overlap_schedule") || x.Int("page_size") > 1
	if wants && x.snapshots() {
		x.rule(field, "extra_buffer", "hybrid-strategy")
		return
	}
	x.rule(field, "no_buffer", "hybrid-strategy")
	x.rule("disable_overlap_schedule", true, "hybrid-without-overlap")
}

func (x *resolver) snapshots() bool {
	b := x.Str("linear_attn_backend")
	return hybridExtraBuffer.has(x.r, x.m.Arch) && (b == "" || b == "triton")
}

func (x *resolver) checkExtraBuffer(field string) {
	const flag = "--mamba-radix-cache-strategy"
	if !x.snapshots() {
		x.refuse(CodeHybridStrategy, flag, "extra_buffer is not supported for "+x.m.Arch+" here.", fix("use no_buffer", setFlag(flag, "no_buffer")))
	}
	if x.Str(field) == "extra_buffer_lazy" {
		switch {
		case x.r.Before("0.5.18") && x.Has("speculative_num_draft_tokens"):
			x.refuse(CodeHybridStrategy, flag, "extra_buffer_lazy does not work with speculative decoding.", fix("use extra_buffer", setFlag(flag, "extra_buffer")))
		case x.r.AtLeast("0.5.18") && x.Str("disaggregation_mode") != "null":
			x.refuse(CodeHybridStrategy, flag, "extra_buffer_lazy does not work with PD disaggregation.", fix("use extra_buffer", setFlag(flag, "extra_buffer")))
		}
	}
	x.trackInterval(flag)
}

func (x *resolver) checkNoBuffer() {
	const flag = "--mamba-radix-cache-strategy"
	if x.Int("page_size") > 1 {
		x.refuse(CodeHybridStrategy, "--page-size", fmt.Sprintf("The no_buffer strategy needs pages of one token; %d is asked.", x.Int("page_size")),
			fix("use pages of one", setFlag("--page-size", "1")))
	}
	if !x.Bool("disable_overlap_schedule") {
		x.refuse(CodeHybridStrategy, flag, "The no_buffer strategy does not run with the overlap scheduler.", fix("turn overlap off", setFlag("--disable-overlap-schedule", "")))
	}
	if x.Str("attention_backend") == "trtllm_mha" {
		x.refuse(CodeHybridStrategy, "--attention-backend", "The no_buffer strategy does not run with trtllm_mha.", fix("use triton", setFlag("--attention-backend", "triton")))
	}
}

func (x *resolver) graniteMamba() bool {
	for _, t := range x.m.cfg.Top.Strs("layer_types") {
		if t == "mamba" {
			return true
		}
	}
	return false
}
