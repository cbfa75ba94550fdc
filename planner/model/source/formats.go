package source

import (
	"path"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
)

// pattern is one kind of weight file.
type pattern struct {
	glob   string
	format checkpoint.Format
	index  string // file that names those which count, "" for none
}

const consolidatedIndex = "consolidated.safetensors.index.json"

var (
	safe         = pattern{"*.safetensors", checkpoint.Safetensors, safetensors.IndexName}
	consolidated = pattern{"consolidated*.safetensors", checkpoint.Safetensors, consolidatedIndex}
	bin          = pattern{"*.bin", checkpoint.Bin, ""}
	pt           = pattern{"*.pt", checkpoint.PT, ""}
	gguf         = pattern{"*.gguf", checkpoint.GGUF, ""}
)

// patterns follows DefaultModelLoader._prepare_weights: the first kind that
// any file has is loaded. Formats that are not here load as auto does.
var patterns = map[string][]pattern{
	"safetensors": {safe}, "fastsafetensors": {safe}, "instanttensor": {safe}, "runai_streamer": {safe},
	"mistral": {consolidated},
	"pt":      {pt}, "npcache": {bin}, "gguf": {gguf},
	"auto": {safe, bin, pt, gguf},
}

// notWeights are files of a training run beside the weights
// (filter_files_not_needed_for_inference).
var notWeights = []string{"training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scaler.pt"}

// choose returns the kind of weight files that a format loads, and their names.
func choose(names []string, format string) (pattern, []string) {
	kinds, ok := patterns[format]
	if !ok {
		kinds = patterns["auto"]
	}
	for _, k := range kinds {
		var found []string
		for _, n := range names {
			if match, _ := path.Match(k.glob, n); match && !slices.ContainsFunc(notWeights, func(w string) bool { return strings.HasSuffix(n, w) }) {
				found = append(found, n)
			}
		}
		if len(found) > 0 {
			return k, unconsolidated(found)
		}
	}
	return kinds[0], nil
}

// unconsolidated drops a second copy of the weights in Mistral's own layout,
// which SGLang leaves out too.
func unconsolidated(found []string) []string {
	if len(found) == 2 && slices.Contains(found, "consolidated.safetensors") && slices.Contains(found, "model.safetensors") {
		return []string{"model.safetensors"}
	}
	return found
}
