package loading

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/model/weights"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

func filesOf(t *testing.T, tensors []bigcheckpoint.Tensor) *checkpoint.Checkpoint {
	head, data := bigcheckpoint.Header(tensors)
	var r safetensors.Reader
	c := &checkpoint.Checkpoint{Format: checkpoint.Safetensors, Files: 1, Tally: &checkpoint.Tally{}}
	_, err := r.Read("x", bytes.NewReader(head), int64(len(head))+data, c.Tally.Add)
	require.NoError(t, err)
	return c
}

func estimateFiles(t *testing.T, cfg *model.Config, tp int64, c *checkpoint.Checkpoint) (*weights.Result, []finding.Code) {
	a := args.New()
	a.Set("tp_size", tp, args.Origin{Kind: args.FromFlag})
	res, fs := Estimate(release.MustParse("0.5.17"), a, cfg, machine.Card{Name: "NVIDIA H200", TotalMiB: 143771, Major: 9}, Options{Files: c})
	require.NotNil(t, res, fs)
	var codes []finding.Code
	for _, f := range fs {
		codes = append(codes, f.Code)
	}
	return res, codes
}

func config(t *testing.T, id string) *model.Config {
	cfg, err := catalogue.Load(id)
	require.NoError(t, err)
	return cfg
}

func TestFilesThatAgree(t *testing.T) {
	for id, tensors := range map[string][]bigcheckpoint.Tensor{"moonshotai/Kimi-K2.5": bigcheckpoint.Kimi(61, 384), "Qwen/Qwen3-0.6B": bigcheckpoint.Dense()} {
		cfg := config(t, id)
		alone, codes := estimateFiles(t, cfg, 8, nil)
		require.Empty(t, codes)
		with, codes := estimateFiles(t, cfg, 8, filesOf(t, tensors))
		require.Empty(t, codes, id)
		require.Equal(t, alone.Resident.Value, with.Resident.Value)
		require.Equal(t, alone.Load, with.Load, "files say nothing about the allocator")
		require.Less(t, with.Resident.High-with.Resident.Low, alone.Resident.High-alone.Resident.Low)
	}
}

func TestFilesStoredWider(t *testing.T) {
	cfg := config(t, "Qwen/Qwen3-0.6B")
	alone, _ := estimateFiles(t, cfg, 1, nil)
	with, codes := estimateFiles(t, cfg, 1, filesOf(t, bigcheckpoint.As(bigcheckpoint.Dense(), "F32", 32)))
	require.Equal(t, []finding.Code{codeWider}, codes)
	require.Equal(t, alone.Resident.Value, with.Resident.Value)
}

func TestFilesThatDiffer(t *testing.T) {
	cfg := config(t, "Qwen/Qwen3-0.6B")
	alone, _ := estimateFiles(t, cfg, 1, nil)
	with, codes := estimateFiles(t, cfg, 1, filesOf(t, bigcheckpoint.As(bigcheckpoint.Dense(), "F8_E4M3", 8)))
	require.Equal(t, []finding.Code{codeDiffers}, codes)
	require.True(t, with.Resident.Holds(alone.Resident.Value), "what SGLang builds of the config stays possible")
	require.InDelta(t, 0.5, float64(with.Resident.Value)/float64(alone.Resident.Value), 0.01)
}

