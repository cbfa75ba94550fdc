package hostmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// v1NoLimit: a v1 cgroup without a limit answers the largest page-rounded
// number; no machine has this much memory.
const v1NoLimit = units.Bytes(1) << 62

// cgroups is what the memory cgroups of this process say.
type cgroups struct {
	limited []machine.Cgroup // from the process's own upward
	state   machine.CgroupLimit
	notes   []string
}

// hierarchy is one mounted tree of memory cgroups and where in it this process
// is.
type hierarchy struct {
	version int
	point   string // the mount point
	dir     string // the process's own directory, at or below point
	hidden  bool   // a namespace or a partial mount hides the ancestors above point
}

// readCgroups walks every memory hierarchy from the process's own cgroup up to
// the mount point. Child cgroups show no limit of their own under a limited
// parent, so all ancestors count. On hybrid hosts the memory controller sits on
// one of the two trees; the other has no such files.
func (f *FS) readCgroups() cgroups {
	mounts, err := f.read("/proc/self/mountinfo")
	if err != nil {
		return cgroups{state: machine.CgroupUnreadable, notes: []string{"cgroup limits are not known: " + brief(err)}}
	}
	member, err := f.read("/proc/self/cgroup")
	if err != nil && !missing(err) {
		return cgroups{state: machine.CgroupUnreadable, notes: []string{"cgroup limits are not known: " + brief(err)}}
	}
	found := f.hierarchies(parseMountinfo(mounts), parseCgroup(member))
	if len(found) == 0 {
		return cgroups{state: machine.CgroupNone}
	}
	c := cgroups{state: machine.CgroupUnlimited}
	for _, h := range found {
		c.add(f, h)
	}
	return c
}

// hierarchies finds the trees that carry the memory controller.
func (f *FS) hierarchies(mounts []mount, member []membership) []hierarchy {
	var found []hierarchy
	for _, m := range mounts {
		version := 0
		switch {
		case m.fstype == "cgroup2" && f.hasMemory(m.point):
			version = 2
		case m.fstype == "cgroup" && slices.Contains(m.options, "memory"):
			version = 1
		}
		i := slices.IndexFunc(member, func(p membership) bool {
			return version == 1 && p.has("memory") || version == 2 && len(p.controllers) == 0
		})
		if version == 0 || i < 0 || slices.ContainsFunc(found, func(h hierarchy) bool { return h.version == version }) {
			continue
		}
		found = append(found, f.locate(version, m, member[i].path))
	}
	return found
}

