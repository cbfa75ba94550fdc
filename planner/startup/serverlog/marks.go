package serverlog

import "bytes"

// mark is the beginning of a message that means something. take returns false
// when the rest of the message is something else after all.
type mark struct {
	prefix string
	take   func(p *Parser, tags, msg []byte) bool
}

// marks holds the markers by the first four bytes of their messages. The
// wording of every release since 0.4.6 is here; a new one is one more line.
var marks = index([]mark{
	{"server_args=", takeArguments},

	{"Init torch distributed begin", begin(Distributed)}, // to 0.5.20
	{"Init parallel begin", begin(Distributed)},          // 0.5.21+
	{"Init torch distributed ends", takeInit},            // to 0.5.20
	{"Memory baseline taken", takeInit},                  // 0.5.21+
	{"Load weight begin", takeLoadBegin},
	{"Load weight end", takeLoadEnd},
	{"Rank ", takeRank}, // prefetching of checkpoint files, and a dead scheduler

	{"KV Cache is allocated", takePool},
	{"KV Cache VA upper bound", takePool},
	{"Mamba Cache is allocated", takeStates},
	{"Use sliding window memory pool", takeWindow},
	{"Use Sliding window memory pool", takeWindow}, // to 0.5.6
	{"DSV4 memory calculation", takeDSV4},
	{"DSv4 memory calculation", takeDSV4},
	{"Post-capture KV sizing", takePostCapture},
	{"Memory pool end", takePoolEnd},

	{"Capture ", takeCapture},
	{"Disable prefill CUDA graph", takeNoPrefill},
	{"Disabling auto-selected prefill CUDA graph", takeNoPrefill},
	{"max_total_num_tokens=", takeSizes},

	{"HiCache memory headroom", takeHostBegin},    // 0.5.21+
	{"HiCache auto-sizing: ratio", takeHostBegin}, // 0.5.21+
	{"Allocating ", takeHostPool},

	{"Engine startup timings (s)", takeTimings}, // 0.5.17+
	{"Started server process", takeHTTP},
	{"Uvicorn running on", takeHTTP},
	{"INFO:     Started server process", takeHTTP},
	{"INFO:     Uvicorn running on", takeHTTP},
	{"INFO:     ", takeAccess},
	{"Start of pd disaggregation warmup", takeWarmup},
	{"The server is fired up and ready to roll", takeReady},

	{"Scheduler hit an exception", takeException},
	{"Traceback (most recent call last)", takeTraceback},
	{"Received sigquit from a child process", takeSigquit}, // while starting
	{"SIGQUIT received", takeSigquit},                      // while running
	{"SIGTERM received", takeSigterm},
	{"Subprocess ", takeSubprocess},
	{"Initialization failed", takeInitFailed},
	{"Watchdog timeout", takeWatchdog},
	{"watchdog timeout", takeWatchdog},
	{"Scheduler watchdog timeout", takeWatchdog},
})

// firsts are the first bytes of all markers.
var firsts = func() (f [256]bool) {
	for _, ms := range marks {
		f[ms[0].prefix[0]] = true
	}
	return f
}()

func index(all []mark) map[uint32][]mark {
	m := map[uint32][]mark{}
	for _, k := range all {
		m[key([]byte(k.prefix))] = append(m[key([]byte(k.prefix))], k)
	}
	return m
}

// takeArguments begins a new start: what came before is an earlier one's.
func takeArguments(p *Parser, _, msg []byte) bool {
	value, ok := isArguments(msg)
	if !ok {
		return false
	}
	p.begin(&Start{floor: Arguments, arguments: bytes.Clone(value), First: string(p.stamp)})
	if p.emit != nil {
		p.say(NewStart, nil, []byte("arguments of "+p.start.Text("model_path")))
	}
	return true
}

// at moves a rank to a phase and returns it, nil for one too many.
func (p *Parser) at(tags []byte, ph Phase) *Rank {
	r := p.start.rank(tags)
	if r != nil && (ph < Sizes || r.Phase < ph) {
		r.Phase = ph
	}
	if r != nil {
		r.poolsDone = false
	}
	if ph >= Sizes {
		p.start.floor = max(p.start.floor, ph)
	}
	return r
}

func begin(ph Phase) func(p *Parser, tags, msg []byte) bool {
	return func(p *Parser, tags, msg []byte) bool {
		p.at(tags, ph)
		p.say(Reported, tags, msg)
		return true
	}
}

// reached records a step of the whole server.
func (p *Parser) reached(ph Phase, msg []byte) {
	p.start.floor = max(p.start.floor, ph)
	p.say(Reported, nil, msg)
}

func takeHTTP(p *Parser, _, msg []byte) bool {
	if a := after(msg, "running on "); a != nil && p.start.Address == "" {
		p.start.Address = word(a, " ")
	}
	p.reached(HTTP, msg)
	return true
}

// takeAccess looks at the web server's lines for the first request, which the
// server makes itself.
func takeAccess(p *Parser, _, msg []byte) bool {
	if warmup(msg) && p.start.floor < Warmup {
		p.reached(Warmup, msg)
	}
	return true
}

func takeWarmup(p *Parser, _, msg []byte) bool {
	p.reached(Warmup, msg)
	return true
}

func takeReady(p *Parser, _, msg []byte) bool {
	p.start.Ready = true
	p.start.Suspect = nil
	p.start.floor = Ready
	p.say(BecameUp, nil, msg)
	return true
}

func takeNoPrefill(p *Parser, tags, msg []byte) bool {
	if p.start.NoPrefillGraphs == "" {
		p.start.NoPrefillGraphs = text(msg, 300)
		p.say(Reported, tags, msg)
	}
	return true
}

// takeTimings reads "load_weight=12.02, ..., cuda_graph={prefill=22.96, ...}".
func takeTimings(p *Parser, _, msg []byte) bool {
	rest := after(msg, "(s): ")
	out := map[string]float64{}
	group := ""
	for len(rest) > 0 && len(out) < maxItems {
		eq := bytes.IndexByte(rest, '=')
		if eq < 0 {
			break
		}
		name := text(bytes.Trim(rest[:eq], " ,}"), 40)
		closed := bytes.IndexByte(rest[:eq], '}') >= 0
		rest = rest[eq+1:]
		if closed {
			group = ""
		}
		if len(rest) > 0 && rest[0] == '{' {
			group, rest = name+".", rest[1:]
			continue
		}
		if v, ok := number(rest); ok {
			out[group+name] = v
		}
		if i := bytes.IndexAny(rest, ",}"); i >= 0 {
			rest = rest[i:]
		} else {
			rest = nil
		}
	}
	p.start.Timings = out
	p.reached(Sizes, msg)
	return true
}
