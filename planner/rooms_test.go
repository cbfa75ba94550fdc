package planner_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/sglplan/sglplan"

// The rooms below planner that are not pure arithmetic, and why.
var (
	// startup follows a real server: processes, log files, its port.
	watches = []string{"planner/startup"}
	// These read files that the caller names, and nothing else of a machine;
	// gen is a command for whoever adds a release, with what commands print to.
	readsFiles = []string{"planner/model/source", "planner/sglang/args/gen"}
)

// What the pure rooms may import beside the standard library and each other:
// parsers, which are arithmetic on text.
var parsers = []string{"go.yaml.in/yaml/v3", "mvdan.cc/sh/v3/syntax", "mvdan.cc/sh/v3/pattern"}

// What no pure room may import, with everything below it. NVML, gopsutil and
// the like are refused as every module that is not among the parsers.
var machinery = []string{"net", "os", "os/exec", "syscall", "plugin", "unsafe", "math/rand", "crypto/rand", "log"}

// asks are the functions of harmless packages that look at the clock.
var asks = map[string][]string{"time": {"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}}

// TestPlannerIsPure holds the arrows: planner and the rooms below it read no
// GPU, no host, no network, no clock, and start nothing.
func TestPlannerIsPure(t *testing.T) {
	files := sources(t, "planner")
	require.Greater(t, len(files), 200)
	for name, file := range files {
		room := path.Dir(name)
		if in(room, watches) {
			continue
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if !mayImport(room, imported) {
				t.Errorf("%s imports %s: the rooms below planner are arithmetic; what reads a machine belongs in gpu, hostmem, hub, preflight or planner/startup", name, imported)
			}
		}
		for _, call := range clockCalls(file) {
			t.Errorf("%s calls %s: a plan depends on its arguments alone", name, call)
		}
	}
}

// TestPlannerImportsNoReader holds that a plan needs neither the readers of
// files nor the follower of a start, through whatever room they might come.
func TestPlannerImportsNoReader(t *testing.T) {
	imports := map[string][]string{}
	for name, file := range sources(t, ".") {
		for _, spec := range file.Imports {
			if in, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok {
				imports[path.Dir(name)] = append(imports[path.Dir(name)], in)
			}
		}
	}
	seen := map[string]bool{}
	var visit func(string)
	visit = func(room string) {
		for _, next := range imports[room] {
			if !seen[next] {
				seen[next] = true
				visit(next)
			}
		}
	}
	visit("planner")
	require.Contains(t, seen, "planner/sglang/pool")
	for room := range seen {
		require.Falsef(t, in(room, append(watches, readsFiles...)), "planner depends on %s", room)
		require.Truef(t, in(room, []string{"planner", "internal/near", "internal/pyrepr"}), "planner depends on %s", room)
	}
}

// TestReleaseNumbers holds that planner/sglang alone decides by release
// numbers. Sentences that name a release are for people and may stand anywhere;
// internal/ imitates servers and compares tools, and decides nothing.
func TestReleaseNumbers(t *testing.T) {
	number := regexp.MustCompile(`^v?0\.[45]\.\d+(\.?(post|rc|dev)\d*)?$`)
	for name, file := range sources(t, ".") {
		if in(path.Dir(name), []string{"planner/sglang", "internal"}) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && number.MatchString(text) {
				t.Errorf("%s holds the release %s: move the rule into planner/sglang", name, lit.Value)
			}
			return true
		})
	}
}

// mayImport says whether a room below planner may import a package.
func mayImport(room, imported string) bool {
	switch {
	case in(room, readsFiles) && (imported == "os" || imported == "log"):
		return true
	case in(imported, machinery):
		return false
	case in(imported, []string{module + "/planner", module + "/internal/near", module + "/internal/pyrepr"}):
		return true
	case strings.Contains(strings.Split(imported, "/")[0], "."):
		return slices.Contains(parsers, imported)
	}
	return true
}

// in reports whether a package is one of those named or below one of them.
func in(name string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool { return name == r || strings.HasPrefix(name, r+"/") })
}

// clockCalls lists the uses of asks in a file.
func clockCalls(file *ast.File) []string {
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(asks[pkg.Name], sel.Sel.Name) {
			found[pkg.Name+"."+sel.Sel.Name] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

// sources parses the Go files of the module below a folder, tests left out,
// by their slash-separated names.
func sources(t *testing.T, below string) map[string]*ast.File {
	t.Helper()
	root := os.DirFS("..")
	files := map[string]*ast.File{}
	err := fs.WalkDir(root, below, func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base == "testdata" || base == "dist" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), filepath.Join("..", filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
		return err
	})
	require.NoError(t, err)
	return files
}
