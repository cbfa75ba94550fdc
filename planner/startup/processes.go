package startup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is one process as /proc shows it.
type process struct {
	pid, parent int
	name        string // at most 15 bytes: "sglang::schedul"
	state       byte
	born        uint64 // clock ticks since boot; tells a reused number apart
	exit        int    // wait status, of a zombie
}

// proc reads below a root, "/" for the running system.
type proc struct{ root string }

func (p proc) path(parts ...string) string {
	return filepath.Join(append([]string{p.root, "proc"}, parts...)...)
}

// process reads one process; ok is false when there is none.
func (p proc) process(pid int) (process, bool) {
	b, err := os.ReadFile(p.path(strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, b)
}

// parseStat reads /proc/PID/stat. The name may hold brackets and blanks, so it
// ends at the last closing bracket.
func parseStat(pid int, b []byte) (process, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return process{}, false
	}
	q := process{pid: pid, name: strings.ToValidUTF8(string(b[open+1:end]), "?"), state: f[0][0]}
	q.parent, _ = strconv.Atoi(string(f[1]))
	q.born, _ = strconv.ParseUint(string(f[19]), 10, 64)
	if len(f) > 49 {
		q.exit, _ = strconv.Atoi(string(f[49]))
	}
	return q, true
}

// dead reports a process that has ended: a zombie waits for its parent.
func (q process) dead() bool { return q.state == 'Z' || q.state == 'X' }

// signal is what killed a zombie, 0 when it was not killed or that is not
// known.
func (q process) signal() int { return q.exit & 0x7f }

// tree returns a process and its descendants from one look at all of /proc.
func (p proc) tree(pid int) []process {
	entries, err := os.ReadDir(p.path())
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	var root *process
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		q, ok := p.process(id)
		if !ok {
			continue
		}
		if id == pid {
			root = &q
		}
		children[q.parent] = append(children[q.parent], q)
	}
	if root == nil {
		return nil
	}
	out := []process{*root}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].pid]...)
	}
	return out
}

// isServer reports a process whose end ends the server: the schedulers, the
// detokenizer, the data-parallel controller, and those that have not got their
// names yet.
func (p proc) isServer(q process) bool {
	if strings.HasPrefix(q.name, "sglang::") {
		return true
	}
	b, err := os.ReadFile(p.path(strconv.Itoa(q.pid), "cmdline"))
	return err == nil && (bytes.HasPrefix(b, []byte("sglang::")) || bytes.Contains(b, []byte("multiprocessing.spawn")) && bytes.Contains(b, []byte("spawn_main")))
}

// isScheduler reports a scheduler, of which there is one for each rank.
func (q process) isScheduler() bool { return strings.HasPrefix(q.name, "sglang::schedul") }

// readBytes sums what processes have read from files and sockets; processes of
// other users are left out.
func (p proc) readBytes(tree []process) int64 {
	var sum int64
	for _, q := range tree {
		b, err := os.ReadFile(p.path(strconv.Itoa(q.pid), "io"))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			name, v, _ := bytes.Cut(line, []byte(": "))
			if s := string(name); s == "rchar" || s == "read_bytes" { // read calls, and pages of mapped files
				n, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
				sum += n
			}
		}
	}
	return sum
}

// startedAt returns when a process began, the zero time when that is not
// known.
func (p proc) startedAt(q process) time.Time {
	const ticks = 100 // USER_HZ, fixed on Linux
	if boot := counter(p.path("stat"), "btime "); boot > 0 && q.born > 0 {
		return time.Unix(boot+int64(q.born/ticks), 0)
	}
	return time.Time{}
}
