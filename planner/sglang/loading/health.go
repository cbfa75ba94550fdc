package loading

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

var (
	codeIncomplete = finding.Define("checkpoint-incomplete", "weight files are missing",
		"model.safetensors.index.json names files that are not in the folder. From 0.5.18 on SGLang stops with `references N shard file(s) missing`; before, it loads what is there and the rest of the model is left as it was allocated. From a Hugging Face cache it downloads what is missing first, unless HF_HUB_OFFLINE is set.",
		"Download the checkpoint again, for example with hf download, until nothing is missing.")
	codeUnreadable = finding.Define("checkpoint-unreadable", "weight files are broken",
		"The header of a .safetensors file says where each tensor lies in it. The library that SGLang loads with refuses a file that ends early, whose tensors overlap or leave gaps, or that is a Git LFS pointer of some 130 bytes instead of the file.",
		"Fetch the named files again (git lfs pull, or hf download); compare their sizes with those of the repository.")
	codeGGUF = finding.Define("checkpoint-gguf", "GGUF weights are not counted",
		"GGUF files were recognised. How SGLang unpacks each of their block formats on the GPU is not modelled, so only their size on disk is known.",
		"Give the measured weights with --gpu-weights.")
)

// CheckFiles says what is wrong with the files of a checkpoint.
func CheckFiles(r release.Release, env map[string]string, c *checkpoint.Checkpoint) []finding.Finding {
	if c == nil {
		return nil
	}
	var out []finding.Finding
	if len(c.Missing) > 0 {
		out = append(out, incomplete(r, env, c))
	}
	if len(c.Problems) > 0 {
		out = append(out, unreadable(c))
	}
	if c.Format == checkpoint.GGUF {
		out = append(out, finding.New(codeGGUF, finding.Info, "--model-path", fmt.Sprintf("%d files, %v.", c.Files, c.Bytes)))
	}
	return out
}

func incomplete(r release.Release, env map[string]string, c *checkpoint.Checkpoint) finding.Finding {
	what := fmt.Sprintf("%d of %d files are missing: %s", len(c.Missing), len(c.Missing)+c.Files, few(c.Missing))
	switch {
	case c.Fetchable && !truthy(env["HF_HUB_OFFLINE"]):
		return finding.New(codeIncomplete, finding.Info, "--model-path", what+". SGLang downloads them before it loads.")
	case c.Local && c.Files > 0 && r.AtLeast("0.5.18"):
		return finding.New(codeIncomplete, finding.Error, "--model-path", what+". SGLang "+r.String()+" stops at that.")
	}
	return finding.New(codeIncomplete, finding.Warning, "--model-path", what+".")
}

// refusedByLibrary are the reasons for which the safetensors library does not
// open a file; others may be limits of this reader.
var refusedByLibrary = []error{safetensors.ErrTruncated, safetensors.ErrLength, safetensors.ErrSyntax, safetensors.ErrOffsets, safetensors.ErrOverlap, safetensors.ErrPointer}

func unreadable(c *checkpoint.Checkpoint) finding.Finding {
	sev := finding.Warning
	texts := make([]string, len(c.Problems))
	for i, err := range c.Problems {
		texts[i] = err.Error()
		for _, reason := range refusedByLibrary {
			if c.Local && errors.Is(err, reason) {
				sev = finding.Error
			}
		}
	}
	return finding.New(codeUnreadable, sev, "--model-path", few(texts)+".")
}

// few lists the first of many.
func few(all []string) string {
	const shown = 3
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}
