package weights

import (
	"cmp"
	"strings"

	"github.com/sglplan/sglplan/planner/model"
)

// Quant is what a checkpoint's quantisation section says, or what
// --quantization asks for on an unquantised one.
type Quant struct {
	Method string // SGLang's name: fp8, mxfp4, compressed-tensors, modelopt_fp4, ...
	Linear Scheme // of the projections
	MoE    Scheme // of the routed experts
	Heads  bool   // the method reaches the head too
	ignore *matcher
	layers map[string]Scheme // mixed checkpoints: scheme by module
	KV     bool              // the checkpoint carries scales for an fp8 KV cache
}

// QuantSection returns the quantisation section of a config: the file beside
// it where there is one, else the one inside, wherever the wrapper keeps it.
func QuantSection(c *model.Config) model.Section {
	if q := c.Top.Sub("quantization_config"); q != nil {
		return q
	}
	if q := c.Text().Sub("quantization_config"); q != nil {
		return q
	}
	if q := c.Quant.Sub("quantization"); q != nil {
		return q
	}
	if q := c.Top.Sub("compression_config"); q != nil {
		return q
	}
	return c.Quant
}

// ParseQuant reads the section. method is --quantization, "" when not given.
// A nil result without error is an unquantised model.
func ParseQuant(c *model.Config, method string) (*Quant, error) {
	s := QuantSection(c)
	if s == nil {
		return online(method)
	}
	return checkpoint(c, s)
}

// OnlineQuant is what an *UnknownError names for a --quantization that is
// applied while loading, so that the files say nothing about the result.
const OnlineQuant = "online quantisation"

// online returns the schemes that quantise bf16 weights while loading.
func online(method string) (*Quant, error) {
	switch method {
	case "":
		return nil, nil
	case "fp8":
		q := Scheme{Kind: FP8Online}
		return &Quant{Method: "fp8", Linear: q, MoE: q}, nil
	}
	return nil, &UnknownError{OnlineQuant, method}
}

func checkpoint(c *model.Config, s model.Section) (*Quant, error) {
	method := strings.ToLower(s.Str("quant_method"))
	algo := strings.ToUpper(s.Str("quant_algo"))
	switch {
	case method == "fp8" && (algo != "MIXED_PRECISION" || s.Has("moe_quant_algo")):
		return fp8Checkpoint(c, s), nil
	case method == "mxfp4":
		return &Quant{Method: "mxfp4", Linear: Scheme{Kind: Never}, MoE: Scheme{Kind: MXFP4, Group: 32}, ignore: newMatcher(byPath, s.Strs("modules_to_not_convert"))}, nil
	case method == "compressed-tensors":
		return compressed(s)
	case method == "gptq", method == "gptq_marlin":
		return gptq(s), nil
	case method == "awq", method == "awq_marlin":
		return awq(s), nil
	case algo != "":
		return modelOpt(c, s, algo)
	}
	return nil, &UnknownError{"quantisation method", cmp.Or(method, algo)}
}

func blockSize(s model.Section) (n, k int64) {
	if b := s.Ints("weight_block_size"); len(b) == 2 && b[0] > 0 && b[1] > 0 && b[0] <= maxSize && b[1] <= maxSize {
		return b[0], b[1]
	}
	return 0, 0
}

func fp8Checkpoint(c *model.Config, s model.Section) *Quant {
	q := Scheme{Kind: FP8Tensor, Static: s.Str("activation_scheme") == "static"}
	if n, k := blockSize(s); n > 0 {
		q = Scheme{Kind: FP8Block, Rows: n, Cols: k, UE8M0: s.Str("scale_fmt") == "ue8m0"}
	}
	list := s.Strs("ignored_layers")
	if list == nil {
		list = s.Strs("modules_to_not_convert")
	}
	out := &Quant{Method: "fp8", Linear: q, MoE: q, ignore: newMatcher(byPath, list)}
	switch d := cmp.Or(s.Str("expert_dtype"), c.Text().Str("expert_dtype")); {
	case s.Str("moe_quant_algo") == "NVFP4":
		out.MoE = Scheme{Kind: NVFP4, Group: 16}
	case d == "fp4", d == "" && v4Arch(c.Arch()):
		// DeepSeek-V4's experts are fp4 unless the checkpoint says otherwise
		// (SGLANG_DSV4_FP4_EXPERTS).
		out.MoE = Scheme{Kind: MXFP4Fp8, Group: 32, Rows: q.Rows, Cols: q.Cols}
	}
	return out
}

