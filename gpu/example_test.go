package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sglplan/sglplan/gpu"
)

// The cards of this machine, with a driver that may hang.
func ExampleRead() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m, err := gpu.Read(ctx)
	var e *gpu.Error
	if errors.As(err, &e) {
		fmt.Println("no GPUs:", e.Kind)
	}
	for _, g := range m.GPUs {
		if g.FreeBytes != nil {
			fmt.Printf("%d %s: %v free\n", g.Index, g.Name, *g.FreeBytes)
		}
	}
}