// TestUnknownClassByNames counts a known model under a class that nobody
// knows: what the names say lies near what the class says.
func TestUnknownClassByNames(t *testing.T) {
	for id, tensors := range map[string][]bigcheckpoint.Tensor{"moonshotai/Kimi-K2.5": bigcheckpoint.Kimi(61, 384), "Qwen/Qwen3-0.6B": bigcheckpoint.Dense()} {
		known := config(t, id)
		for _, tp := range []int64{1, 2, 8} {
			want, _ := estimateFiles(t, known, tp, nil)
			unknown := &model.Config{Top: model.Section{}}
			for k, v := range known.Top {
				unknown.Top[k] = v
			}
			unknown.Top["architectures"] = []any{"NobodysForCausalLM"}
			got, codes := estimateFiles(t, unknown, tp, filesOf(t, tensors))
			require.Equal(t, []finding.Code{codeByNames}, codes)
			require.Equal(t, "NobodysForCausalLM", got.Architecture)
			t.Logf("%s TP %d: %v by names, %v by class", id, tp, got.Resident.Value, want.Resident.Value)
			require.True(t, got.Resident.Holds(want.Resident.Value), "%s TP %d: %v by names, %v by class", id, tp, got.Resident, want.Resident)
		}
	}
}

func TestOnlineQuantisationIsNotGuessed(t *testing.T) {
	a := args.New()
	a.Set("quantization", "nobodys", args.Origin{Kind: args.FromFlag})
	res, fs := Estimate(release.MustParse("0.5.17"), a, config(t, "Qwen/Qwen3-0.6B"), machine.Card{Major: 9}, Options{Files: filesOf(t, bigcheckpoint.Dense())})
	require.Nil(t, res)
	require.Equal(t, codeUnknown, fs[0].Code)
}

func TestCheckFiles(t *testing.T) {
	bad := &safetensors.Error{File: "x", Err: safetensors.ErrPointer}
	odd := &safetensors.Error{File: "x", Field: "dtype", Err: safetensors.ErrDType}
	many := slices.Repeat([]string{"a"}, 9)
	type said struct {
		code finding.Code
		sev  finding.Severity
	}
	for name, tc := range map[string]struct {
		rel  string
		env  map[string]string
		c    *checkpoint.Checkpoint
		want []said
	}{
		"none":               {"0.5.23", nil, nil, nil},
		"whole":              {"0.5.23", nil, &checkpoint.Checkpoint{Files: 2, Local: true}, nil},
		"missing":            {"0.5.23", nil, &checkpoint.Checkpoint{Files: 1, Missing: many, Local: true}, []said{{codeIncomplete, finding.Error}}},
		"missing, older":     {"0.5.9", nil, &checkpoint.Checkpoint{Files: 1, Missing: many, Local: true}, []said{{codeIncomplete, finding.Warning}}},
		"missing, elsewhere": {"0.5.23", nil, &checkpoint.Checkpoint{Files: 1, Missing: many}, []said{{codeIncomplete, finding.Warning}}},
		"missing in cache":   {"0.5.23", nil, &checkpoint.Checkpoint{Files: 1, Missing: many, Fetchable: true, Local: true}, []said{{codeIncomplete, finding.Info}}},
		"offline":            {"0.5.23", map[string]string{"HF_HUB_OFFLINE": "1"}, &checkpoint.Checkpoint{Files: 1, Missing: many, Fetchable: true, Local: true}, []said{{codeIncomplete, finding.Error}}},
		"pointer":            {"0.5.9", nil, &checkpoint.Checkpoint{Files: 1, Problems: []error{bad}, Local: true}, []said{{codeUnreadable, finding.Error}}},
		"pointer, elsewhere": {"0.5.9", nil, &checkpoint.Checkpoint{Files: 1, Problems: []error{bad}}, []said{{codeUnreadable, finding.Warning}}},
		"unknown type":       {"0.5.9", nil, &checkpoint.Checkpoint{Files: 1, Problems: []error{odd, errors.New("x")}, Local: true}, []said{{codeUnreadable, finding.Warning}}},
		"gguf":               {"0.5.9", nil, &checkpoint.Checkpoint{Files: 1, Format: checkpoint.GGUF, Local: true}, []said{{codeGGUF, finding.Info}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []said
			for _, f := range CheckFiles(release.MustParse(tc.rel), tc.env, tc.c) {
				require.NotEmpty(t, f.Detail)
				got = append(got, said{f.Code, f.Severity})
			}
			require.Equal(t, tc.want, got)
		})
	}
}