func gptq(s model.Section) *Quant {
	q := Scheme{Kind: Int4, Group: groupSize(s.IntOr("group_size", -1)), Bits: s.IntOr("bits", 4), ActOrder: isTrue(s, "desc_act"), GPTQ: true}
	if v, ok := s.Bool("sym"); ok && !v {
		q.Zeros = true
	}
	return &Quant{Method: "gptq_marlin", Linear: q, MoE: q, ignore: newMatcher(byPath, s.Strs("modules_to_not_convert")), Heads: isTrue(s, "lm_head")}
}

func awq(s model.Section) *Quant {
	q := Scheme{Kind: Int4, Group: groupSize(s.IntOr("group_size", -1)), Bits: s.IntOr("bits", s.IntOr("w_bit", 4)), Zeros: true, AWQ: true}
	return &Quant{Method: "awq_marlin", Linear: q, MoE: q, ignore: newMatcher(byPath, s.Strs("modules_to_not_convert"))}
}

func isTrue(s model.Section, key string) bool { v, _ := s.Bool(key); return v }

func groupSize(n int64) int64 {
	if n <= 0 || n > maxSize {
		return -1
	}
	return n
}

// compressed reads a compressed-tensors section: the first group that targets
// every Linear decides the projections and, through their names, the experts.
func compressed(s model.Section) (*Quant, error) {
	q := &Quant{Method: "compressed-tensors", ignore: newMatcher(byTarget, s.Strs("ignore"))}
	groups := s.Sub("config_groups")
	var found bool
	for _, k := range sortedKeys(groups) {
		g := groups.Sub(k)
		targets := g.Strs("targets")
		w := g.Sub("weights")
		if w == nil || !strings.Contains(strings.Join(targets, " "), "Linear") {
			continue
		}
		sch, err := compressedScheme(cmp.Or(g.Str("format"), s.Str("format")), w, g.Sub("input_activations"))
		if err != nil {
			return nil, err
		}
		q.Linear, q.MoE, found = sch, sch, true
		break
	}
	if !found {
		return nil, &UnknownError{"compressed-tensors groups", strings.Join(sortedKeys(groups), ", ")}
	}
	return q, nil
}

func compressedScheme(format string, w, act model.Section) (Scheme, error) {
	bits, typ, strategy := w.IntOr("num_bits", 0), w.Str("type"), w.Str("strategy")
	sym, ok := w.Bool("symmetric")
	switch {
	case typ == "int" && act == nil && (bits == 4 || bits == 8):
		sch := Scheme{Kind: Int4, Bits: bits, Group: groupSize(w.IntOr("group_size", -1)), Zeros: ok && !sym, ActOrder: w.Str("actorder") == "group", Packed: true}
		if strategy == "channel" {
			sch.Group = -1
		}
		return sch, nil
	case typ == "float" && bits == 8 && strategy == "block":
		if b := w.Ints("block_structure"); len(b) == 2 && b[0] > 0 && b[1] > 0 {
			return Scheme{Kind: FP8Block, Rows: b[0], Cols: b[1]}, nil
		}
	case typ == "float" && bits == 8:
		kind := FP8Tensor
		if strategy == "channel" {
			kind = FP8Channel
		}
		dyn, _ := act.Bool("dynamic")
		return Scheme{Kind: kind, Static: act != nil && !dyn}, nil
	case format == "mxfp4-pack-quantized":
		return Scheme{Kind: MXFP4, Group: 32}, nil
	case typ == "float" && bits == 4:
		return Scheme{Kind: NVFP4, Group: 16}, nil
	}
	return Scheme{}, &UnknownError{"compressed-tensors scheme", strings.TrimSpace(format + " " + typ)}
}

