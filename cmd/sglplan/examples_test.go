package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exampleMachines are the machines that the example files are meant for.
var exampleMachines = map[string][]string{
	"kubernetes/deployment.yaml":    {"--gpus", "4xH100"},
	"kubernetes/lws-two-nodes.yaml": {"--gpus", "8xH200"},
	"slurm/server.sbatch":           {"--gpus", "4xH100"},
	"slurm/two-nodes.sbatch":        {"--gpus", "8xH200"},
	"systemd/sglang.service":        {"--gpus", "8xH100"},
	"compose/compose.yaml":          {"--gpus", "8xH100"},
}

// noLaunch are example files that launch no server of their own.
var noLaunch = map[string]bool{
	"kubernetes/machines-job.yaml": true, // collects machines
	"preflight/start.sh":           true, // takes the launch from its caller
}

// TestExamplesFit checks every file of examples/: it is read, and its launches
// fit the machine they are meant for.
func TestExamplesFit(t *testing.T) {
	root := filepath.Join("..", "..", "examples")
	checked := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		switch filepath.Ext(name) {
		case ".go", ".mod", ".sum", ".md", "":
			return nil
		}
		rel, err := filepath.Rel(root, name)
		require.NoError(t, err)
		if noLaunch[filepath.ToSlash(rel)] {
			return nil
		}
		on := exampleMachines[filepath.ToSlash(rel)]
		require.NotNil(t, on, "%s: name the machine it is meant for", rel)
		checked++
		var out, errs bytes.Buffer
		args := append([]string{"check", "-o", "json", "--sglang", "0.5.23", "--host-ram", "2TB", "-f", name}, on...)
		status := run(args, strings.NewReader(""), &out, &errs)
		require.Equal(t, exitOK, status, "%s: %s\n%s", rel, errs.String(), out.String())
		var result struct {
			Launches []json.RawMessage `json:"launches"`
			Launch   json.RawMessage   `json:"launch"`
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &result))
		require.True(t, len(result.Launches) > 0 || result.Launch != nil, rel)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(exampleMachines), checked)
}
