package gpu

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/machine"
)

func TestErrorTellsWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Kind: NoCGO, Index: -1}, "NVML: built without cgo, so the NVIDIA library cannot be called; build with CGO_ENABLED=1, or plan with --machine or --gpus"},
		{&Error{Kind: Lost, Op: "nvmlDeviceGetHandleByIndex", Index: 3, Text: "GPU is lost"}, "GPU 3: the GPU is lost; look for Xid messages in `dmesg`; it needs a reset or a reboot (nvmlDeviceGetHandleByIndex: GPU is lost)"},
	} {
		if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestEveryKindHasWords keeps the table of messages complete.
func TestEveryKindHasWords(t *testing.T) {
	for _, k := range []Kind{NoCGO, NoLibrary, NoDriver, NoPermission, Lost, Unsupported, Timeout, Failed} {
		if kindText[k] == "" {
			t.Errorf("kind %q has no text", k)
		}
	}
}

// TestReadEndsWithContext: a hung driver must not hang the caller.
func TestReadEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	block := make(chan struct{})
	defer close(block)
	env := func(string) (string, bool) { <-block; return "", false }
	m, err := Read(ctx, WithEnv(env))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	// Without a driver the reading may end first, with its own error.
	if e.Kind == Timeout {
		if diff := cmp.Diff(machine.Machine{Schema: machine.Schema, GPUs: []machine.GPU{}}, m); diff != "" {
			t.Error(diff)
		}
	}
}
