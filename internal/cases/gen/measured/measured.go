// Package measured turns the launches of testdata/launches into cases. Only
// the generator of internal/cases and its test import it.
package measured

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/planner/units"
)

// ReadAll returns the launches under dir in the order of their names.
func ReadAll(dir string) ([]cases.Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "launch.json"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no launches under %s", dir)
	}
	var out []cases.Case
	for _, name := range names {
		c, err := read(dir, filepath.Dir(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Dir(name), err)
		}
		out = append(out, c)
	}
	return out, nil
}

func read(root, dir string) (cases.Case, error) {
	var l launched
	b, err := os.ReadFile(filepath.Join(dir, "launch.json"))
	if err != nil {
		return cases.Case{}, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return cases.Case{}, err
	}
	s, err := readLog(filepath.Join(dir, "server.log.gz"))
	if err != nil {
		return cases.Case{}, err
	}
	c := cases.Case{
		ID: "h200-0517-" + l.Name, Release: l.SGLang, GPU: l.GPU, GPUMiB: int64(units.Bytes(l.GPUTotal) / units.MiB), GPUs: len(l.GPUs),
		Argv: l.Argv, FractionGiven: true, Measured: true, Outcome: l.outcome(s), Note: l.note(),
		HostRAMGiB: round(units.Bytes(l.Before.Mem.MemTotal)), Seconds: l.seconds(),
		Observed: l.observed(s),
		Reading: &cases.Reading{
			GPUTotal: l.GPUTotal, GPUReserved: reserve, GPUUsed: max(l.Before.GPUUsed[0]-reserve, 0),
			HostTotal: l.Before.Mem.MemTotal, HostAvailable: l.Before.Mem.MemAvailable,
		},
	}
	if limit := l.Cgroup.limit(); limit > 0 {
		c.HostLimitGiB = limit.GiB()
	}
	c.Model = value(l.Argv, "--model-path")
	c.Edge = edge(l.Argv)
	if d := value(l.Argv, "--speculative-draft-model-path"); d != "" {
		c.Draft = "own__" + filepath.Base(d) + drafts[l.Name]
	}
	return c, model(&c, root)
}

// reserve is what the driver keeps of an H200 for itself (NVML's memory call of
// version 2 on the same cards); launch.json counts it as used.
const reserve = 644939776 * units.Bytes(1)

// drafts are launches whose draft model was not the usual one.
var drafts = map[string]string{"llama8b-eagle3-draft2048": "-2048", "llama8b-eagle3-draft-fp16": "-float16"}

// model says where the case's config is.
func model(c *cases.Case, root string) error {
	name := strings.Replace(c.Model, "/", "__", 1)
	if _, err := catalogue.Load(c.Model); err == nil {
		c.Config = name
		return nil
	}
	if own := "own__" + filepath.Base(c.Model); cases.HasConfig(own) {
		c.Config = own
		return nil
	}
	b, err := os.ReadFile(filepath.Join(root, "models", c.Model, "config.json"))
	c.ConfigJSON = compact(b)
	return err
}

func compact(b []byte) json.RawMessage {
	var v json.RawMessage
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	return v
}

func readLog(name string) (*serverlog.Start, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return serverlog.Read(z)
}

// value is what follows a flag.
func value(argv []string, flag string) string {
	for i, w := range argv[:len(argv)-1] {
		if w == flag {
			return argv[i+1]
		}
	}
	return ""
}

// edge names the launches that differ from this one in the fraction alone.
func edge(argv []string) string {
	var out []string
	for i := 0; i < len(argv); i++ {
		switch argv[i] {
		case "--mem-fraction-static", "--port":
			i++
		default:
			out = append(out, argv[i])
		}
	}
	return strings.Join(out[3:], " ")
}

// round keeps the two decimals that logs have.
func round(b units.Bytes) float64 { return math.Round(b.GiB()*100) / 100 }
