package args

import (
	"fmt"
	"slices"
	"strings"
)

// disaggregation is _handle_disaggregation, since 0.5.11 before memory is
// decided.
func (x *resolver) disaggregation() {
	if x.Str("disaggregation_transfer_backend") == "mooncake_tcp" && x.r.AtLeast("0.5.13") {
		x.rule("disaggregation_transfer_backend", "mooncake", "mooncake-tcp")
	}
	x.hostReceive()
	switch x.Str("disaggregation_mode") {
	case "decode":
		x.decodeServer()
	case "prefill":
		x.prefillServer()
	}
	x.roleSwitch()
}

// decodeServer caches in chunks unless the radix cache is asked for.
func (x *resolver) decodeServer() {
	if x.Has("disaggregation_decode_tp") || x.Has("disaggregation_decode_dp") {
		x.refuse(CodeDisaggregation, "--disaggregation-decode-tp", "--disaggregation-decode-tp and -dp are for prefill servers.", fix("leave them out", dropFlag("--disaggregation-decode-tp"), dropFlag("--disaggregation-decode-dp")))
	}
	if x.r.Before("0.5.8") && x.r.AtLeast("0.5.3") && x.Int("dp_size") > 1 && !x.Bool("prefill_round_robin_balance") {
		x.refuse(CodeDisaggregation, "--prefill-round-robin-balance", "A decode server with --dp-size above 1 needs --prefill-round-robin-balance, and its prefill servers --load-balance-method round_robin.",
			fix("turn it on", setFlag("--prefill-round-robin-balance", "")))
	}
	if x.Int("dcp_size") > 1 && x.r.AtLeast("0.5.17") {
		x.decodeServerDCP()
	}
	if x.r.AtLeast("0.5.11") && x.Bool("disaggregation_decode_enable_radix_cache") {
		x.decodeRadix()
		x.rule("disable_radix_cache", false, "decode-server-radix")
	} else {
		x.rule("disable_radix_cache", true, "decode-server-cache")
		if x.r.AtLeast("0.5.11") && x.r.Before("0.5.14") && x.extraBuffer() {
			x.rule(x.strategyField(), "no_buffer", "decode-server-cache")
		}
	}
	if x.r.AtLeast("0.5.14") {
		x.extraSlots()
	}
}

func (x *resolver) decodeServerDCP() {
	ok := []string{"mooncake", "nixl"}
	if x.r.AtLeast("0.5.22") {
		ok = append(ok, "mori", "ascend", "fake")
	}
	if b := x.Str("disaggregation_transfer_backend"); !slices.Contains(ok, b) {
		x.refuse(CodeDCP, "--disaggregation-transfer-backend", "Decode servers with decode context parallelism transfer over "+quoted(ok)+"; "+b+" is asked.")
	}
	if x.r.Before("0.5.20") && (x.Bool("disaggregation_decode_enable_radix_cache") || x.Bool("enable_hierarchical_cache")) {
		x.refuse(CodeDCP, "--dcp-size", "Decode servers with decode context parallelism cache in chunks only.", fix("use 1", setFlag("--dcp-size", "1")))
	}
}

func (x *resolver) decodeRadix() {
	const flag = "--disaggregation-decode-enable-radix-cache"
	drop := fix("leave it out", dropFlag(flag))
	if x.Bool("enable_hisparse") {
		x.refuse(CodeDisaggregation, flag, "A decode server's radix cache does not combine with HiSparse.", drop)
	}
	b := x.Str("disaggregation_transfer_backend")
	if b == "fake" || x.r.Before("0.5.14") && b != "nixl" && b != "mooncake" {
		x.refuse(CodeDisaggregation, "--disaggregation-transfer-backend", "A decode server's radix cache does not work with the transfer backend "+b+".", drop)
	}
	if x.Has("speculative_algorithm") && x.r.Before("0.5.20") {
		x.refuse(CodeDisaggregation, flag, "A decode server's radix cache does not combine with speculative decoding in this release.", drop)
	}
}

// extraSlots are request slots for KV caches under way: twice a small batch.
func (x *resolver) extraSlots() {
	slots := int64(0)
	if x.Has("max_running_requests") {
		groups := max(x.Int("dp_size"), 1)
		if x.r.AtLeast("0.5.22") {
			groups = max(x.Int("dp_size")*x.Int("attn_dp_size"), 1)
		}
		each := x.Int("max_running_requests") / groups
		if x.r.AtLeast("0.5.20") {
			each = max(each, 1)
		}
		if each <= 32 {
			slots = each * 2
		}
	}
	x.fill("disaggregation_decode_extra_slots", slots, "decode-extra-slots")
}

