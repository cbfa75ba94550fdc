package hicache

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/hostmem"
)

// TestHeadroomOfMachine holds that a machine as package hostmem reads it tells
// enough: what HeadroomOf makes of it is what SGLang's own reader makes of the
// tree. Trees on which that reader stops are left out.
func TestHeadroomOfMachine(t *testing.T) {
	n := 0
	for _, v := range vectors(t, "cgroup_headroom") {
		if v.Error != nil {
			continue
		}
		var want struct {
			Headroom *int64 `json:"headroom_bytes"`
		}
		require.NoError(t, json.Unmarshal(v.Out, &want))
		if want.Headroom != nil && *want.Headroom > 1<<62 {
			want.Headroom = nil // v1 writes "no limit" as a number
		}
		h, _, err := hostmem.New(onDisk(t, cgroupTree(t, v.Tree))).Host(context.Background())
		require.NoError(t, err, v.Case)
		var got *int64
		if room := HeadroomOf(v.release(), h); room != nil {
			b := int64(*room)
			got = &b
		}
		require.Empty(t, cmp.Diff(want.Headroom, got), "%s %s", v.release(), v.Case)
		n++
	}
	require.Greater(t, n, 20)
}

// onDisk writes a tree below a folder, with what a kernel has there besides.
func onDisk(t *testing.T, tree fs.FS) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			b, err := fs.ReadFile(tree, name)
			write(name, string(b))
			return err
		}
		if err := os.MkdirAll(filepath.Join(root, name), 0o750); err != nil {
			return err
		}
		if name == "cg" || strings.HasPrefix(name, "cg/") {
			write(filepath.Join(name, "cgroup.controllers"), "cpu memory\n")
		}
		return nil
	}))
	write("proc/meminfo", "MemTotal: 2000000000 kB\nMemFree: 1900000000 kB\nMemAvailable: 1900000000 kB\n")
	return root
}
