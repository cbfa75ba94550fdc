package machine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// maxJSON bounds what Read takes: a machine of a thousand cards with their
// processes is far below it.
const maxJSON = 8 << 20

// CodeFigureDropped: a figure of the machine's JSON makes no sense.
var CodeFigureDropped = finding.Define("machine-figure-dropped",
	"a figure of the machine description makes no sense",
	"A size is negative, or a part is larger than its whole. The figure is treated as unknown; everything else of the file is used.",
	"Run `sglplan machine -o json` again on that host, or correct the file.")

// ReadError reports a machine description that cannot be read at all.
type ReadError struct {
	Why    string
	Offset int64 // where in the input, 0 when not known
	Err    error
}

func (e *ReadError) Error() string {
	at := ""
	if e.Offset > 0 {
		at = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("machine description: %s%s", e.Why, at)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads one machine as `sglplan machine -o json` writes it. Unknown keys
// are ignored and absent ones stay unknown. Figures that make no sense are
// dropped with a finding; input that is no machine at all is a *ReadError.
func Read(r io.Reader) (Machine, []finding.Finding, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return Machine{}, nil, &ReadError{Why: err.Error(), Err: err}
	}
	if len(b) > maxJSON {
		return Machine{}, nil, &ReadError{Why: fmt.Sprintf("larger than %v", units.Bytes(maxJSON))}
	}
	var m Machine
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &m); err != nil {
		return Machine{}, nil, readError(err)
	}
	if m.Schema != "" && m.Schema != Schema {
		return Machine{}, nil, &ReadError{Why: fmt.Sprintf("schema %q, this version reads %q", clip(m.Schema), Schema)}
	}
	m.Schema = Schema
	if len(m.GPUs) > maxGPUs {
		return Machine{}, nil, &ReadError{Why: fmt.Sprintf("%d GPUs, more than %d", len(m.GPUs), maxGPUs)}
	}
	m.dropEmpty()
	return m, m.dropNonsense(), nil
}

// dropEmpty makes lists that are there and empty absent, as they are written:
// a machine read back is the machine that was written.
func (m *Machine) dropEmpty() {
	if len(m.Notes) == 0 {
		m.Notes = nil
	}
	for i := range m.GPUs {
		if len(m.GPUs[i].Processes) == 0 {
			m.GPUs[i].Processes = nil
		}
	}
	if m.Host == nil {
		return
	}
	if len(m.Host.NUMA) == 0 {
		m.Host.NUMA = nil
	}
	if len(m.Host.Cgroups) == 0 {
		m.Host.Cgroups = nil
	}
}

// readError words the errors of encoding/json.
func readError(err error) *ReadError {
	e := &ReadError{Why: "not JSON: " + err.Error(), Err: err}
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syn):
		e.Offset = syn.Offset
	case errors.As(err, &typ):
		e.Why, e.Offset = fmt.Sprintf("%s cannot be %s", cmp.Or(typ.Field, "a machine"), typ.Value), typ.Offset
	}
	return e
}

// Write writes the machine as indented JSON, the form that Read reads.
func (m Machine) Write(w io.Writer) error {
	m.Schema = Schema
	if m.GPUs == nil {
		m.GPUs = []GPU{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(m)
}

// dropNonsense removes figures that cannot be true and says which.
func (m *Machine) dropNonsense() []finding.Finding {
	var said []finding.Finding
	drop := func(where, why string, p **units.Bytes) {
		f := finding.New(CodeFigureDropped, finding.Warning, "--machine", fmt.Sprintf("%s is %d bytes: %s; treated as unknown", where, int64(**p), why))
		f.Figures = map[string]int64{"bytes": int64(**p)}
		said = append(said, f)
		*p = nil
	}
	check := func(where string, p **units.Bytes, whole *units.Bytes) {
		switch {
		case *p == nil:
		case **p < 0:
			drop(where, "negative", p)
		case whole != nil && **p > *whole:
			drop(where, fmt.Sprintf("larger than the total of %d", int64(*whole)), p)
		}
	}
	for i := range m.GPUs {
		g, at := &m.GPUs[i], fmt.Sprintf("gpus[%d].", i)
		check(at+"total_bytes", &g.TotalBytes, nil)
		check(at+"reserved_bytes", &g.ReservedBytes, g.TotalBytes)
		check(at+"used_bytes", &g.UsedBytes, g.TotalBytes)
		check(at+"free_bytes", &g.FreeBytes, g.TotalBytes)
		for j := range g.Processes {
			check(fmt.Sprintf("%sprocesses[%d].bytes", at, j), &g.Processes[j].Bytes, g.TotalBytes)
		}
	}
	if h := m.Host; h != nil {
		h.check(check)
	}
	return said
}

// check visits every size of a host.
func (h *Host) check(check func(string, **units.Bytes, *units.Bytes)) {
	for _, p := range []struct {
		name  string
		field **units.Bytes
	}{
		{"total_bytes", &h.TotalBytes}, {"available_bytes", &h.AvailableBytes}, {"mem_available_bytes", &h.MemAvailableBytes},
		{"limit_bytes", &h.LimitBytes}, {"cgroup_usage_bytes", &h.CgroupUsageBytes}, {"cgroup_file_bytes", &h.CgroupFileBytes},
		{"shm_bytes", &h.SHMBytes}, {"shm_free_bytes", &h.SHMFreeBytes}, {"memlock_bytes", &h.MemlockBytes},
		{"hugepages_bytes", &h.HugepagesBytes}, {"hugepages_free_bytes", &h.HugepagesFreeBytes}, {"arc_bytes", &h.ARCBytes},
	} {
		check("host."+p.name, p.field, nil)
	}
	for i := range h.NUMA {
		n := &h.NUMA[i]
		check(fmt.Sprintf("host.numa[%d].total_bytes", i), &n.TotalBytes, nil)
		check(fmt.Sprintf("host.numa[%d].free_bytes", i), &n.FreeBytes, n.TotalBytes)
		check(fmt.Sprintf("host.numa[%d].available_bytes", i), &n.AvailableBytes, n.TotalBytes)
	}
}
