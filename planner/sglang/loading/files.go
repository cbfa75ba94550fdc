package loading

import (
	"fmt"
	"math"
	"strings"

	"github.com/sglplan/sglplan/planner/figure"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/units"
)

// What a checkpoint's files say against what its config describes. SGLang
// builds a model's modules as the config says and fills them from the files,
// so that the config decides what a rank holds; the files confirm it, or tell
// that one of the two is not of this model.

var (
	codeDiffers = finding.Define("checkpoint-differs-from-config", "the weight files are not what config.json describes",
		"The tensors of the files, by the lengths in their headers, were added up for each part of the model and held against the module shapes that SGLang's class makes of config.json. They differ, which happens when files and config are of different models, when a quantisation is not written into the config, or when the class loads a part otherwise than is known here.",
		"Check that config.json belongs to the files. The estimate spans both; give the measured figure with --gpu-weights, or calibrate on a log with --calibrate.")
	codeWider = finding.Define("checkpoint-stored-wider", "the weights are stored in a wider type than they are held in",
		"The files hold 32-bit floats and config.json asks for a 16-bit type, to which SGLang converts while loading: disk and page cache see the larger size, the GPU the smaller.",
		"Nothing needs to be done; a checkpoint in the 16-bit type loads in half the time.")
	codeByNames = finding.Define("weights-by-tensor-names", "the weights are estimated from the names of the tensors",
		"The module shapes of this class or the storage of this quantisation are not known here, but the files are, so each tensor was given to a rank by the rules that SGLang's classes have in common: projections divided by TP or attention TP, experts by EP, norms and routers in full. What a loader repacks is not in it.",
		"Give the measured figure with --gpu-weights, or calibrate on a log with --calibrate.")
)

// The tolerances between files and config. A part differs when it is off by
// more than partTolerance of itself and totalTolerance of the model: tables
// that no class keeps (the column order of GPTQ's experts) and towers that are
// known roughly stay below. Files confirm a config when every part is within
// closeTolerance: scales and padding to a multiple of 64 rows.
const (
	partTolerance  = 0.02
	totalTolerance = 0.005
	closeTolerance = 0.005
)

// withFiles holds an estimate against the files.
func withFiles(res *weights.Result, cfg *model.Config, c *checkpoint.Checkpoint) []finding.Finding {
	if c == nil || c.Tally == nil {
		return nil
	}
	groups, err := weights.Stored(cfg, cfg.Arch())
	if err != nil {
		return nil // the estimate stands on its own
	}
	want := checkpoint.Described(groups)
	stored, narrowed := c.Tally.Stored(layersOf(cfg, c.Tally))
	total := want.Total()
	agrees, wider := true, false
	var differ []string
	var delta int64
	for p, w := range want {
		got := stored[p]
		if narrowed[p] < got && off(got, w) > partTolerance && off(narrowed[p], w) <= partTolerance {
			got, wider = narrowed[p], true
		}
		switch {
		case w == 0: // no class of SGLang's loads it, or not in this launch
		case off(got, w) > partTolerance && off(got-w+total, total) > totalTolerance:
			delta += got - w
			differ = append(differ, fmt.Sprintf("%s: %v in the files, %v by the config", checkpoint.Part(p), units.Bytes(got), units.Bytes(w)))
		case off(got, w) > closeTolerance:
			agrees = false
		}
	}
	switch {
	case len(differ) > 0:
		return []finding.Finding{correct(res, delta, total, differ)}
	case agrees:
		confirm(res)
	}
	if wider {
		return []finding.Finding{finding.New(codeWider, finding.Info, "", fmt.Sprintf("The files hold %v.", units.Bytes(c.Tally.Bytes)))}
	}
	return nil
}

// off is how far a is from b, as a share of b.
func off(a, b int64) float64 { return math.Abs(float64(a)/float64(max(b, 1)) - 1) }

// confirm narrows the bands of what the files decide. What the allocator
// makes of it they do not.
func confirm(res *weights.Result) {
	for _, f := range []*figure.Bytes{&res.Resident, &res.Constructed, &res.AfterSharing} {
		*f = figure.Percent(f.Value, confirmedPercent, confirmedPercent)
	}
}

