package startup

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// owners finds the processes that listen on a local TCP port. known is false
// when the port's socket could not be traced to a process: another user's,
// another container's, or nobody listens.
func (p proc) owners(port int) (pids []int, known bool) {
	inodes := p.listeners(port)
	if len(inodes) == 0 {
		return nil, false
	}
	entries, err := os.ReadDir(p.path())
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p.holds(pid, inodes) {
			pids = append(pids, pid)
		}
	}
	return pids, len(pids) > 0
}

// listeners returns the links of the sockets that listen on a port, as
// /proc/PID/fd shows them.
func (p proc) listeners(port int) map[string]bool {
	out := map[string]bool{}
	want := fmt.Sprintf(":%04X", port)
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(p.path("net", name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			f := strings.Fields(string(line))
			const listen = "0A"
			if len(f) > 9 && strings.HasSuffix(f[1], want) && f[3] == listen {
				out["socket:["+f[9]+"]"] = true
			}
		}
	}
	return out
}

func (p proc) holds(pid int, inodes map[string]bool) bool {
	dir := p.path(strconv.Itoa(pid), "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/" + fd.Name()); err == nil && inodes[target] {
			return true
		}
	}
	return false
}

// sameNetwork reports whether a process is in our network namespace; in
// another one its ports are not the ones we see.
func (p proc) sameNetwork(pid int) bool {
	own, err1 := os.Readlink(p.path("self", "ns", "net"))
	its, err2 := os.Readlink(p.path(strconv.Itoa(pid), "ns", "net"))
	return err1 == nil && err2 == nil && own == its
}

// ownership says whether a port is ours.
type ownership int

const (
	unknownOwner ownership = iota
	ours
	foreign
)

// ownerOf judges the port of a URL against the tree of a process.
func (p proc) ownerOf(base string, pid int) (ownership, []int) {
	port, here := local(base)
	if !here || pid == 0 || !p.sameNetwork(pid) {
		return unknownOwner, nil
	}
	pids, known := p.owners(port)
	if !known {
		return unknownOwner, nil
	}
	tree := map[int]bool{}
	for _, q := range p.tree(pid) {
		tree[q.pid] = true
	}
	for _, id := range pids {
		if tree[id] {
			return ours, pids
		}
	}
	return foreign, pids
}
