// Package gpu reads the real GPUs of this machine through NVML as machine
// values: what nvidia-smi prints, in bytes, and which processes hold it.
//
// Import it to plan for the machine the program runs on. Reading changes
// nothing on the cards and makes no CUDA context. NVML is loaded when Read is
// called, not when the program starts, and the package also builds with
// CGO_ENABLED=0: Read then answers with an *Error of kind NoCGO.
package gpu

import (
	"context"
	"fmt"
	"os"

	"github.com/sglplan/sglplan/planner/machine"
)

// Kind says why GPUs could not be read.
type Kind string

// The kinds of failure.
const (
	NoCGO        Kind = "no-cgo"        // this program was built without cgo
	NoLibrary    Kind = "no-library"    // libnvidia-ml.so.1 is not installed (or not mounted into the container)
	NoDriver     Kind = "no-driver"     // the kernel module is not loaded, or does not match the library
	NoPermission Kind = "no-permission" // the device files may not be opened
	Lost         Kind = "lost"          // the card fell off the bus or needs a reset
	Unsupported  Kind = "unsupported"   // the card or the driver does not report this
	Timeout      Kind = "timeout"       // the driver did not answer in time
	Failed       Kind = "failed"        // any other NVML error
)

// Error reports what could not be read. Index is the card in NVML's order, -1
// when the error is about the whole machine.
type Error struct {
	Kind  Kind
	Op    string // the NVML call
	Index int
	Text  string // NVML's own words
}

func (e *Error) Error() string {
	where := "NVML"
	if e.Index >= 0 {
		where = fmt.Sprintf("GPU %d", e.Index)
	}
	msg := fmt.Sprintf("%s: %s", where, kindText[e.Kind])
	if e.Text != "" {
		msg += fmt.Sprintf(" (%s: %s)", e.Op, e.Text)
	}
	return msg
}

var kindText = map[Kind]string{
	NoCGO:        "built without cgo, so the NVIDIA library cannot be called; build with CGO_ENABLED=1, or plan with --machine or --gpus",
	NoLibrary:    "the NVIDIA library libnvidia-ml.so.1 was not found; install the driver, or start the container with --gpus all",
	NoDriver:     "the NVIDIA driver is not loaded or does not match its library; look at `nvidia-smi`, load the module or reboot",
	NoPermission: "no permission to read the GPU; check the rights on /dev/nvidia* or the container's devices",
	Lost:         "the GPU is lost; look for Xid messages in `dmesg`; it needs a reset or a reboot",
	Unsupported:  "not reported by this card or driver",
	Timeout:      "the NVIDIA driver did not answer in time; look for hung processes and Xid messages in `dmesg`",
	Failed:       "NVML failed",
}

// options are the settings of Read.
type options struct {
	root string
	env  func(string) (string, bool)
}

// Option changes how Read works.
type Option func(*options)

// WithRoot sets the directory under which /sys is looked up, for the NUMA node
// of a card. The default is "/".
func WithRoot(dir string) Option { return func(o *options) { o.root = dir } }

// WithEnv sets where CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are looked up,
// for a launch that has an environment of its own. The default is the
// environment of this process.
func WithEnv(lookup func(string) (string, bool)) Option {
	return func(o *options) { o.env = lookup }
}

func makeOptions(opts []Option) options {
	o := options{root: "/", env: os.LookupEnv}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Read reads the GPUs that a launch from here would see, in CUDA's order, with
// the versions of the driver. What could be read is always returned: a card
// that fails carries its error, and Notes say what is missing.
//
// The error is an *Error when there is nothing to read at all (no cgo, no
// library, no driver), and a *machine.VisibleError when CUDA_VISIBLE_DEVICES
// names a card that is not there. Read returns when ctx ends, even if the
// driver hangs.
func Read(ctx context.Context, opts ...Option) (machine.Machine, error) {
	type answer struct {
		m   machine.Machine
		err error
	}
	done := make(chan answer, 1)
	go func() {
		m, err := read(makeOptions(opts))
		done <- answer{m, err}
	}()
	select {
	case a := <-done:
		return a.m, a.err
	case <-ctx.Done():
		return empty(), &Error{Kind: Timeout, Op: "nvmlInit", Index: -1, Text: ctx.Err().Error()}
	}
}

func empty() machine.Machine {
	return machine.Machine{Schema: machine.Schema, GPUs: []machine.GPU{}}
}

// visible applies CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER to what was read.
func visible(m *machine.Machine, o options) error {
	var list *string
	if v, ok := o.env("CUDA_VISIBLE_DEVICES"); ok {
		list = &v
	}
	order, _ := o.env("CUDA_DEVICE_ORDER")
	all := m.GPUs
	seen, err := machine.Visible(all, list, order)
	m.GPUs = append([]machine.GPU{}, seen...)
	if list != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("CUDA_VISIBLE_DEVICES=%.200q shows %d of %d devices", *list, len(seen), len(all)))
	}
	if machine.Mixed(all) && order != "PCI_BUS_ID" {
		m.Notes = append(m.Notes, "cards of different kinds: CUDA puts the fastest first, which is a guess here; set CUDA_DEVICE_ORDER=PCI_BUS_ID for nvidia-smi's order")
	}
	return err
}
