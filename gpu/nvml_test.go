//go:build cgo

package gpu

import (
	"errors"
	"math"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

func bytes(v int64) *units.Bytes { b := units.Bytes(v); return &b }
func node(n int) *int            { return &n }

func noEnv(string) (string, bool) { return "", false }

func env(pairs map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := pairs[k]; return v, ok }
}

// h200 is a server of two cards with the figures that a real one reported
// while one process had a CUDA context of 526.8 MiB on the first card.
func h200() *dgxa100.Server {
	s := dgxa100.New()
	s.DriverVersion, s.CudaDriverVersion = "580.159.04", 13000
	s.DeviceGetCountFunc = func() (int, nvml.Return) { return 2, nvml.SUCCESS }
	s.SystemGetProcessNameFunc = func(pid int) (string, nvml.Return) {
		if pid == 4242 {
			return "/usr/bin/python3", nvml.SUCCESS
		}
		return "", nvml.ERROR_NOT_FOUND
	}
	for i := range 2 {
		d := s.Devices[i].(*dgxa100.Device)
		d.Name, d.UUID = "NVIDIA H200", []string{"GPU-00000000-aaaa", "GPU-11111111-bbbb"}[i]
		d.CudaComputeCapability = dgxa100.CudaComputeCapability{Major: 9}
		d.MemoryInfo = nvml.Memory{Total: 150754820096, Used: 644939776, Free: 150109880320}
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 150754820096, Reserved: 644939776, Free: 150109880320}, nvml.SUCCESS
		}
		d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
			var p nvml.PciInfo
			copy(p.BusId[:], []string{"00000000:00:06.0", "00000000:00:07.0"}[i])
			return p, nvml.SUCCESS
		}
		quiet(&d.Device)
	}
	first := s.Devices[0].(*dgxa100.Device)
	first.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: 150754820096, Reserved: 644939776, Used: 552402944, Free: 149557477376}, nvml.SUCCESS
	}
	first.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 4242, UsedGpuMemory: 552402944}, {Pid: 17, UsedGpuMemory: math.MaxUint64}}, nvml.SUCCESS
	}
	first.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 17, UsedGpuMemory: 1 << 20}}, nvml.SUCCESS
	}
	return s
}

// quiet gives a mocked card no processes.
func quiet(d *mock.Device) {
	none := func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
	d.GetComputeRunningProcessesFunc, d.GetGraphicsRunningProcessesFunc = none, none
	d.GetMPSComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
}

// first and second are the two cards as they must be read.
func first() machine.GPU {
	return machine.GPU{
		Index: 0, Name: "NVIDIA H200", UUID: "GPU-00000000-aaaa", PCI: "00000000:00:06.0", ComputeCapability: "9.0",
		TotalBytes: bytes(150754820096), ReservedBytes: bytes(644939776), UsedBytes: bytes(552402944), FreeBytes: bytes(149557477376),
		NUMANode:  node(1),
		Processes: []machine.Process{{PID: 4242, Name: "python3", Bytes: bytes(552402944)}, {PID: 17, Bytes: bytes(1 << 20)}},
	}
}

func second() machine.GPU {
	return machine.GPU{
		Index: 1, Name: "NVIDIA H200", UUID: "GPU-11111111-bbbb", PCI: "00000000:00:07.0", ComputeCapability: "9.0",
		TotalBytes: bytes(150754820096), ReservedBytes: bytes(644939776), UsedBytes: bytes(0), FreeBytes: bytes(150109880320),
	}
}

func with(g machine.GPU, edit func(*machine.GPU)) machine.GPU { edit(&g); return g }