// confirmedPercent is the band of the resident tensors of a model whose files
// agree with its config: all vectors made from SGLang's own classes lie within
// half of it, 97 % within a twentieth.
const confirmedPercent = 0.02

// layersOf returns the number of decoder layers; layers of the files above it
// are prediction layers.
func layersOf(cfg *model.Config, t *checkpoint.Tally) int {
	if n, ok := cfg.Text().FirstInt("num_hidden_layers", "n_layer", "num_layers", "n_layers"); ok && n > 0 && n <= int64(t.Layers()) {
		return int(n)
	}
	return t.Layers()
}

// byNames estimates what loading takes from the files alone.
func (l *loader) byNames(opt Options, cause error) (*weights.Result, []finding.Finding) {
	t := opt.Files.Tally
	heads, _ := l.cfg.Text().FirstInt("num_key_value_heads", "n_head_kv", "num_attention_heads")
	tied, _ := l.cfg.Text().Bool("tie_word_embeddings")
	lay, layers := l.layout(opt), layersOf(l.cfg, t)
	s := t.Share(lay, layers, int(heads), tied)
	made := positions(l.cfg) + absorbed(l.cfg, int64(layers), lay)
	f := figure.Band(units.Bytes(s.High+made), units.Bytes(float64(s.Low)*0.98), units.Bytes(float64(s.High+made)*1.05), figure.Estimated)
	res := &weights.Result{
		Architecture: l.arch, Resident: f, Load: f, Peak: f, Constructed: f, AfterSharing: f,
		Groups: append(s.Groups, weights.GroupBytes{Name: "made while loading", Bytes: made, Sharding: "mixed"}), Scheme: strings.ToLower(weights.QuantSection(l.cfg).Str("quant_method")),
	}
	return res, []finding.Finding{finding.New(codeByNames, finding.Info, "", fmt.Sprintf("%v. By the names of the %d tensors a rank loads %v to %v.", cause, t.Tensors, f.Low, f.High))}
}

// positions is the table of cosines and sines that nearly every class makes:
// 32-bit floats, a row per position of the config.
func positions(cfg *model.Config) int64 {
	c := cfg.Text()
	dim, ok := c.FirstInt("qk_rope_head_dim", "rotary_dim", "head_dim")
	if heads := c.IntOr("num_attention_heads", 0); !ok && heads > 0 {
		dim = c.IntOr("hidden_size", 0) / heads
	}
	return 4 * product(c.IntOr("max_position_embeddings", 0), dim)
}

// absorbed is the copy of kv_b_proj that latent attention keeps, in 16 bits.
func absorbed(cfg *model.Config, layers int64, l weights.Layout) int64 {
	c := cfg.Text()
	width := product(c.IntOr("num_attention_heads", 0)/l.AttnTP, c.IntOr("qk_nope_head_dim", 0)+c.IntOr("v_head_dim", 0))
	return 2 * product(product(width, c.IntOr("kv_lora_rank", 0)), layers/l.PP)
}

// product multiplies sizes of a config; absurd ones count as none.
func product(a, b int64) int64 {
	const most = 1 << 40
	if a <= 0 || b <= 0 || a > most/b {
		return 0
	}
	return a * b
}

// correct moves an estimate by the share that the files have more or less
// than the config says, and widens its bands to hold both.
func correct(res *weights.Result, delta, total int64, differ []string) finding.Finding {
	ratio := float64(delta) / float64(max(total, 1))
	for _, f := range []*figure.Bytes{&res.Resident, &res.Load, &res.Peak, &res.Constructed, &res.AfterSharing} {
		v := f.Value + units.Bytes(float64(f.Value)*ratio)
		*f = figure.Band(v, min(f.Low, v), max(f.High, v), figure.Estimated)
	}
	return finding.New(codeDiffers, finding.Warning, "--model-path", strings.Join(differ, "; ")+".")
}
