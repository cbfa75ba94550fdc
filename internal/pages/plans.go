package main

import (
	"fmt"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
)

// row is a launch with what was planned of it.
type row struct {
	cases.Case
	blind, begin, loaded *planner.Plan // by what was known: see cases.Known
	info                 *planner.ModelInfo
}

// plans plans every embedded launch.
func plans() ([]row, error) {
	all, err := cases.All()
	if err != nil {
		return nil, err
	}
	out := make([]row, len(all))
	for i, c := range all {
		r := row{Case: c}
		for known, p := range map[cases.Known]**planner.Plan{cases.Nothing: &r.blind, cases.Begin: &r.begin, cases.Loaded: &r.loaded} {
			req, err := c.Request(known)
			if err != nil {
				return nil, err
			}
			*p = planner.Check(req)
			if known == cases.Nothing {
				r.info = planner.Model(req)
			}
		}
		out[i] = r
	}
	return out, nil
}

// family is the attention and the format of the weights: what the arithmetic
// of tokens and weights depends on.
func (r row) family() string {
	q := r.info.Quantization
	if q == "" {
		q = "unquantised"
	}
	return r.info.Attention + ", " + q
}

// comparable reports that the log's token count can be compared: the fraction
// is known, and the launch came as far as its pools.
func (r row) comparable() bool {
	return r.Observed.Tokens > 0 && (r.FractionGiven || r.Measured)
}

// failing is the worst finding of a plan, the code that a refusal carries.
func failing(p *planner.Plan) (finding.Finding, bool) {
	if len(p.Findings) == 0 || p.Findings[0].Severity < finding.Warning {
		return finding.Finding{}, false
	}
	return p.Findings[0], true
}

// source says where a row is from.
func (r row) source() string {
	if r.Measured {
		return "measured"
	}
	return "public log"
}

// setup is what makes two launches the same for the size of a token and of the
// weights: the model, the ranks, and the type of the cache. Many launches of
// one setup must not outweigh the others.
func (r row) setup() string {
	a := r.begin.Launch.Resolved
	return fmt.Sprint(r.Model, a["tp_size"], a["pp_size"], a["dp_size"], a["kv_cache_dtype"], r.Draft)
}
