package serverlog

import (
	"bytes"
	"strings"

	"github.com/sglplan/sglplan/planner/units"
)

func takeInit(p *Parser, tags, msg []byte) bool {
	if r := p.at(tags, Distributed); r != nil && r.InitUsage == nil {
		r.InitUsage = gib(msg, "mem usage=")
	}
	p.say(Reported, tags, msg)
	return true
}

func takeLoadBegin(p *Parser, tags, msg []byte) bool {
	if r := p.at(tags, Weights); r != nil && len(r.Loads) < maxItems {
		r.Loads = append(r.Loads, Load{BeginFree: gib(msg, "avail mem="), AfterPool: len(r.PoolEnds) > 0})
	}
	p.say(Reported, tags, msg)
	return true
}

// takeLoadEnd closes the open load. With overlapped loading (0.5.18+) the line
// comes after graph capture; it must not move the rank back.
func takeLoadEnd(p *Parser, tags, msg []byte) bool {
	r := p.start.rank(tags)
	if r == nil {
		return true
	}
	if len(r.Loads) == 0 {
		r.Loads = append(r.Loads, Load{})
	}
	l := &r.Loads[len(r.Loads)-1]
	l.EndFree, l.Usage = gib(msg, "avail mem="), gib(msg, "mem usage=")
	l.Seconds, _ = float(msg, "elapsed=")
	l.Class = word(after(msg, "type="), ", ")
	r.Phase = max(r.Phase, Weights)
	p.say(Reported, tags, msg)
	return true
}

// takeRank reads "Rank 3: prefetching checkpoint files: 40% (4/10)", or the
// death of a scheduler.
func takeRank(p *Parser, tags, msg []byte) bool {
	if !bytes.Contains(msg, []byte("prefetching checkpoint files")) {
		return takeDead(p, tags, msg)
	}
	open := bytes.LastIndexByte(msg, '(')
	slash := bytes.LastIndexByte(msg, '/')
	if open < 0 || slash < open {
		return true
	}
	done, ok1 := number(msg[open+1:])
	total, ok2 := number(msg[slash+1:])
	if ok1 && ok2 && total >= 1 && done >= 0 && total < 1e9 {
		p.progress(barLine{label: []byte("Loading, files prefetched"), done: int64(done), total: int64(total), times: []byte("?<?,")})
	}
	return true
}

func takePool(p *Parser, tags, msg []byte) bool {
	r := p.at(tags, Pools)
	if r != nil && len(r.Pools) < maxItems {
		r.Pools = append(r.Pools, readPool("", msg))
	}
	p.say(Reported, tags, msg)
	return true
}

func readPool(label string, msg []byte) Pool {
	pool := Pool{
		Label: label, Tokens: integer(msg, "#tokens: "),
		Bound: bytes.Contains(msg, []byte("VA upper bound")),
	}
	if d := after(msg, "dtype: "); d != nil {
		pool.DType = word(d, ",")
	}
	if v := gib(msg, "KV size: "); v != nil {
		pool.Bytes = *v
	} else {
		pool.Bytes = orZero(gib(msg, "K size: ")) + orZero(gib(msg, "V size: "))
	}
	return pool
}

// takeLabelled is a pool with its name in front: "SWA KV Cache is allocated".
func takeLabelled(p *Parser, tags, msg []byte) bool {
	i := bytes.Index(msg[:min(len(msg), 120)], []byte(" KV Cache "))
	if i <= 0 {
		return false
	}
	if rest := msg[i+len(" KV Cache "):]; !bytes.HasPrefix(rest, []byte("is allocated")) && !bytes.HasPrefix(rest, []byte("VA upper bound")) {
		return false
	}
	if r := p.at(tags, Pools); r != nil && len(r.Pools) < maxItems {
		r.Pools = append(r.Pools, readPool(text(msg[:i], 60), msg))
	}
	p.say(Reported, tags, msg)
	return true
}

func takeStates(p *Parser, tags, msg []byte) bool {
	r := p.at(tags, Pools)
	if r == nil || len(r.States) >= maxItems {
		return true
	}
	s := States{Slots: integer(msg, "max_mamba_cache_size: ")}
	for _, part := range []string{"conv_state size: ", "ssm_state size: ", "intermediate_ssm_state_cache size: ", "intermediate_conv_window_cache size: "} {
		// "ssm_state size" must not be found inside the intermediate's name.
		if v := gib(msg, " "+part); v != nil {
			s.Bytes += *v
		}
	}
	r.States = append(r.States, s)
	p.say(Reported, tags, msg)
	return true
}

func takeWindow(p *Parser, tags, msg []byte) bool {
	if r := p.at(tags, Pools); r != nil {
		r.Window = &Window{Full: integer(msg, "full_layer_tokens="), SWA: integer(msg, "swa_layer_tokens=")}
	}
	p.say(Reported, tags, msg)
	return true
}

func takeDSV4(p *Parser, tags, msg []byte) bool {
	if r := p.at(tags, Pools); r != nil {
		d := &DSV4{Available: orZero(gib(msg, "available_bytes=")), Tokens: integer(msg, ", full_token=")}
		d.BytesPerToken, _ = float(msg, "bytes_per_full_token=")
		r.DSV4 = d
	}
	p.say(Reported, tags, msg)
	return true
}

