package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run the command itself as `sglplan`.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sglplan": main})
}

// TestScripts runs every testdata/script/*.txtar with the built command.
// Update golden output with UPDATE_SCRIPTS=1 in the environment.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("REPO", repo) // for scripts that run the examples
			return nil
		},
	})
}
