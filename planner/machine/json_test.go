package machine

import (
	"bytes"
	"errors"
	oldrand "math/rand"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

func size(v int64) *units.Bytes { b := units.Bytes(v); return &b }

func TestRead(t *testing.T) {
	dropped := func(bytes int64, detail string) finding.Finding {
		f := finding.New(CodeFigureDropped, finding.Warning, "--machine", detail)
		f.Figures = map[string]int64{"bytes": bytes}
		return f
	}
	for _, c := range []struct {
		name, in string
		want     Machine
		said     []finding.Finding
	}{
		{"nothing known", `{}`, Machine{Schema: Schema}, nil},
		{"unknown keys", `{"schema":"sglplan/v1","gpus":[{"index":0,"colour":"green"}],"more":{"a":[1]}}`, Machine{Schema: Schema, GPUs: []GPU{{}}}, nil},
		{"byte order mark", "\xef\xbb\xbf{\"driver\":\"580\"}\n", Machine{Schema: Schema, Driver: "580"}, nil},
		{"null is unknown", `{"gpus":null,"host":{"total_bytes":null}}`, Machine{Schema: Schema, Host: &Host{}}, nil},
		{
			"zero is not unknown", `{"gpus":[{"index":0,"used_bytes":0}],"host":{"available_bytes":0}}`,
			Machine{Schema: Schema, GPUs: []GPU{{UsedBytes: size(0)}}, Host: &Host{AvailableBytes: size(0)}}, nil,
		},
		{
			"nonsense is dropped, the rest stays",
			`{"gpus":[{"index":0,"total_bytes":100,"free_bytes":101,"used_bytes":7,"processes":[{"pid":1,"bytes":-1}]}],"host":{"total_bytes":-5,"shm_bytes":64}}`,
			Machine{Schema: Schema, GPUs: []GPU{{TotalBytes: size(100), UsedBytes: size(7), Processes: []Process{{PID: 1}}}}, Host: &Host{SHMBytes: size(64)}},
			[]finding.Finding{
				dropped(101, "gpus[0].free_bytes is 101 bytes: larger than the total of 100; treated as unknown"),
				dropped(-1, "gpus[0].processes[0].bytes is -1 bytes: negative; treated as unknown"),
				dropped(-5, "host.total_bytes is -5 bytes: negative; treated as unknown"),
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, said, err := Read(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("machine (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", ``, "machine description: not JSON: unexpected end of JSON input"},
		{"broken", `{"gpus":[}`, "machine description: not JSON: invalid character '}' looking for beginning of value at byte 10"},
		{"two values", `{} {}`, "machine description: not JSON: invalid character '{' after top-level value at byte 4"},
		{"text for a size", `{"host":{"total_bytes":"449GB"}}`, "machine description: host.total_bytes cannot be string at byte 30"},
		{"larger than a number can be", `{"host":{"total_bytes":99999999999999999999}}`, "machine description: host.total_bytes cannot be number 99999999999999999999 at byte 43"},
		{"another schema", `{"schema":"other/v9"}`, `machine description: schema "other/v9", this version reads "sglplan/v1"`},
		{"too many cards", `{"gpus":[` + strings.Repeat("{},", maxGPUs) + `{}]}`, "machine description: 1025 GPUs, more than 1024"},
		{"too large", strings.Repeat(" ", maxJSON+1), "machine description: larger than 8.0 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Read(strings.NewReader(c.in))
			var e *ReadError
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *ReadError", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadReal reads what `sglplan machine` printed on a server with H200
// cards; identifiers are removed.
func TestReadReal(t *testing.T) {
	text, err := os.ReadFile("testdata/h200.json")
	if err != nil {
		t.Fatal(err)
	}
	m, said, err := Read(bytes.NewReader(text))
	if err != nil || said != nil {
		t.Fatal(err, said)
	}
	if diff := cmp.Diff(Card{"NVIDIA H200", 143771, 9, 0}, m.GPUs[0].Card()); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	for _, g := range m.GPUs {
		if *g.TotalBytes != *g.ReservedBytes+*g.UsedBytes+*g.FreeBytes {
			t.Errorf("total %d is not reserved %d + used %d + free %d", *g.TotalBytes, *g.ReservedBytes, *g.UsedBytes, *g.FreeBytes)
		}
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), b.String()); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

// TestRoundTrip: what is written is read back whole, whatever is known.
func TestRoundTrip(t *testing.T) {
	roundTrip := func(m Machine) bool {
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, said, err := Read(&b)
		if err != nil || said != nil {
			t.Errorf("%v %v", err, said)
			return false
		}
		return cmp.Equal(m, got)
	}
	err := quick.Check(roundTrip, &quick.Config{Values: func(v []reflect.Value, r *oldrand.Rand) {
		v[0] = reflect.ValueOf(anyMachine(rand.New(rand.NewPCG(r.Uint64(), 1))))
	}})
	if err != nil {
		t.Error(err)
	}
}

// anyMachine makes a machine of which some figures are known.
func anyMachine(r *rand.Rand) Machine {
	maybe := func(most int64) *units.Bytes {
		if r.IntN(3) == 0 {
			return nil
		}
		return size(r.Int64N(most + 1))
	}
	m := Machine{Schema: Schema, GPUs: []GPU{}, Driver: "580.95.05"}
	for i := range r.IntN(4) {
		g := GPU{Index: i, Name: "NVIDIA H200", TotalBytes: size(1 << 40), UsedBytes: maybe(1 << 40), FreeBytes: maybe(1 << 40)}
		if r.IntN(2) == 0 {
			node := r.IntN(3)
			g.NUMANode, g.Processes = &node, []Process{{PID: r.IntN(1 << 22), Name: "a<b>&\"c", Bytes: maybe(1 << 40)}}
		}
		m.GPUs = append(m.GPUs, g)
	}
	if r.IntN(4) > 0 {
		m.Host = &Host{
			TotalBytes: maybe(1 << 45), AvailableBytes: maybe(1 << 45), Limit: LimitCgroup, MemlockBytes: maybe(1 << 30),
			Cgroups: []Cgroup{{Path: "/a", Version: 2, File: "memory.max", LimitBytes: 5, UsageBytes: maybe(9), Protected: r.IntN(2) == 0}},
			NUMA:    []NUMANode{{Node: 1, TotalBytes: size(1 << 40), FreeBytes: maybe(1 << 40)}},
		}
	}
	return m
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"sglplan/v1","gpus":[{"index":0,"total_bytes":1,"free_bytes":2}],"host":{"numa":[{"node":0,"free_bytes":-1}]}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, _, err := Read(bytes.NewReader(in))
		if err != nil {
			var e *ReadError
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *ReadError", err)
			}
			return
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, said, err := Read(&b)
		if err != nil || said != nil {
			t.Fatalf("what was read once is not read again: %v %v", err, said)
		}
		if m.GPUs == nil {
			m.GPUs = []GPU{} // written as an empty list
		}
		for _, g := range m.GPUs {
			g.Card()
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