// hasMemory reports whether a v2 tree has the memory controller. A container
// sees its own cgroup at the mount point; the true root lists all controllers.
func (f *FS) hasMemory(point string) bool {
	text, err := f.read(path.Join(point, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(text), "memory")
}

// locate finds the process's directory below a mount. The path of
// /proc/self/cgroup is relative to the namespace, the mount may begin deeper in
// the tree (its root field), and a process moved into a foreign namespace has
// a path that leaves it with "..".
func (f *FS) locate(version int, m mount, member string) hierarchy {
	h := hierarchy{version: version, point: m.point, dir: m.point, hidden: m.root != "/"}
	if slices.Contains(strings.Split(member, "/"), "..") || slices.Contains(strings.Split(m.root, "/"), "..") {
		h.hidden = true
		return h
	}
	below := path.Clean("/" + member)
	if m.root != "/" {
		rest, inside := strings.CutPrefix(below, path.Clean(m.root))
		if !inside || rest != "" && rest[0] != '/' {
			// The path belongs to another namespace than the mount: what
			// is mounted is the nearest that can be seen.
			return h
		}
		below = path.Clean("/" + rest)
	}
	h.dir = path.Join(m.point, below)
	if below == "/" && version == 2 && f.exists(path.Join(m.point, "memory.max")) {
		h.hidden = true // the true root has no memory.max: this is a namespace's
	}
	return h
}

func (f *FS) exists(p string) bool {
	_, err := f.read(p)
	return err == nil
}

// add reads the cgroups of one tree from the process's own upward.
func (c *cgroups) add(f *FS, h hierarchy) {
	if h.hidden {
		c.notes = append(c.notes, fmt.Sprintf("cgroup v%d: this process sees its own part of the tree only; a tighter limit of a parent (pod, slice) is not visible", h.version))
	}
	for dir := h.dir; ; dir = path.Dir(dir) {
		g, limited, err := f.cgroup(h, dir)
		switch {
		case err != nil:
			c.notes = append(c.notes, "cgroup limit is not known: "+brief(err))
			if c.state != machine.CgroupLimited {
				c.state = machine.CgroupUnreadable
			}
		case limited:
			c.limited = append(c.limited, g)
			c.state = machine.CgroupLimited
		}
		if dir == h.point || dir == "/" || dir == "." {
			return
		}
	}
}

// cgroup reads one directory; limited is false when it has no limit.
func (f *FS) cgroup(h hierarchy, dir string) (g machine.Cgroup, limited bool, err error) {
	g = machine.Cgroup{Path: "/" + strings.Trim(strings.TrimPrefix(dir, h.point), "/"), Version: h.version}
	files := []string{"memory.max", "memory.high"}
	usage := "memory.current"
	if h.version == 1 {
		files, usage = []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes"
	}
	for _, name := range files {
		v, none, err := f.size(path.Join(dir, name))
		switch {
		case missing(err), err == nil && (none || v >= v1NoLimit):
		case err != nil:
			return g, false, err
		case !limited || v < g.LimitBytes:
			g.File, g.LimitBytes, limited = name, v, true
		}
	}
	stat := f.stat(dir)
	if v, ok := stat["hierarchical_memory_limit"]; ok && v < v1NoLimit && (!limited || v < g.LimitBytes) {
		// v1 tells the tightest limit of all ancestors, the hidden ones too.
		// Their usage is at least this cgroup's, so the room is an upper bound.
		g.File, g.LimitBytes, limited = "memory.stat hierarchical_memory_limit", v, true
	}
	if !limited {
		return g, false, nil
	}
	if v, none, err := f.size(path.Join(dir, usage)); err == nil && !none {
		g.UsageBytes = &v
	}
	fillCache(&g, stat)
	if h.version == 2 {
		g.Protected = f.protected(dir)
	}
	return g, true, nil
}

// stat reads memory.stat, empty where it cannot be read.
func (f *FS) stat(dir string) map[string]units.Bytes {
	text, err := f.read(path.Join(dir, "memory.stat"))
	if err != nil {
		return nil
	}
	return parseKeyed(text)
}

// fillCache takes the file pages from memory.stat: the two LRU lists, never
// "file" or "cache", which count shared memory that cannot be dropped. v1 has
// the sums over the children under names of their own.
func fillCache(g *machine.Cgroup, stat map[string]units.Bytes) {
	prefix := ""
	if _, sums := stat["total_inactive_file"]; sums && g.Version == 1 {
		prefix = "total_"
	}
	inactive, ok1 := stat[prefix+"inactive_file"]
	active, ok2 := stat[prefix+"active_file"]
	if !ok1 && !ok2 {
		return
	}
	g.CacheBytes = ptr(inactive + active)
	if g.Version == 2 {
		g.DirtyBytes = ptr(stat["file_dirty"] + stat["file_writeback"])
	}
}

// protected reports whether a cgroup below has memory.min set, which keeps the
// kernel from dropping its pages, or may have: one that cannot be read, or has
// no such file since the memory controller was not handed on to it, counts as
// set for SGLang's reader.
func (f *FS) protected(dir string) bool {
	left := maxDescendants
	return f.protectedBelow(dir, &left)
}

// maxDescendants bounds the walk; a slice with more below it is not the
// launch's own.
const maxDescendants = 2000

func (f *FS) protectedBelow(dir string, left *int) bool {
	entries, err := os.ReadDir(f.path(dir))
	if err != nil {
		return !missing(err) // it may end while we walk
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if *left--; *left < 0 {
			return false
		}
		child := path.Join(dir, e.Name())
		v, none, err := f.size(path.Join(child, "memory.min"))
		if err != nil && f.gone(child) {
			continue // it ended while we walked
		}
		if err != nil || none || v > 0 || f.protectedBelow(child, left) {
			return true
		}
	}
	return false
}

func (f *FS) gone(dir string) bool {
	_, err := os.Stat(f.path(dir))
	return missing(err)
}

// brief words an error without the root of the tree.
func brief(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Sprintf("%s: %v", filepath.Base(e.Path), e.Err)
	}
	return err.Error()
}
