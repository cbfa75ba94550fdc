package hicache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// A CgroupError is what SGLang's own reader of the cgroups (0.5.21 on) stops
// at.
type CgroupError struct {
	Path string
	Why  string
	// Fatal errors end the start whatever the options; the others end
	// automatic sizing only, from 0.5.22 on.
	Fatal bool
	Err   error
}

func (e *CgroupError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cgroup %s: %s: %v", e.Path, e.Why, e.Err)
	}
	return fmt.Sprintf("cgroup %s: %s", e.Path, e.Why)
}

func (e *CgroupError) Unwrap() error { return e.Err }

// CgroupHeadroom is SGLang's own reading of the room that the cgroups of this
// process leave, from the files below root: proc/self/cgroup,
// proc/self/mountinfo and the mounts they name. Nil means no limit is visible,
// which every release before 0.5.21 takes for granted.
//
// 0.5.21 counts page cache as used; 0.5.22 credits it, except on v2 where a
// descendant is protected by memory.min.
func CgroupHeadroom(r release.Release, root fs.FS) (*units.Bytes, error) {
	if r.Before("0.5.21") {
		return nil, nil
	}
	c := cgroupReader{root: root, credit: CreditsCache(r)}
	cgroups, err := c.text("proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mounts, err := c.text("proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	members := memberships(cgroups)
	resolved := false
	for _, line := range lines(mounts) {
		found, err := c.mount(line, members)
		if err != nil {
			return nil, err
		}
		resolved = resolved || found
	}
	if len(members) > 0 && !resolved {
		return nil, &CgroupError{Path: "proc/self/cgroup", Why: "the memory cgroup of the process is in no mounted cgroup filesystem"}
	}
	return c.room, nil
}

// cgroupReader walks the cgroup directories and keeps the smallest room.
type cgroupReader struct {
	root   fs.FS
	credit bool
	room   *units.Bytes
}

// dialect names the files of a cgroup version.
type dialect struct {
	limits []string
	usage  string
	cache  []string
}

var dialects = map[string]dialect{
	"cgroup2": {[]string{"memory.max", "memory.high"}, "memory.current", []string{"active_file", "inactive_file"}},
	// The unprefixed v1 counters leave descendants out, the usage does not.
	"cgroup": {[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", []string{"total_active_file", "total_inactive_file"}},
}

// memberships gives the cgroup path per filesystem type.
func memberships(text string) map[string]string {
	out := map[string]string{}
	for _, line := range lines(text) {
		parts := strings.SplitN(line, ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			out["cgroup2"] = parts[2]
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			out["cgroup"] = parts[2]
		}
	}
	return out
}

// mount reads the limits below one line of mountinfo and reports whether the
// process's cgroup was found there.
func (c *cgroupReader) mount(line string, members map[string]string) (bool, error) {
	before, after, ok := strings.Cut(line, " - ")
	if !ok {
		return false, nil
	}
	kind, fields := strings.Fields(after), strings.Fields(before)
	if len(kind) < 3 || len(fields) < 5 {
		return false, nil
	}
	member, ok := members[kind[0]]
	if !ok || kind[0] == "cgroup" && !slices.Contains(strings.Split(kind[2], ","), "memory") {
		return false, nil
	}
	mount := path.Clean("/" + unescape(fields[4]))
	relative, ok := below(member, unescape(fields[3]))
	if !ok {
		return false, nil
	}
	if slices.Contains(strings.Split(relative, "/"), "..") {
		return false, &CgroupError{Path: member, Why: "outside the cgroup namespace", Fatal: true}
	}
	dir := path.Join(mount, relative)
	if info, err := fs.Stat(c.root, rooted(dir)); err != nil || !info.IsDir() {
		return false, nil
	}
	for {
		if err := c.directory(dir, dialects[kind[0]], kind[0] == "cgroup2"); err != nil {
			return true, err
		}
		if dir == mount || dir == "/" {
			return true, nil
		}
		dir = path.Dir(dir)
	}
}

// below makes a cgroup path relative to the root of its mount. A path that is
// not below it is taken relative to /, as a cgroup namespace shows it, unless
// the mount shows the whole hierarchy.
func below(member, root string) (string, bool) {
	if root == "/" {
		return strings.TrimPrefix(member, "/"), strings.HasPrefix(member, "/")
	}
	if rest, ok := strings.CutPrefix(member, root); ok && (rest == "" || rest[0] == '/') {
		return strings.TrimPrefix(rest, "/"), true
	}
	return strings.TrimPrefix(member, "/"), strings.HasPrefix(member, "/")
}

// directory takes the limits of one cgroup into account.
func (c *cgroupReader) directory(dir string, d dialect, v2 bool) error {
	used := int64(-1)
	for _, name := range d.limits {
		text, err := c.text(path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the root of a hierarchy has no memory files
		}
		if err != nil {
			return err
		}
		if text = strings.TrimSpace(text); text == "max" {
			continue
		}
		limit, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &CgroupError{Path: path.Join(dir, name), Why: "not a number", Fatal: true, Err: err}
		}
		if used < 0 {
			if used, err = c.used(dir, d, v2); err != nil {
				return err
			}
		}
		room := units.Bytes(max(0, limit-used))
		if c.room == nil || room < *c.room {
			c.room = &room
		}
	}
	return nil
}

// used is the usage of a cgroup, from 0.5.22 without the page cache that the
// kernel would drop first.
func (c *cgroupReader) used(dir string, d dialect, v2 bool) (int64, error) {
	text, err := c.text(path.Join(dir, d.usage))
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, &CgroupError{Path: path.Join(dir, d.usage), Why: "not a number", Fatal: true, Err: err}
	}
	if !c.credit {
		return used, nil
	}
	stat, err := c.text(path.Join(dir, "memory.stat"))
	if err != nil {
		return 0, err
	}
	cache, err := pageCache(stat, d.cache)
	if err != nil {
		return 0, &CgroupError{Path: path.Join(dir, "memory.stat"), Why: "no page cache counters", Fatal: true, Err: err}
	}
	if v2 && cache > 0 && c.protected(dir, 0) {
		cache = 0
	}
	return max(0, used-cache), nil
}

func pageCache(stat string, keys []string) (int64, error) {
	values := map[string]int64{}
	for _, line := range lines(stat) {
		if k, v, ok := strings.Cut(line, " "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
				values[k] = n
			}
		}
	}
	var sum int64
	for _, k := range keys {
		n, ok := values[k]
		if !ok {
			return 0, fmt.Errorf("%s is missing", k)
		}
		if sum > math.MaxInt64-max(n, 0) {
			return 0, fmt.Errorf("%s is not a size", k)
		}
		sum += n
	}
	return sum, nil
}

// deepest bounds the walk below a cgroup.
const deepest = 64

// protected reports a descendant with memory.min, or one that cannot be read.
func (c *cgroupReader) protected(dir string, depth int) bool {
	entries, err := fs.ReadDir(c.root, rooted(dir))
	if err != nil || depth > deepest {
		return true
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		child := path.Join(dir, e.Name())
		text, err := c.text(path.Join(child, "memory.min"))
		if err != nil || strings.TrimSpace(text) != "0" || c.protected(child, depth+1) {
			return true
		}
	}
	return false
}

// text reads a file of at most a megabyte.
func (c *cgroupReader) text(name string) (string, error) {
	f, err := c.root.Open(rooted(name))
	if err != nil {
		return "", &CgroupError{Path: name, Why: "unreadable", Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return "", &CgroupError{Path: name, Why: "unreadable", Err: err}
	}
	return string(b), nil
}

// rooted turns an absolute path into one that fs.FS takes.
func rooted(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// unescape undoes the octal escapes of mountinfo (\040 for a space).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