// prefillServer captures no decode graphs.
func (x *resolver) prefillServer() {
	if x.r.AtLeast("0.5.10") && x.Str("disaggregation_transfer_backend") == "fake" {
		x.refuse(CodeDisaggregation, "--disaggregation-transfer-backend", "A prefill server does not work with the fake transfer backend.")
	}
	if x.r.Before("0.5.11") {
		x.decodePeers()
	}
	switch {
	case x.r.AtLeast("0.5.16"): // the graph configuration knows the role
	case x.r.Within("0.5.6", "0.5.9.post9") && x.Bool("enable_piecewise_cuda_graph"):
	case x.r.AtLeast("0.5.10") && x.r.Before("0.5.13") && !x.Bool("disable_piecewise_cuda_graph"):
	default:
		x.rule("disable_cuda_graph", true, "prefill-server-graphs")
	}
}

// decodePeers fills the sizes of the decode side and checks that one is a
// multiple of the other.
func (x *resolver) decodePeers() {
	x.fill("disaggregation_decode_tp", x.Int("tp_size"), "decode-side-sizes")
	x.fill("disaggregation_decode_dp", x.Int("dp_size"), "decode-side-sizes")
	x.rule("disaggregation_prefill_pp", x.Int("pp_size"), "decode-side-sizes")
	p, d := x.Int("tp_size"), x.Int("disaggregation_decode_tp")
	if lo, hi := min(p, d), max(p, d); lo > 0 && hi%lo != 0 {
		x.refuse(CodeDisaggregation, "--disaggregation-decode-tp", fmt.Sprintf("TP %d of prefill and %d of decode: one must be a multiple of the other.", p, d))
	}
}

// hostReceiving reports that KV caches may arrive in host memory. 0.5.21
// counts the threshold upwards from 0, off; from 0.5.22 on it is the free share
// of the GPU pool below which it works, and 1 is off.
func (x *resolver) hostReceiving() bool {
	const field = "disaggregation_decode_host_receive_threshold"
	switch {
	case x.r.Before("0.5.21") || x.isNone(field):
		return false
	case x.r.Before("0.5.22"):
		return x.Float(field) > 0
	}
	return x.Float(field) < 1
}

// hostReceive: KV caches that arrive in host memory (0.5.21).
func (x *resolver) hostReceive() {
	const field, flag = "disaggregation_decode_host_receive_threshold", "--disaggregation-decode-host-receive-threshold"
	if x.r.Before("0.5.21") || x.isNone(field) {
		return
	}
	t := x.Float(field)
	drop := fix("leave it out", dropFlag(flag))
	if t < 0 || t > 1 {
		x.refuse(CodeDisaggregation, flag, "The threshold lies between 0 and 1.", drop)
	}
	if !x.hostReceiving() {
		return
	}
	if x.Bool("enable_hisparse") || x.Bool("enable_pd_role_switch") {
		x.refuse(CodeDisaggregation, flag, "Receiving in host memory does not combine with HiSparse or role switching.", drop)
	}
	if x.Str("disaggregation_decode_retraction_backup") == "cpu_tensor" {
		x.refuse(CodeDisaggregation, flag, "Receiving in host memory needs retraction into the host pool.", fix("retract into it", setFlag("--disaggregation-decode-retraction-backup", "host_pool")))
		return
	}
	x.rule("disaggregation_decode_retraction_backup", "host_pool", "host-receive")
}

// roleSwitch: what a server that changes roles cannot rebuild (0.5.20).
func (x *resolver) roleSwitch() {
	const flag = "--enable-pd-role-switch"
	if !x.Bool("enable_pd_role_switch") || x.Str("disaggregation_mode") == "null" {
		return
	}
	if x.Int("ep_size") > 1 || x.a2a() != "none" || x.Int("pp_size") > 1 || x.Int("dcp_size") > 1 || x.Has("speculative_algorithm") {
		x.refuse(CodeDisaggregation, flag, "A server that switches roles does not rebuild expert, pipeline or decode context parallelism, nor a draft.", fix("leave it out", dropFlag(flag)))
	}
}

