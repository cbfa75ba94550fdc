package machine

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

func sized(mib int64) *units.Bytes { b := units.Bytes(mib) * units.MiB; return &b }

func TestParseGPUs(t *testing.T) {
	said := func(code finding.Code, sev finding.Severity, mib, cards int64, detail string) []finding.Finding {
		f := finding.New(code, sev, "--gpus", detail)
		f.Figures = map[string]int64{"total_mib": mib, "cards": cards}
		return []finding.Finding{f}
	}
	h200 := GPU{Name: "NVIDIA H200", ComputeCapability: "9.0", TotalBytes: sized(143771)}
	for _, c := range []struct {
		spec string
		want []GPU
		said []finding.Finding
	}{
		{spec: "1xH200", want: []GPU{h200}},
		{spec: "h200", want: []GPU{h200}},
		{spec: " 2 x NVIDIA H200 ", want: []GPU{h200, at(h200, 1)}},
		{spec: "1*L4,1×T4", want: []GPU{
			{Name: "NVIDIA L4", ComputeCapability: "8.9", TotalBytes: sized(23034)},
			{Index: 1, Name: "Tesla T4", ComputeCapability: "7.5", TotalBytes: sized(15360)},
		}},
		{
			spec: "183359MiB", want: []GPU{{Name: "NVIDIA B200", ComputeCapability: "10.0", TotalBytes: sized(183359)}},
			said: said(CodeCardFromTotal, finding.Info, 183359, 1, "183359 MiB is the total of NVIDIA B200 (compute capability 10.0)"),
		},
		{
			spec: "1x97887MiB", want: []GPU{{ComputeCapability: "12.0", TotalBytes: sized(97887)}},
			said: said(CodeCardFromTotal, finding.Info, 97887, 3, "97887 MiB is the total of RTX-PRO-6000-Blackwell, RTX-PRO-6000-Blackwell-Workstation, RTX-PRO-6000-Blackwell-Max-Q; all have compute capability 12.0, which is assumed"),
		},
		{
			spec: "1x24564MiB", want: []GPU{{ComputeCapability: "8.9", TotalBytes: sized(24564)}},
			said: said(CodeCardUnknown, finding.Warning, 24564, 3, "24564 MiB is the total of cards of different compute capability: RTX-4090, RTX-A5000, RTX-3090-Ti; 8.9, the newest, is assumed"),
		},
		{
			spec: "1x99999MiB", want: []GPU{{TotalBytes: sized(99999)}},
			said: said(CodeCardUnknown, finding.Warning, 99999, 0, "no card of the catalogue prints 99999 MiB"),
		},
	} {
		t.Run(c.spec, func(t *testing.T) {
			got, said, err := ParseGPUs(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func at(g GPU, i int) GPU { g.Index = i; return g }

func TestParseGPUsErrors(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", `--gpus "": no card is named; write for example 8xH200 or 8x97887MiB`},
		{"8x", `--gpus "8x": unknown GPU "": write what nvidia-smi prints as the total, for example 8x97887MiB`},
		{"0xH200", `--gpus "0xH200": "0" is not a number of cards`},
		{"99999999999999999999xH200", `--gpus "99999999999999999999xH200": "99999999999999999999" is not a number of cards`},
		{"2000xH200", `--gpus "2000xH200": more than 1024 cards`},
		{"8xH201", `--gpus "8xH201": unknown GPU "H201": the nearest known name is H200; or write what nvidia-smi prints as the total, for example 8x97887MiB`},
		{"8x97887", `--gpus "8x97887": a card of 95.6 KiB is too small: write the unit, for example 97887MiB`},
		{"8x-5MiB", `--gpus "8x-5MiB": unknown GPU "-5MiB": write what nvidia-smi prints as the total, for example 8x97887MiB`},
	} {
		_, _, err := ParseGPUs(c.spec)
		var e *SpecError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v is no *SpecError", c.spec, err)
			continue
		}
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.spec, diff)
		}
	}
}

func FuzzParseGPUs(f *testing.F) {
	for _, s := range []string{"8xRTX-PRO-6000-Blackwell", "1x97887MiB", "4xH200,4xH100", "8x", "x", "1e9xH200", "8x1e300GiB", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		gpus, said, err := ParseGPUs(spec)
		if err != nil {
			var e *SpecError
			if !errors.As(err, &e) || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		if len(gpus) == 0 || len(gpus) > maxGPUs {
			t.Fatalf("%d cards", len(gpus))
		}
		for i, g := range gpus {
			if g.Index != i || g.TotalBytes == nil || *g.TotalBytes < units.GiB {
				t.Fatalf("card %d: %+v", i, g)
			}
			if g.ComputeCapability == "" && len(said) == 0 {
				t.Fatal("an unknown class was not said")
			}
		}
	})
}
