package render

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner"
)

// wins says what the recommended fraction gives over the release's default,
// and what it was not allowed to rest on; "" where nothing was chosen.
func wins(r *planner.Recommendation) string {
	if r == nil || r.MemFractionStatic == nil || r.MaxTotalNumTokens == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is the largest fraction that leaves more than the high end of every need.", fraction(*r.MemFractionStatic))
	switch d := r.DefaultTokens; {
	case d == nil:
	case *d > 0:
		fmt.Fprintf(&b, " SGLang's own default gives %s tokens, this %+.0f %%.", count(*d), (float64(r.MaxTotalNumTokens.Value)/float64(*d)-1)*100)
	default:
		b.WriteString(" SGLang's own default leaves no room for a pool.")
	}
	if f := r.LivesThroughGate; f != nil {
		fmt.Fprintf(&b, " %s would live too, but only because this release leaves out its prefill graphs there; it is never chosen.", fraction(*f))
	}
	return b.String()
}
