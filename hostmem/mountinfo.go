package hostmem

import (
	"slices"
	"strings"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	root    string // the part of that file system that is mounted here
	point   string
	fstype  string
	source  string
	options []string // of the file system: the controllers of a v1 hierarchy, the size of a tmpfs
}

// parseMountinfo reads /proc/self/mountinfo (proc_pid_mountinfo(5)). Optional
// fields stand before a lone "-"; blanks inside names are octal escapes. Lines
// of another shape are left out.
func parseMountinfo(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		before, after := strings.Split(head, " "), strings.Split(tail, " ")
		if !ok || len(before) < 6 || len(after) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			root: unescape(before[3]), point: unescape(before[4]),
			fstype: after[0], source: unescape(after[1]),
			options: strings.Split(strings.Join(after[2:], " "), ","),
		})
	}
	return mounts
}

var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescape(s string) string { return escapes.Replace(s) }

// option returns the value of a "key=value" option.
func (m mount) option(key string) (string, bool) {
	for _, o := range m.options {
		if v, ok := strings.CutPrefix(o, key+"="); ok {
			return v, true
		}
	}
	return "", false
}

// membership is one line of /proc/self/cgroup (cgroups(7)).
type membership struct {
	controllers []string // none for the v2 hierarchy
	path        string
}

// parseCgroup reads /proc/self/cgroup. The path may hold colons.
func parseCgroup(text string) []membership {
	var all []membership
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		m := membership{path: fields[2]}
		if fields[1] != "" {
			m.controllers = strings.Split(fields[1], ",")
		}
		all = append(all, m)
	}
	return all
}

func (m membership) has(controller string) bool { return slices.Contains(m.controllers, controller) }