// algoScheme maps ModelOpt's names.
func algoScheme(algo string) (Scheme, bool) {
	switch algo {
	case "FP8":
		return Scheme{Kind: FP8Tensor, Static: true, ModelOpt: true}, true
	case "NVFP4":
		return Scheme{Kind: NVFP4, Group: 16}, true
	case "W4A16_NVFP4":
		return Scheme{Kind: NVFP4, Group: 16, WeightOnly: true}, true
	case "MXFP8":
		return Scheme{Kind: MXFP8, Rows: 1, Cols: 32}, true
	}
	return Scheme{}, false
}

func modelOpt(c *model.Config, s model.Section, algo string) (*Quant, error) {
	list := s.Strs("ignore")
	if list == nil {
		list = s.Strs("exclude_modules")
	}
	if list == nil {
		list = c.Quant.Sub("quantization").Strs("exclude_modules")
	}
	q := &Quant{Heads: true, ignore: newMatcher(byGlob, list), KV: s.Has("kv_cache_quant_algo") || s.Has("kv_cache_scheme")}
	if algo == "MIXED_PRECISION" {
		q.Method, q.Linear, q.MoE = "modelopt_mixed", Scheme{Kind: Never}, Scheme{Kind: Never}
		q.layers = mixed(s.Sub("quantized_layers"))
		return q, nil
	}
	sch, ok := algoScheme(algo)
	if !ok {
		return nil, &UnknownError{"ModelOpt algorithm", algo}
	}
	q.Method = "modelopt_fp8"
	if sch.Kind == NVFP4 {
		q.Method = "modelopt_fp4"
		if g, ok := s.Int("group_size"); ok && g > 0 && g <= 1<<16 {
			sch.Group = g
		}
	}
	q.Linear, q.MoE = sch, sch
	return q, nil
}

// mixed reads quantized_layers. Experts are listed one by one in some
// checkpoints: they count once, under the name of their layer's experts.
func mixed(s model.Section) map[string]Scheme {
	out := make(map[string]Scheme, min(len(s), 4096))
	for k, v := range s {
		if i := strings.Index(k, ".experts."); i >= 0 {
			k = k[:i+len(".experts")]
		}
		k = canonical(k)
		if _, seen := out[k]; seen {
			continue
		}
		m, _ := v.(map[string]any)
		if sch, ok := algoScheme(strings.ToUpper(model.Section(m).Str("quant_algo"))); ok {
			out[k] = sch
		}
	}
	return out
}

// Of returns how a module is stored.
func (q *Quant) Of(m *Module) Scheme {
	never := Scheme{Kind: Never}
	if q == nil || m.Scheme.Kind == Never || m.Kind == Param || m.Kind == Absorb || m.Kind == Rotary {
		return never
	}
	if m.Kind == Vocab && (!q.Heads || m.Group != LMHead) {
		return never
	}
	if q.ignore.skips(m.Name, m.Kind) {
		return never
	}
	if q.layers != nil {
		return q.mixedOf(m)
	}
	if m.Kind == MoE {
		return q.MoE
	}
	return q.Linear
}

func (q *Quant) mixedOf(m *Module) Scheme {
	name := canonical(m.Name.String())
	if s, ok := q.layers[name]; ok {
		return s
	}
	for _, n := range shards(name) {
		if s, ok := q.layers[n]; ok {
			return s
		}
	}
	return Scheme{Kind: Never}
}

// Keeps reports whether the checkpoint leaves modules of that name in the
// model's own type, in every layer or some.
func (q *Quant) Keeps(leaf string) bool {
	if q == nil || q.ignore == nil {
		return false
	}
	if q.ignore.any(-1, leaf) {
		return true
	}
	for _, list := range q.ignore.numbered {
		for _, p := range list {
			if _, rest, ok := strings.Cut(p.text, "layers."); ok {
				if _, tail, ok := strings.Cut(rest, "."); ok && (wild(tail, leaf) || pathMatch(tail, leaf)) {
					return true
				}
			}
		}
	}
	return false
}

func v4Arch(arch string) bool { return strings.HasPrefix(arch, "DeepseekV4") }
