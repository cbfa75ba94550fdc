package preflight

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// sitePackages are the places below an installation prefix where pip and
// Debian put packages.
var sitePackages = []string{
	"lib/python3*/site-packages", "lib64/python3*/site-packages",
	"lib/python3*/dist-packages", "lib/python3/dist-packages", "local/lib/python3*/dist-packages",
}

var distInfo = regexp.MustCompile(`^sglang-(.+)\.dist-info$`)

// installedRelease finds the SGLang that a command would run, from the
// metadata that pip leaves beside the package. No Python is started. The
// second result is where it was found, "" when nowhere.
func installedRelease(cmd *launch.Command, env map[string]string) (release.Release, string) {
	for _, dir := range filepath.SplitList(env["PYTHONPATH"]) { // comes before site-packages
		if r, ok := releaseIn(dir); ok {
			return r, dir
		}
	}
	for _, prefix := range prefixes(cmd, env) {
		for _, pattern := range sitePackages {
			dirs, _ := filepath.Glob(filepath.Join(prefix, pattern))
			slices.Reverse(dirs) // the newest Python first
			for _, dir := range dirs {
				if r, ok := releaseIn(dir); ok {
					return r, dir
				}
			}
		}
	}
	return release.Release{}, ""
}

// prefixes lists the installation prefixes of the interpreter or the sglang
// script of the command: as named first, then behind its symbolic link (a
// virtual environment links to the Python it was made from).
func prefixes(cmd *launch.Command, env map[string]string) []string {
	var out []string
	if v := env["VIRTUAL_ENV"]; v != "" {
		out = append(out, v)
	}
	names := []string{cmd.Python}
	if cmd.Python == "" {
		names = []string{"sglang", "python3", "python"}
	}
	for _, name := range names {
		file := lookPath(name, env["PATH"])
		if file == "" {
			continue
		}
		out = append(out, filepath.Dir(filepath.Dir(file)))
		if real, err := filepath.EvalSymlinks(file); err == nil {
			out = append(out, filepath.Dir(filepath.Dir(real)))
		}
	}
	return out
}

// lookPath finds a program as a shell would, without os/exec.
func lookPath(name, path string) string {
	if name == "" {
		return ""
	}
	if filepath.Base(name) != name {
		return name
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

func releaseIn(dir string) (release.Release, bool) {
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil {
		return release.Release{}, false
	}
	for _, e := range entries {
		if m := distInfo.FindStringSubmatch(e.Name()); m != nil {
			if r, err := release.Parse(m[1]); err == nil {
				return r, true
			}
		}
	}
	return release.Release{}, false
}
