// Package packaging_test builds a release as release.sh makes it, twice, and
// installs its wheel.
package packaging_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// need skips the test where a tool is missing, and in -short runs.
func need(t *testing.T, tools ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the command twice")
	}
	if runtime.GOOS != "linux" {
		t.Skip("wheels are for linux")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// command runs a tool and returns its output and exit status.
func command(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func release(t *testing.T, root string) string {
	t.Helper()
	out := t.TempDir()
	text, code := command(t, root, []string{"ARCHES=" + runtime.GOARCH}, filepath.Join(root, "packaging", "release.sh"), "v1.2.3", out)
	require.Zero(t, code, text)
	return out
}

// TestRelease: two builds, the second of a copy in another folder, give the
// same bytes; the checksums and the bill of materials are right; the wheel
// installs without a network and runs.
func TestRelease(t *testing.T) {
	need(t, "bash", "python3", "sha256sum", "gcc")
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	first := release(t, root)
	same(t, first, release(t, clone(t, root)))

	text, code := command(t, first, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	require.Zero(t, code, text)
	billOfMaterials(t, filepath.Join(first, "sglplan-1.2.3-linux-"+runtime.GOARCH+".cdx.json"))
	install(t, first)
}

// clone copies the files that make the command.
func clone(t *testing.T, root string) string {
	t.Helper()
	to := t.TempDir()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		from := filepath.Join(root, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), slices.Contains([]string{"dist", "docs", "examples", "testdata", "tools"}, e.Name()):
		case e.IsDir():
			require.NoError(t, os.CopyFS(filepath.Join(to, e.Name()), os.DirFS(from)))
		case e.Type().IsRegular():
			b, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o600))
		}
	}
	require.NoError(t, os.Chmod(filepath.Join(to, "packaging", "release.sh"), 0o700))
	return to
}

func same(t *testing.T, a, b string) {
	t.Helper()
	files, err := os.ReadDir(a)
	require.NoError(t, err)
	require.Len(t, files, 4) // command, bill of materials, wheel, checksums
	for _, f := range files {
		x, err := os.ReadFile(filepath.Join(a, f.Name()))
		require.NoError(t, err)
		y, err := os.ReadFile(filepath.Join(b, f.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(x, y), f.Name())
	}
}

func billOfMaterials(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	require.NoError(t, json.Unmarshal(b, &bom))
	require.Equal(t, "CycloneDX", bom.BOMFormat)
	var names []string
	for _, c := range bom.Components {
		require.NotEmpty(t, c.Version, c.Name)
		require.True(t, strings.HasPrefix(c.PURL, "pkg:golang/"), c.PURL)
		names = append(names, c.Name)
	}
	require.Subset(t, names, []string{"std", "github.com/spf13/cobra", "github.com/NVIDIA/go-nvml"})
}

// install puts the wheel into a fresh environment and runs the founding case.
func install(t *testing.T, dist string) {
	t.Helper()
	venv := t.TempDir()
	if text, code := command(t, dist, nil, "python3", "-m", "venv", venv); code != 0 {
		t.Skip("python3 has no venv: " + text)
	}
	wheels, err := filepath.Glob(filepath.Join(dist, "*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	text, code := command(t, dist, nil, filepath.Join(venv, "bin", "pip"), "install", "--no-index", "--disable-pip-version-check", wheels[0])
	require.Zero(t, code, text)

	sglplan := filepath.Join(venv, "bin", "sglplan")
	text, code = command(t, dist, nil, sglplan, "version")
	require.Zero(t, code, text)
	require.Contains(t, text, "sglplan 1.2.3 (linux/")
	text, code = command(t, dist, nil, sglplan, "check", "--gpus", "8xRTX-PRO-6000-Blackwell", "--gpu-free", "94.04GiB",
		"--host-ram", "449GB", "--host-available", "445GB", "--sglang", "0.5.9", "--",
		"python3", "-m", "sglang.launch_server", "--model-path", "moonshotai/Kimi-K2.5", "--tp-size", "8",
		"--mem-fraction-static", "0.93", "--enable-hierarchical-cache", "--hicache-size", "300")
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "2,400 GB")
}

// TestVersions: what a tag becomes as a Python version.
func TestVersions(t *testing.T) {
	need(t, "python3")
	args := []string{"-c", "import sys, wheel\nfor tag in sys.argv[1:]: print(tag, wheel.python_version(tag))"}
	want := ""
	for _, v := range [][2]string{
		{"v1.2.3", "1.2.3"},
		{"1.0", "1.0"},
		{"v1.2.3-rc.1", "1.2.3rc1"},
		{"v1.2.3-4-gabc123", "1.2.3.post4+gabc123"},
		{"v1.2.3-dirty", "1.2.3+dirty"},
		{"abc123", "0.0.0.dev0+abc123"},
	} {
		args = append(args, v[0])
		want += v[0] + " " + v[1] + "\n"
	}
	text, code := command(t, ".", []string{"PYTHONDONTWRITEBYTECODE=1"}, "python3", args...)
	require.Zero(t, code, text)
	require.Equal(t, want, text)
}
