package hostmem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sglplan/sglplan/planner/machine"
)

var update = flag.Bool("update", false, "write what the fixtures give into their wanted parts")

// wanted is what a fixture tree must be read as.
type wanted struct {
	Host  machine.Host `json:"host"`
	Notes []string     `json:"notes,omitempty"`
	Error string       `json:"error,omitempty"`
}

// TestHost reads trees of /proc and /sys from testdata. Each archive tells what
// it stands for, the files, and in want.json the whole result.
func TestHost(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			root, want := unpack(t, file)
			var got wanted
			var err error
			got.Host, got.Notes, err = New(root).Host(context.Background())
			if err != nil {
				got.Error = err.Error()
				if !errors.Is(err, ErrNoMemory) {
					t.Errorf("error %v is not ErrNoMemory", err)
				}
			}
			text := encode(t, got)
			if *update {
				store(t, file, text)
				return
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// unpack writes an archive into a folder and returns its wanted part.
func unpack(t *testing.T, file string) (root string, want []byte) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	for _, f := range a.Files {
		if f.Name == "want.json" {
			want = f.Data
			continue
		}
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, want
}

func encode(t *testing.T, w wanted) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func store(t *testing.T, file string, want []byte) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := a.Files[:0]
	for _, f := range a.Files {
		if f.Name != "want.json" {
			files = append(files, f)
		}
	}
	a.Files = append(files, txtar.File{Name: "want.json", Data: want})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
