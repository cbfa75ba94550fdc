package startup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/endpoints"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// ServerInfo is what a running server says about itself.
type ServerInfo struct {
	Version   string
	ModelPath string
	Arguments map[string]any // its arguments, under SGLang's own names
	Tokens    int64          // max_total_num_tokens
	Requests  int64          // effective_max_running_requests_per_dp
	// Memory of a rank in bytes, nil where the release does not say:
	// internal_states[0].memory_usage.
	Weights, KVCache, Graphs, Available *units.Bytes
	// HostTokens is the capacity of the host cache, from /metrics.
	HostTokens int64
}

// ErrNoServerInfo says that no server answered with information about itself.
var ErrNoServerInfo = errors.New("no server information: neither /server_info nor /get_server_info answered with JSON (is it up, and is the key right?)")

// AskServer asks a running server for its arguments and sizes. The question
// passes through the scheduler and waits for a long step.
func AskServer(ctx context.Context, base, key string, r release.Release) (ServerInfo, error) {
	c := newClient(base, key)
	defer c.http.CloseIdleConnections()
	m := c.object(ctx, endpoints.Of(r).ServerInfo)
	if m == nil {
		return ServerInfo{}, ErrNoServerInfo
	}
	info := parseServerInfo(m)
	if n, ok := c.metric(ctx, "sglang:hicache_host_total_tokens"); ok {
		info.HostTokens = int64(n)
	}
	if info.Tokens == 0 {
		if n, ok := c.metric(ctx, "sglang:max_total_num_tokens"); ok {
			info.Tokens = int64(n)
		}
	}
	return info, nil
}

// parseServerInfo takes the sizes out of what a server answered. What it
// cannot read is left out.
func parseServerInfo(m map[string]any) ServerInfo {
	info := ServerInfo{Arguments: m, Tokens: whole(m["max_total_num_tokens"])}
	info.Version, _ = m["version"].(string)
	info.ModelPath, _ = m["model_path"].(string)
	state := m // to 0.4.6.post3 the keys are at the top
	if all, ok := m["internal_states"].([]any); ok && len(all) > 0 {
		state, _ = all[0].(map[string]any)
	}
	info.Requests = whole(state["effective_max_running_requests_per_dp"])
	if u, ok := state["memory_usage"].(map[string]any); ok {
		info.memory(u)
	}
	return info
}

// memory reads memory_usage: GiB, with graphs as one number or, from 0.5.18,
// one for each phase.
func (i *ServerInfo) memory(u map[string]any) {
	i.Weights, i.KVCache, i.Available = inGiB(u["weight"]), inGiB(u["kvcache"]), inGiB(u["startup_available"])
	for _, name := range []string{"graph", "cuda_graph"} {
		switch g := u[name].(type) {
		case json.Number:
			i.Graphs = inGiB(g)
		case map[string]any:
			var sum units.Bytes
			for _, v := range g {
				if b := inGiB(v); b != nil {
					sum = min(sum+*b, mostGiB*units.GiB)
				}
			}
			i.Graphs = &sum
		}
	}
}

// mostGiB is more than any card has; a server that says more is not believed.
const mostGiB = 1 << 20

func inGiB(v any) *units.Bytes {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f > mostGiB {
		return nil
	}
	b := units.FromGiB(f)
	return &b
}

func whole(v any) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return max(i, 0)
}

// metric reads the first sample of a metric from /metrics, which is there with
// --enable-metrics only.
func (c *client) metric(ctx context.Context, name string) (float64, bool) {
	resp, err := c.get(ctx, "/metrics")
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, false
	}
	return firstSample(io.LimitReader(resp.Body, maxInfo), name)
}

// firstSample reads the first sample of a metric out of Prometheus's text
// format.
func firstSample(in io.Reader, name string) (float64, bool) {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		rest, ok := strings.CutPrefix(sc.Text(), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		if i := strings.LastIndexByte(rest, '}'); i >= 0 {
			rest = rest[i+1:]
		}
		f := strings.Fields(rest)
		if len(f) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(f[0], 64); err == nil && v == v && v >= 0 && v < 1e15 {
			return v, true
		}
	}
	return 0, false
}
