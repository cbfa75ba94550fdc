package args

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
)

// CodeJSONText is said of a text that a later step of the start cannot read.
var CodeJSONText = finding.Define("flag-json-invalid",
	"a text that is not JSON",
	"SGLang takes the flag as plain text and reads it as JSON later in the start, where this one fails. Often the shell took the quotes away.",
	"Put the whole value into single quotes.")

// jsonTexts looks into the plain strings that SGLang reads as JSON after
// parsing. HiCache's may name a file as @FILE, and is read only with HiCache on
// and a storage backend.
func jsonTexts(at int, parsed *Args) []finding.Finding {
	var out []finding.Finding
	for i := range spans {
		s := &spans[i]
		if !s.jsonText || !s.covers(at) || !parsed.Given(s.field) {
			continue
		}
		v, _ := parsed.Get(s.field)
		text, _ := v.V.(string)
		if text == "" || text[0] == '@' {
			continue
		}
		_, why := fromJSON(text)
		if why == "" {
			continue
		}
		f := finding.New(CodeJSONText, finding.Error, s.name, fmt.Sprintf("%s %s: %s.", s.name, quoteText(text), why))
		if s.field == "hicache_storage_backend_extra_config" && !(parsed.Bool("enable_hierarchical_cache") && parsed.Has("hicache_storage_backend")) {
			f.Severity = finding.Warning
		}
		if v.Origin.Pos != (finding.Position{}) {
			f.Position = &v.Origin.Pos
		}
		out = append(out, f)
	}
	return out
}
