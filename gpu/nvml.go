//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// read loads NVML and reads the machine.
func read(o options) (machine.Machine, error) {
	return readFrom(nvml.New(), o)
}

// readFrom reads the machine through any implementation of NVML.
func readFrom(lib nvml.Interface, o options) (machine.Machine, error) {
	m := empty()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return m, failure(ret, "nvmlInit", -1)
	}
	defer lib.Shutdown()
	r := reader{lib: lib, options: o}
	r.versions(&m)
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return m, failure(ret, "nvmlDeviceGetCount", -1)
	}
	for i := range count {
		m.GPUs = append(m.GPUs, r.device(i)...)
	}
	for _, g := range m.GPUs {
		if g.Error != "" {
			m.Notes = append(m.Notes, g.Error)
		}
	}
	return m, visible(&m, o)
}

type reader struct {
	lib nvml.Interface
	options
}

// versions fills in the driver's version and the newest CUDA it supports,
// which nvidia-smi prints in its header.
func (r reader) versions(m *machine.Machine) {
	if v, ret := r.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		m.Driver = v
	}
	if v, ret := r.lib.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		m.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
}

// device reads one card and, in MIG mode, its instances behind it.
func (r reader) device(i int) []machine.GPU {
	g := machine.GPU{Index: i}
	d, ret := r.lib.DeviceGetHandleByIndex(i)
	if ret != nvml.SUCCESS {
		g.Error = failure(ret, "nvmlDeviceGetHandleByIndex", i).Error()
		return []machine.GPU{g}
	}
	r.identity(d, &g)
	r.memory(d, &g)
	r.processes(d, &g)
	return append([]machine.GPU{g}, r.instances(d, g)...)
}

// identity reads what names a card and does not change.
func (r reader) identity(d nvml.Device, g *machine.GPU) {
	if v, ret := d.GetName(); ret == nvml.SUCCESS {
		g.Name = v
	} else {
		g.Error = failure(ret, "nvmlDeviceGetName", g.Index).Error()
	}
	if v, ret := d.GetUUID(); ret == nvml.SUCCESS {
		g.UUID = v
	}
	if major, minor, ret := d.GetCudaComputeCapability(); ret == nvml.SUCCESS {
		g.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	}
	if pci, ret := d.GetPciInfo(); ret == nvml.SUCCESS {
		g.PCI = cString(pci.BusId[:])
		g.NUMANode = r.numaNode(g.PCI)
	}
}

// memory reads the sizes. The second version of the call separates the
// driver's own reserve from what is used, as nvidia-smi does; the first counts
// it as used, and drivers before R510 have nothing else.
func (r reader) memory(d nvml.Device, g *machine.GPU) {
	// A symbol that the library lacks would end the process when called.
	if r.lib.Extensions().LookupSymbol("nvmlDeviceGetMemoryInfo_v2") == nil {
		if v, ret := d.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			g.TotalBytes, g.ReservedBytes, g.UsedBytes, g.FreeBytes = size(v.Total), size(v.Reserved), size(v.Used), size(v.Free)
			return
		}
	}
	v, ret := d.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		// Cards that share the host's memory (GB10, Jetson) answer so.
		g.Error = failure(ret, "nvmlDeviceGetMemoryInfo", g.Index).Error()
		return
	}
	g.TotalBytes, g.UsedBytes, g.FreeBytes = size(v.Total), size(v.Used), size(v.Free)
}

