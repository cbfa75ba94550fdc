package serverlog

import "fmt"

// Phase is a stage of a start, in the order in which they come. Draft models
// of older releases go through Weights to Graphs a second time.
type Phase int

// The phases. Starting is everything before the arguments line: the imports.
const (
	Starting    Phase = iota
	Arguments         // the resolved arguments are printed
	Distributed       // CUDA contexts, process groups
	Weights           // loading
	Pools             // KV cache and state pools on the GPU
	Graphs            // graph capture, kernel compilation
	Sizes             // the schedulers have printed their sizes
	HostPools         // HiCache pools are being allocated and pinned
	HTTP              // the schedulers are up, the web server binds its port
	Warmup            // the first requests, made by the server itself
	Ready             // the server takes requests
)

var phaseNames = [...]string{
	"starting", "arguments", "distributed", "weights", "pools", "graphs", "sizes", "host-pools", "http", "warm-up", "ready",
}

// String returns the name used in JSON.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return fmt.Sprintf("phase(%d)", int(p))
	}
	return phaseNames[p]
}

// MarshalText writes the JSON name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the JSON name.
func (p *Phase) UnmarshalText(b []byte) error {
	for i, name := range phaseNames {
		if name == string(b) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("serverlog: unknown phase %q", b)
}
