package machine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/units"
)

// TestCatalogueIsSound: every name leads to its own card and to no other, and
// every figure has a source.
func TestCatalogueIsSound(t *testing.T) {
	if len(cards) < 25 {
		t.Errorf("%d cards, want at least 25", len(cards))
	}
	owner := map[string]string{}
	for _, c := range cards {
		if len(c.Aliases) == 0 || c.Seen == "" || c.TotalMiB < 8<<10 || c.SM() < 70 || c.SM() > 130 {
			t.Errorf("incomplete: %+v", c)
		}
		if (c.LossGiB > 0 || c.GroupGiB > 0) != (c.LossSeen != "") {
			t.Errorf("%s: a loss and where it was seen go together", c.Name)
		}
		for n := range c.names() {
			if other, taken := owner[foldName(n)]; taken && other != c.Name {
				t.Errorf("%q names both %s and %s", n, other, c.Name)
			}
			owner[foldName(n)] = c.Name
			if got, err := Lookup(n); err != nil || got.Name != c.Name {
				t.Errorf("Lookup(%q) = %s, %v; want %s", n, got.Name, err, c.Name)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"RTX-PRO-6000-Blackwell", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
		{"rtx pro 6000 blackwell", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
		{"NVIDIA_RTX_PRO_6000_Blackwell_Workstation_Edition", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
		{"h100", "NVIDIA H100 80GB HBM3"},
		{"NVIDIA H200", "NVIDIA H200"},
		{"a100-80gb", "NVIDIA A100-SXM4-80GB"},
		{"GeForce RTX 4090", "NVIDIA GeForce RTX 4090"},
		{"4090", "NVIDIA GeForce RTX 4090"},
		{"Tesla T4", "Tesla T4"},
	} {
		got, err := Lookup(c.name)
		if err != nil || got.Name != c.want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", c.name, got.Name, err, c.want)
		}
	}
}

func TestLookupNearest(t *testing.T) {
	for _, c := range []struct{ name, nearest string }{
		{"H201", "H200"},
		{"RTX-PRO-600-Blackwell", "RTX-PRO-6000-Blackwell"},
		{"RTX PRO 6000 Blackwel", "RTX-PRO-6000-Blackwell"},
		{"B20", "B200"},
		{"Voodoo2", ""},
		{"", ""},
	} {
		_, err := Lookup(c.name)
		var e *UnknownCardError
		if !errors.As(err, &e) {
			t.Fatalf("Lookup(%q): %v", c.name, err)
		}
		if diff := cmp.Diff(&UnknownCardError{c.name, c.nearest}, e); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestPreLoadLoss holds the estimate against free memory at the begin of
// loading in startup logs.
func TestPreLoadLoss(t *testing.T) {
	for _, c := range []struct {
		card  string
		ranks int
		begin float64 // GiB
	}{
		{"H200", 1, 139.13}, {"H200", 1, 139.10}, {"H200", 2, 138.21}, {"H200", 16, 138.09},
		{"H100", 1, 78.43}, {"H100", 1, 78.48}, {"H100", 1, 78.81},
		{"B200", 1, 177.57}, {"RTX-PRO-6000-Blackwell", 8, 94.04}, {"H20", 8, 93.56},
		{"RTX-3090", 1, 22.76}, {"RTX-5090", 1, 30.68}, {"L40S", 1, 44.02},
		{"GB10", 1, 115.84}, {"GB10", 1, 111.97}, {"GB10", 1, 113.93},
	} {
		k, err := Lookup(c.card)
		if err != nil {
			t.Fatal(err)
		}
		got := PreLoadLoss(k.Card, c.ranks)
		lost := units.Bytes(k.TotalMiB)*units.MiB - units.FromGiB(c.begin)
		if !got.Holds(lost) {
			t.Errorf("%s, %d ranks: lost %v, band %v to %v", c.card, c.ranks, lost, got.Low, got.High)
		}
	}
	if got := PreLoadLoss(Card{}, 1); got.Low >= got.Value || got.Value >= got.High {
		t.Errorf("an unknown card has no band: %+v", got)
	}
}