// processes reads who holds memory: compute, MPS and graphics processes. A
// process can be in several lists; the largest figure counts.
func (r reader) processes(d nvml.Device, g *machine.GPU) {
	at := map[uint32]int{}
	for _, list := range []struct {
		symbol string
		read   func() ([]nvml.ProcessInfo, nvml.Return)
	}{
		{"nvmlDeviceGetComputeRunningProcesses", d.GetComputeRunningProcesses},
		{"nvmlDeviceGetMPSComputeRunningProcesses_v3", d.GetMPSComputeRunningProcesses},
		{"nvmlDeviceGetGraphicsRunningProcesses", d.GetGraphicsRunningProcesses},
	} {
		if r.lib.Extensions().LookupSymbol(list.symbol) != nil {
			continue
		}
		infos, ret := list.read()
		if ret != nvml.SUCCESS {
			continue // a card or driver without this list
		}
		for _, p := range infos {
			bytes := size(p.UsedGpuMemory)
			i, known := at[p.Pid]
			if !known {
				at[p.Pid] = len(g.Processes)
				g.Processes = append(g.Processes, machine.Process{PID: int(p.Pid), Name: r.processName(p.Pid), Bytes: bytes})
				continue
			}
			if old := g.Processes[i].Bytes; bytes != nil && (old == nil || *bytes > *old) {
				g.Processes[i].Bytes = bytes
			}
		}
	}
}

// processName asks NVML, which also knows processes of other containers.
func (r reader) processName(pid uint32) string {
	name, ret := r.lib.SystemGetProcessName(int(pid))
	if ret != nvml.SUCCESS {
		return ""
	}
	return filepath.Base(name)
}

// instances reads the MIG instances of a card. They have memory of their own;
// the card's figures are the sum.
func (r reader) instances(d nvml.Device, card machine.GPU) []machine.GPU {
	if mode, _, ret := d.GetMigMode(); ret != nvml.SUCCESS || mode != nvml.DEVICE_MIG_ENABLE {
		return nil
	}
	most, ret := d.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	var all []machine.GPU
	for i := range most {
		mig, ret := d.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // this slot holds no instance
		}
		g := machine.GPU{Index: card.Index, MIG: true, Parent: card.UUID, PCI: card.PCI, NUMANode: card.NUMANode, ComputeCapability: card.ComputeCapability}
		if v, ret := mig.GetName(); ret == nvml.SUCCESS {
			g.Name = v
		}
		if v, ret := mig.GetUUID(); ret == nvml.SUCCESS {
			g.UUID = v
		}
		r.memory(mig, &g)
		r.processes(mig, &g)
		all = append(all, g)
	}
	return all
}

// numaNode reads the memory node a card hangs on, as SGLang's binding does.
// A machine with one node answers -1: then there is nothing to bind to.
func (r reader) numaNode(pci string) *int {
	// NVML writes the domain with eight digits, sysfs with four.
	address := strings.ToLower(pci)
	if len(address) > 12 {
		address = address[len(address)-12:]
	}
	if strings.Trim(address, "0123456789abcdef:.") != "" || address == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(r.root, "sys/bus/pci/devices", address, "numa_node"))
	if err != nil {
		return nil
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || node < 0 {
		return nil
	}
	return &node
}

// size converts a figure; NVML says "not available" with the largest number.
func size(v uint64) *units.Bytes {
	if v > math.MaxInt64 {
		return nil
	}
	b := units.Bytes(v)
	return &b
}

// cString reads a C string in a fixed array.
func cString(b []uint8) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// kinds sorts NVML's answers.
var kinds = map[nvml.Return]Kind{
	nvml.ERROR_LIBRARY_NOT_FOUND:       NoLibrary,
	nvml.ERROR_DRIVER_NOT_LOADED:       NoDriver,
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: NoDriver,
	nvml.ERROR_NO_PERMISSION:           NoPermission,
	nvml.ERROR_GPU_IS_LOST:             Lost,
	nvml.ERROR_RESET_REQUIRED:          Lost,
	nvml.ERROR_NOT_SUPPORTED:           Unsupported,
	nvml.ERROR_FUNCTION_NOT_FOUND:      Unsupported,
	nvml.ERROR_TIMEOUT:                 Timeout,
}

func failure(ret nvml.Return, op string, index int) *Error {
	kind, ok := kinds[ret]
	if !ok {
		kind = Failed
	}
	return &Error{Kind: kind, Op: op, Index: index, Text: ret.Error()}
}