// encoderDisaggregation checks the roles of multimodal servers.
func (x *resolver) encoderDisaggregation() {
	enc, lang := x.Bool("encoder_only"), x.Bool("language_only")
	if x.Bool("enable_prefix_mm_cache") && !enc {
		x.refuse(CodeDisaggregation, "--enable-prefix-mm-cache", "The multimodal prefix cache needs --encoder-only.", fix("leave it out", dropFlag("--enable-prefix-mm-cache")))
	}
	if enc && lang {
		x.refuse(CodeDisaggregation, "--encoder-only", "A server has the encoder or the language model, not only one of each.", fix("choose one", dropFlag("--language-only")))
	}
	if enc && x.Str("disaggregation_mode") != "null" {
		x.refuse(CodeDisaggregation, "--encoder-only", "An encoder server is neither a prefill nor a decode server.", fix("leave the mode out", dropFlag("--disaggregation-mode")))
	}
	if urls, _ := x.Get("encoder_urls"); lang && x.r.Before("0.5.10") && emptyList(urls.V) {
		x.refuse(CodeDisaggregation, "--language-only", "--language-only needs --encoder-urls.")
	}
	x.encoderModels()
	if x.Bool("language_model_only") && (enc || lang || x.Bool("enable_prefix_mm_cache") || x.Bool("mm_enable_dp_encoder")) {
		x.refuse(CodeDisaggregation, "--language-model-only", "--language-model-only does not combine with the encoder's flags.", fix("leave it out", dropFlag("--language-model-only")))
	}
}

// encoderApart are the architectures whose encoder may run on another server.
var encoderApart = archSince{
	"Qwen2VLForConditionalGeneration": {"0.5.10"}, "Qwen2_5_VLForConditionalGeneration": {"0.5.10"},
	"Qwen3VLForConditionalGeneration": {"0.5.10"}, "Qwen3VLMoeForConditionalGeneration": {"0.5.10"},
	"Qwen3OmniMoeForConditionalGeneration": {"0.5.10"}, "Qwen2AudioForConditionalGeneration": {"0.5.10"},
	"Qwen2_5OmniForConditionalGeneration": {"0.5.10"}, "KimiVLForConditionalGeneration": {"0.5.11"},
	"KimiK25ForConditionalGeneration": {"0.5.11"}, "Qwen3_5ForConditionalGeneration": {"0.5.11"},
	"Qwen3_5MoeForConditionalGeneration": {"0.5.11"}, "InternS2PreviewForConditionalGeneration": {"0.5.12"},
	"MiMoV2ForCausalLM": {"0.5.13"}, "KimiK3ForConditionalGeneration": {"0.5.17"}, "Dots3NoteForCausalLM": {"0.5.19"},
	"Glm5NextForConditionalGeneration": {"0.5.20"}, "MiniMaxM3SparseForConditionalGeneration": {"0.5.23"},
	"MuseSparkForConditionalGeneration": {"0.5.23"},
}

// languageModelOnly are those that --language-model-only serves
// (LANGUAGE_MODEL_ONLY_ARCHITECTURES).
var languageModelOnly = archSince{
	"MuseGlimmerForConditionalGeneration": {"0.5.18"}, "Cosmos3ForConditionalGeneration": {"0.5.20"},
	"Cosmos3EdgeForConditionalGeneration": {"0.5.20"}, "DeepseekV4ForCausalLM": {"0.5.22"},
}

// encoderModels refuses the roles for models that do not have them.
func (x *resolver) encoderModels() {
	if !x.m.known {
		return
	}
	for _, flag := range []string{"--encoder-only", "--language-only"} {
		on := x.Bool(strings.ReplaceAll(flag[2:], "-", "_"))
		if on && x.r.AtLeast("0.5.10") && !encoderApart.has(x.r, x.m.Arch) {
			x.refuse(CodeEncoderModel, flag, "SGLang "+x.r.String()+" does not serve the encoder of "+x.m.Arch+" apart.", fix("serve the whole model", dropFlag(flag)))
		}
	}
	if !x.Bool("language_model_only") {
		return
	}
	const flag = "--language-model-only"
	if !languageModelOnly.has(x.r, x.m.Arch) {
		x.refuse(CodeEncoderModel, flag, "SGLang "+x.r.String()+" does not serve "+x.m.Arch+" without its encoder.", fix("serve the whole model", dropFlag(flag)))
	}
	if x.Str("disaggregation_mode") != "null" {
		x.refuse(CodeDisaggregation, flag, flag+" does not combine with PD disaggregation.", fix("leave it out", dropFlag(flag)))
	}
}

func emptyList(v any) bool { l, ok := v.([]any); return v == nil || ok && len(l) == 0 }