// takePostCapture is the final size of pools that are made after capture.
func takePostCapture(p *Parser, tags, msg []byte) bool {
	r := p.start.rank(tags)
	if r != nil && bytes.Contains(msg, []byte("#tokens: ")) && len(r.Pools) < maxItems {
		r.Pools = append(r.Pools, readPool("post-capture", msg))
	}
	p.say(Reported, tags, msg)
	return true
}

func takePoolEnd(p *Parser, tags, msg []byte) bool {
	r := p.at(tags, Pools)
	if r == nil {
		return true
	}
	r.poolsDone = true
	if free := gib(msg, "avail mem="); free != nil && len(r.PoolEnds) < maxItems {
		r.PoolEnds = append(r.PoolEnds, PoolEnd{*free})
	}
	p.say(Reported, tags, msg)
	return true
}

// takeCapture reads "Capture <what> begin." and "Capture <what> end.".
func takeCapture(p *Parser, tags, msg []byte) bool {
	head := msg[:min(len(msg), 120)]
	if i := bytes.Index(head, []byte(" begin.")); i > 0 {
		r := p.at(tags, Graphs)
		if r != nil && len(r.Graphs) < maxItems {
			r.Graphs = append(r.Graphs, Graph{Name: graphName(msg[len("Capture "):i]), BeginFree: gib(msg, "avail mem=")})
		}
		p.say(Reported, tags, msg)
		return true
	}
	i := bytes.Index(head, []byte(" end."))
	if i < 0 {
		return false
	}
	r := p.at(tags, Graphs)
	if r == nil {
		return true
	}
	g := r.graph(graphName(msg[len("Capture "):i]))
	g.Ended, g.EndFree, g.Usage = true, gib(msg, "avail mem="), gib(msg, "mem usage=")
	if g.Seconds, _ = float(msg, "elapsed="); g.Seconds == 0 {
		g.Seconds, _ = float(msg, "elapsed: ")
	}
	p.say(Reported, tags, msg)
	return true
}

// graph finds the open capture of a name, or adds one whose begin was not
// seen.
func (r *Rank) graph(name string) *Graph {
	for i := len(r.Graphs) - 1; i >= 0; i-- {
		if g := &r.Graphs[i]; g.Name == name && !g.Ended {
			return g
		}
	}
	if len(r.Graphs) >= maxItems {
		return &Graph{}
	}
	r.Graphs = append(r.Graphs, Graph{Name: name})
	return &r.Graphs[len(r.Graphs)-1]
}

// graphName gives the captures of all releases the names of the newest: to
// 0.5.13 there were "cuda graph" (decode) and "piecewise CUDA graph"
// (prefill).
func graphName(b []byte) string {
	switch name := text(b, 60); name {
	case "cuda graph", "cpu graph", "npu graph":
		return "target decode"
	case "piecewise CUDA graph":
		return "target prefill"
	default:
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(name, "graph"), "CUDA "))
	}
}

func takeSizes(p *Parser, tags, msg []byte) bool {
	tokens := integer(msg, "max_total_num_tokens=")
	if tokens == 0 {
		return false
	}
	p.at(tags, Sizes)
	if p.start.Sizes == nil {
		p.start.Sizes = &Capacity{
			MaxTotalNumTokens: tokens, ChunkedPrefillSize: integer(msg, "chunked_prefill_size="),
			MaxPrefillTokens: integer(msg, "max_prefill_tokens="), MaxRunningRequests: integer(msg, "max_running_requests="),
			ContextLen: integer(msg, "context_len="), Available: gib(msg, "available_gpu_mem="),
		}
	}
	p.say(Reported, tags, msg)
	return true
}

func takeHostBegin(p *Parser, tags, msg []byte) bool {
	p.at(tags, HostPools)
	p.say(Reported, tags, msg)
	return true
}

// takeHostPool reads the announcements of host pools: to 0.5.16 "Allocating
// 96.00 GB host memory for hierarchical KV cache.", since then "Allocating kv
// hierarchical KV host pool: 122071 tokens, 8.00 GB host memory."
func takeHostPool(p *Parser, tags, msg []byte) bool {
	if !bytes.Contains(msg, []byte("host memory")) {
		return false
	}
	pool := HostPool{}
	rest := msg[len("Allocating "):]
	if v, ok := number(rest); ok {
		pool.Bytes = units.Bytes(v * 1e9)
		pool.Label = hostLabel(after(rest, " for "))
	} else if i := bytes.Index(rest, []byte(" hierarchical")); i > 0 {
		pool.Label = text(rest[:i], 60)
		pool.Tokens = integer(rest, "pool: ")
		if gb, ok := float(rest, "tokens, "); ok {
			pool.Bytes = units.Bytes(gb * 1e9)
		}
	} else {
		return false
	}
	r := p.at(tags, HostPools)
	if r != nil && len(r.HostPools) < maxItems {
		r.HostPools = append(r.HostPools, pool)
	}
	p.say(Reported, tags, msg)
	return true
}

// hostLabel shortens "hierarchical KV cache. (layout=...)" to "kv".
func hostLabel(b []byte) string {
	if bytes.HasPrefix(b, []byte("hierarchical KV cache")) {
		return "kv"
	}
	return text(bytes.TrimRight([]byte(word(b, "(")), ". "), 60)
}