func TestRead(t *testing.T) {
	lost := "GPU 1: the GPU is lost; look for Xid messages in `dmesg`; it needs a reset or a reboot (nvmlDeviceGetHandleByIndex: ERROR_GPU_IS_LOST)"
	unsupported := "GPU 1: not reported by this card or driver (nvmlDeviceGetMemoryInfo: ERROR_NOT_SUPPORTED)"
	for _, c := range []struct {
		name  string
		edit  func(*dgxa100.Server)
		env   func(string) (string, bool)
		want  []machine.GPU
		notes []string
		err   error
	}{
		{name: "two cards", want: []machine.GPU{first(), second()}},
		{
			name: "driver without the second memory call: the reserve counts as used",
			edit: func(s *dgxa100.Server) {
				s.LookupSymbolFunc = func(symbol string) error {
					if symbol == "nvmlDeviceGetMemoryInfo_v2" {
						return errors.New("undefined symbol")
					}
					return nil
				}
			},
			want: []machine.GPU{
				with(first(), func(g *machine.GPU) {
					g.ReservedBytes, g.UsedBytes, g.FreeBytes = nil, bytes(644939776), bytes(150109880320)
				}),
				with(second(), func(g *machine.GPU) { g.ReservedBytes, g.UsedBytes = nil, bytes(644939776) }),
			},
		},
		{
			name: "a lost card leaves the other",
			edit: func(s *dgxa100.Server) {
				get := s.DeviceGetHandleByIndexFunc
				s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
					if i == 1 {
						return nil, nvml.ERROR_GPU_IS_LOST
					}
					return get(i)
				}
			},
			want:  []machine.GPU{first(), {Index: 1, Error: lost}},
			notes: []string{lost},
		},
		{
			name: "a card that shares the host's memory reports no sizes",
			edit: func(s *dgxa100.Server) {
				d := s.Devices[1].(*dgxa100.Device)
				d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
				d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
			},
			want: []machine.GPU{first(), with(second(), func(g *machine.GPU) {
				g.TotalBytes, g.ReservedBytes, g.UsedBytes, g.FreeBytes, g.Error = nil, nil, nil, nil, unsupported
			})},
			notes: []string{unsupported},
		},
		{
			name:  "visible by index",
			env:   env(map[string]string{"CUDA_VISIBLE_DEVICES": "1,0"}),
			want:  []machine.GPU{second(), first()},
			notes: []string{`CUDA_VISIBLE_DEVICES="1,0" shows 2 of 2 devices`},
		},
		{
			name:  "visible by a bad entry",
			env:   env(map[string]string{"CUDA_VISIBLE_DEVICES": "1,7"}),
			want:  []machine.GPU{second()},
			notes: []string{`CUDA_VISIBLE_DEVICES="1,7" shows 1 of 2 devices`},
			err:   &machine.VisibleError{Entry: "7", Why: "there is no such index among 2 cards"},
		},
		{
			name: "no library",
			edit: func(s *dgxa100.Server) { s.InitFunc = func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND } },
			err:  &Error{Kind: NoLibrary, Op: "nvmlInit", Index: -1, Text: "ERROR_LIBRARY_NOT_FOUND"},
		},
		{
			name: "no driver",
			edit: func(s *dgxa100.Server) { s.InitFunc = func() nvml.Return { return nvml.ERROR_DRIVER_NOT_LOADED } },
			err:  &Error{Kind: NoDriver, Op: "nvmlInit", Index: -1, Text: "ERROR_DRIVER_NOT_LOADED"},
		},
		{
			name: "no permission",
			edit: func(s *dgxa100.Server) {
				s.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_NO_PERMISSION }
			},
			err: &Error{Kind: NoPermission, Op: "nvmlDeviceGetCount", Index: -1, Text: "ERROR_NO_PERMISSION"},
		},
		{
			name: "an answer without a name here",
			edit: func(s *dgxa100.Server) { s.InitFunc = func() nvml.Return { return nvml.ERROR_UNKNOWN } },
			err:  &Error{Kind: Failed, Op: "nvmlInit", Index: -1, Text: "ERROR_UNKNOWN"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h200()
			if c.edit != nil {
				c.edit(s)
			}
			if c.env == nil {
				c.env = noEnv
			}
			want := machine.Machine{Schema: machine.Schema, GPUs: c.want, Notes: c.notes}
			if _, whole := c.err.(*Error); whole {
				want.GPUs = []machine.GPU{}
			} else {
				want.Driver, want.CUDA = "580.159.04", "13.0"
			}
			got, err := readFrom(s, options{root: "testdata/numa", env: c.env})
			if c.name == "no permission" {
				want.Driver, want.CUDA = "580.159.04", "13.0"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("machine (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMIG: the instances of a partitioned card come behind it, with memory of
// their own, and CUDA shows one of them.
func TestMIG(t *testing.T) {
	s := h200()
	card := s.Devices[0].(*dgxa100.Device)
	card.MigMode = nvml.DEVICE_MIG_ENABLE
	card.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	card.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i > 1 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		d := &mock.Device{
			GetNameFunc: func() (string, nvml.Return) { return "NVIDIA H200 MIG 3g.71gb", nvml.SUCCESS },
			GetUUIDFunc: func() (string, nvml.Return) { return []string{"MIG-aa", "MIG-bb"}[i], nvml.SUCCESS },
			GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
				return nvml.Memory_v2{Total: 74 << 30, Free: 74 << 30}, nvml.SUCCESS
			},
		}
		quiet(d)
		return d, nvml.SUCCESS
	}
	instance := func(uuid string) machine.GPU {
		return machine.GPU{
			Index: 0, Name: "NVIDIA H200 MIG 3g.71gb", UUID: uuid, PCI: "00000000:00:06.0", ComputeCapability: "9.0", NUMANode: node(1),
			MIG: true, Parent: "GPU-00000000-aaaa",
			TotalBytes: bytes(74 << 30), ReservedBytes: bytes(0), UsedBytes: bytes(0), FreeBytes: bytes(74 << 30),
		}
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		want []machine.GPU
	}{
		{"whole cards when nothing is said", nil, []machine.GPU{second()}},
		{"by identifier", map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-bb"}, []machine.GPU{instance("MIG-bb")}},
		{"the card's index means its first instance", map[string]string{"CUDA_VISIBLE_DEVICES": "0"}, []machine.GPU{instance("MIG-aa")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := readFrom(s, options{root: "testdata/numa", env: env(c.env)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, m.GPUs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEightCards reads the mock server as it comes: eight cards, nothing used.
func TestEightCards(t *testing.T) {
	s := dgxa100.New()
	s.SystemGetProcessNameFunc = func(int) (string, nvml.Return) { return "", nvml.ERROR_NOT_FOUND }
	for _, d := range s.Devices {
		d := d.(*dgxa100.Device)
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_ARGUMENT_VERSION_MISMATCH }
		quiet(&d.Device)
	}
	m, err := readFrom(s, options{root: t.TempDir(), env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.GPUs) != 8 || m.CUDA != "12.4" {
		t.Fatalf("got %d cards, CUDA %q", len(m.GPUs), m.CUDA)
	}
	if diff := cmp.Diff(machine.Card{Name: "Mock NVIDIA A100-SXM4-40GB", TotalMiB: 40960, Major: 8}, m.GPUs[7].Card()); diff != "" {
		t.Error(diff)
	}
}
