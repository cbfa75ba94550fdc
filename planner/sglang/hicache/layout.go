package hicache

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
)

// CodeCombination is raised for options that HiCache refuses when its pools
// are built.
var CodeCombination = finding.Define("hicache-combination-refused",
	"HiCache refuses to work with another option of this launch",
	"Some options pass argument handling and end the start when the host pools are built: unified memory to 0.5.20, decode context parallelism before 0.5.17 and with other caches than MLA, and with DSA from 0.5.22 on.",
	"Leave out one of the two options.")

// badCombination finds options that the pool builders of a release refuse.
func badCombination(q Request, s Settings, pools []DevicePool) (finding.Finding, bool) {
	r, dcp := q.Release, q.Args.IntOr("dcp_size", 1)
	main, _ := find(pools, Main)
	flag, why := "", ""
	switch {
	case q.Args.Bool("enable_unified_memory") && r.Before("0.5.21"):
		flag, why = "--enable-unified-memory", "it is allowed beside HiCache from 0.5.21 on"
	case dcp > 1 && r.Before("0.5.17"):
		flag, why = "--dcp-size", "host pools know decode context parallelism from 0.5.17 on"
	case dcp > 1 && !main.MLA:
		flag, why = "--dcp-size", "only MLA host pools know decode context parallelism"
	case dcp > 1 && has(pools, Indexer) && r.AtLeast("0.5.22"):
		flag, why = "--dcp-size", "DSA host pools refuse decode context parallelism"
	case dcp > 1 && s.Storage != "" && r.Before("0.5.23"):
		flag, why = "--hicache-storage-backend", "a storage backend works with decode context parallelism from 0.5.23 on"
	default:
		return finding.Finding{}, false
	}
	f := finding.New(CodeCombination, finding.Error, flag, fmt.Sprintf("%s with HiCache in SGLang %s: %s.", flag, r, why))
	return f.With("leave it out", finding.Edit{Flag: flag, Remove: true}), true
}

// badLayout finds pools that cannot have the memory layout asked for.
func badLayout(q Request, s Settings, pools []DevicePool) (finding.Finding, bool) {
	for _, p := range pools {
		if takesLayout(q, s, p) {
			continue
		}
		f := finding.New(CodeLayoutUnsupported, finding.Error, "--hicache-mem-layout",
			fmt.Sprintf("The %s pool does not take layout %s with %s transfers in SGLang %s.", p.Name, s.Layout, s.transfers(), q.Release))
		return f.With("use a layout it takes", finding.Edit{Flag: "--hicache-mem-layout", Value: "page_first_direct"},
			finding.Edit{Flag: "--hicache-io-backend", Value: "direct"}), true
	}
	return finding.Finding{}, false
}

func (s Settings) transfers() string {
	if s.IO == "" {
		return "kernel"
	}
	return s.IO
}

func takesLayout(q Request, s Settings, p DevicePool) bool {
	switch {
	case s.Layout == "page_head":
		return !p.MLA && s.IO != "direct"
	case p.KeyRowBytes > 0: // keys and values in two buffers
		return s.Layout != "layer_first"
	case p.Kind == State && q.Release.Within("0.5.14", "0.5.15.post9"):
		return s.Layout == "page_first_direct"
	case p.Kind == State && q.Release.AtLeast("0.5.16"):
		return s.Layout != "layer_first"
	}
	return true
}
