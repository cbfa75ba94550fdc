package preflight_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

// described is a machine that is told, not read, so that the examples print
// the same everywhere. The zero Options plan for the machine they run on.
func described() preflight.Options {
	ram, available := 449*units.GB, 445*units.GB
	return preflight.Options{
		GPUs: "8xRTX-PRO-6000-Blackwell", HostRAM: &ram, HostAvailable: &available,
		SGLang: "0.5.9", Env: map[string]string{},
	}
}

var kimi = []string{"python3", "-m", "sglang.launch_server", "--model-path", "moonshotai/Kimi-K2.5",
	"--tp-size", "8", "--enable-hierarchical-cache", "--hicache-size", "300"}

// A gate before a start: refuse what cannot fit, and say why.
func ExampleCheck() {
	plan, err := preflight.Check(context.Background(), kimi, described())
	var input *preflight.InputError
	if errors.As(err, &input) {
		fmt.Println("cannot read", input.Name)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Verdict)
	for _, f := range plan.Findings {
		if f.Severity == finding.Error {
			fmt.Println(f.Code, f.Flag)
		}
	}
	// Output:
	// reject
	// host-pool-exceeds-memory --hicache-size
}

// The same launch with values that fit.
func ExampleRecommend() {
	plan, err := preflight.Recommend(context.Background(), kimi, described())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Verdict != planner.Reject, *plan.Recommend.HicacheSize, "GB a rank")
	for _, e := range plan.Recommend.Changed {
		if e.Flag == "--hicache-size" {
			fmt.Println(e.Flag, e.Value)
		}
	}
	// Output:
	// true 48 GB a rank
	// --hicache-size 48
}
