// Package cases holds public and measured SGLang launches with what their logs
// said, for the tests and the pages that compare predictions with them. The
// public rows were collected from logs and issue threads; only facts are kept.
// The measured ones are the launches of testdata/launches, made on H200 cards
// with dummy weights, and are written by `go generate`.
//
// Import it only from tests and from internal/pages.
package cases

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/sglplan/sglplan/planner/units"
)

//go:generate go run ./gen ../../testdata/launches data/measured.jsonl.gz

//go:embed data
var data embed.FS

// Case is one launch and what became of it.
type Case struct {
	ID              string          `json:"id"`
	Release         string          `json:"release"`
	ReleaseFromDate bool            `json:"release_from_date,omitempty"` // the newest release on the log's day: the log names none
	Model           string          `json:"model"`
	Config          string          `json:"config,omitempty"`      // name in the catalogue or among configs.json.gz
	ConfigJSON      json.RawMessage `json:"config_json,omitempty"` // of a model that was made for the launch
	Draft           string          `json:"draft,omitempty"`       // of the draft model, as Config
	GPU             string          `json:"gpu"`
	GPUMiB          int64           `json:"gpu_mib"`
	GPUs            int             `json:"gpus"`
	HostRAMGiB      float64         `json:"host_ram_gib,omitempty"`
	HostLimitGiB    float64         `json:"host_limit_gib,omitempty"` // what the launch may use of it, where less
	Argv            []string        `json:"argv"`
	FractionGiven   bool            `json:"fraction_given"` // the fraction is known, not left to the release
	Measured        bool            `json:"measured"`       // on a card of its own, memory sampled throughout
	Outcome         Outcome         `json:"outcome"`
	Observed        Observed        `json:"observed"`
	Reading         *Reading        `json:"reading,omitempty"`
	Seconds         float64         `json:"seconds,omitempty"` // from the command to ready, or to the death before it
	Edge            string          `json:"edge,omitempty"`    // launches of one name differ in the fraction alone
	Note            string          `json:"note,omitempty"`    // why a figure of the row is not regular
}

// Outcome is how a launch ended.
type Outcome string

// The outcomes. A launch that was asked to end is Ready.
const (
	Ready       Outcome = "ready"
	OOMWeights  Outcome = "oom-weights"
	OOMPool     Outcome = "oom-kv"       // no room for the pools
	OOMGraph    Outcome = "oom-graph"    // in graph capture
	OOMServing  Outcome = "oom-serving"  // after it was ready
	HostOOM     Outcome = "host-oom"     // killed by the kernel, or by the allocation of a host pool
	ConfigError Outcome = "config-error" // for a reason that is not memory
)

// Died reports a launch that ended for want of memory.
func (o Outcome) Died() bool { return o != Ready && o != ConfigError }

// Observed are figures of the log, in GiB as it prints them; zero when absent.
type Observed struct {
	LoadBegin float64 `json:"load_begin_avail_gib,omitempty"`
	LoadEnd   float64 `json:"load_end_avail_gib,omitempty"`
	PoolEnd   float64 `json:"pool_end_avail_gib,omitempty"`
	Weights   float64 `json:"weights_gib,omitempty"`
	Tokens    int64   `json:"max_total_num_tokens,omitempty"`
	// Fraction is what the launch ran with, given or chosen by the release.
	Fraction float64 `json:"mem_fraction_static,omitempty"`
	// What the rest of the start and serving took of PoolEnd at their worst
	// moments. Serving is prompts of one chunk and a full decode batch; Long
	// adds prompts and cached prefixes of 100,000 tokens and more.
	NeedStart   float64 `json:"need_after_pool_start_gib,omitempty"`
	NeedServing float64 `json:"need_after_pool_serving_gib,omitempty"`
	NeedLong    float64 `json:"need_after_pool_long_gib,omitempty"`
}

// Reading is what NVML and the kernel said before the launch.
type Reading struct {
	GPUTotal      units.Bytes `json:"gpu_total_bytes"`
	GPUReserved   units.Bytes `json:"gpu_reserved_bytes"` // the driver's own
	GPUUsed       units.Bytes `json:"gpu_used_bytes"`     // by processes
	HostTotal     units.Bytes `json:"host_total_bytes"`
	HostAvailable units.Bytes `json:"host_available_bytes"`
}

// All returns every case, the public ones first.
var All = sync.OnceValues(func() ([]Case, error) {
	var out []Case
	for _, name := range []string{"data/public.jsonl.gz", "data/measured.jsonl.gz"} {
		f, err := data.Open(name)
		if err != nil {
			return nil, err
		}
		rows, err := Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, rows...)
	}
	return out, nil
})

// Read reads cases, one JSON object a line, gzipped.
func Read(r io.Reader) ([]Case, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var out []Case
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var c Case
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, sc.Err()
}

// Write writes cases as Read reads them; the same cases give the same bytes.
func Write(w io.Writer, rows []Case) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, c := range rows {
		if err := e.Encode(c); err != nil {
			return err
		}
	}
	if _, err := z.Write(b.Bytes()); err != nil {
		return err
	}
	return z.Close()
}

// configs are the models of cases that the public catalogue does not have, by
// the name that Case.Config gives.
var configs = sync.OnceValues(func() (map[string]json.RawMessage, error) {
	f, err := data.Open("data/configs.json.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	return m, json.NewDecoder(z).Decode(&m)
})

// HasConfig reports whether configs.json.gz has a model of that name.
func HasConfig(name string) bool {
	m, err := configs()
	_, ok := m[name]
	return err == nil && ok
}
