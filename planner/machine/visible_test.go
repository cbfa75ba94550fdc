package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVisible(t *testing.T) {
	card := func(i int, name, cc, uuid string) GPU {
		return GPU{Index: i, Name: name, ComputeCapability: cc, UUID: uuid}
	}
	four := []GPU{
		card(0, "NVIDIA H200", "9.0", "GPU-aa00"), card(1, "NVIDIA H200", "9.0", "GPU-aa11"),
		card(2, "NVIDIA H200", "9.0", "GPU-bb22"), card(3, "NVIDIA H200", "9.0", "GPU-bb33"),
	}
	mixed := []GPU{card(0, "Tesla T4", "7.5", "GPU-t4"), card(1, "NVIDIA L4", "8.9", "GPU-l4"), card(2, "NVIDIA H200", "9.0", "GPU-h2")}
	mig := []GPU{
		card(0, "NVIDIA H100 80GB HBM3", "9.0", "GPU-c0"),
		{Index: 0, Name: "1g.10gb", UUID: "MIG-c0-1", MIG: true, Parent: "GPU-c0"},
		{Index: 0, Name: "1g.10gb", UUID: "MIG-c0-2", MIG: true, Parent: "GPU-c0"},
	}
	bad := func(entry, why string) error { return &VisibleError{entry, why} }
	for _, c := range []struct {
		name    string
		gpus    []GPU
		visible string // "unset" for a variable that is not there
		order   string
		want    []string // UUIDs
		err     error
	}{
		{"not set", four, "unset", "", []string{"GPU-aa00", "GPU-aa11", "GPU-bb22", "GPU-bb33"}, nil},
		{"empty hides all", four, "", "", nil, nil},
		{"blank hides all", four, "  ", "", nil, nil},
		{"indices in their order", four, "2,0", "", []string{"GPU-bb22", "GPU-aa00"}, nil},
		{"blanks", four, " 1 , 3 ", "", []string{"GPU-aa11", "GPU-bb33"}, nil},
		{"identifiers and a unique prefix", four, "GPU-bb33,GPU-aa0", "", []string{"GPU-bb33", "GPU-aa00"}, nil},
		{"minus one ends the list", four, "1,-1,2", "", []string{"GPU-aa11"}, nil},
		{"Slurm's word for none", four, "NoDevFiles", "", nil, nil},
		{"an index too large", four, "0,4,1", "", []string{"GPU-aa00"}, bad("4", "there is no such index among 4 cards")},
		{"a prefix of several", four, "0,GPU-bb", "", []string{"GPU-aa00"}, bad("GPU-bb", "more than one card begins like this")},
		{"an identifier of no card", four, "GPU-zz", "", nil, bad("GPU-zz", "no card has this identifier")},
		{"a word", four, "all", "", nil, bad("all", "it is neither an index nor a GPU- or MIG- identifier")},
		{"twice", four, "0,GPU-aa00", "", nil, bad("GPU-aa00", "this card is named twice; CUDA then sees none")},
		{"fastest first on a mixed machine", mixed, "unset", "", []string{"GPU-h2", "GPU-t4", "GPU-l4"}, nil},
		{"index 0 is the fastest", mixed, "0", "FASTEST_FIRST", []string{"GPU-h2"}, nil},
		{"PCI order", mixed, "0", "PCI_BUS_ID", []string{"GPU-t4"}, nil},
		{"a partitioned card shows one instance", mig, "unset", "", []string{"MIG-c0-1"}, nil},
		{"an instance by name", mig, "MIG-c0-2", "", []string{"MIG-c0-2"}, nil},
		{"a partitioned card by index", mig, "0", "", []string{"MIG-c0-1"}, nil},
		{"no card at all", nil, "0", "", nil, bad("0", "there is no such index among 0 cards")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list *string
			if c.visible != "unset" {
				list = &c.visible
			}
			got, err := Visible(c.gpus, list, c.order)
			var uuids []string
			for _, g := range got {
				uuids = append(uuids, g.UUID)
			}
			if diff := cmp.Diff(c.want, uuids); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
