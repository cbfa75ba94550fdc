package planner_test

import (
	"errors"
	"fmt"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// A launch is judged on a machine that is described, not read.
func ExampleCheck() {
	cmd, err := launch.FromArgv([]string{"python3", "-m", "sglang.launch_server",
		"--model-path", "moonshotai/Kimi-K2.5", "--tp-size", "8", "--mem-fraction-static", "0.88",
		"--enable-hierarchical-cache", "--hicache-size", "300"})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := catalogue.Load("moonshotai/Kimi-K2.5")
	if err != nil {
		fmt.Println(err)
		return
	}
	gpus, _, err := machine.ParseGPUs("8xRTX-PRO-6000-Blackwell")
	if err != nil {
		fmt.Println(err)
		return
	}
	available := 445 * units.GB
	plan := planner.Check(planner.Request{
		Launch: cmd, Model: cfg, Release: release.MustParse("0.5.9"),
		Machines: []machine.Machine{{GPUs: gpus, Host: &machine.Host{AvailableBytes: &available}}},
	})
	fmt.Println(plan.Verdict, plan.Findings[0].Code)
	fmt.Println("type instead: --hicache-size", *plan.Recommend.HicacheSize)
	// Output:
	// reject host-pool-exceeds-memory
	// type instead: --hicache-size 48
}

// A program that searches asks for one fraction after another.
func ExampleEvaluator() {
	cmd, err := launch.FromArgv([]string{"--model-path", "meta-llama/Llama-3.1-8B"})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := catalogue.Load("meta-llama/Llama-3.1-8B")
	if err != nil {
		fmt.Println(err)
		return
	}
	gpus, _, err := machine.ParseGPUs("1xH200")
	if err != nil {
		fmt.Println(err)
		return
	}
	at := planner.Evaluator(planner.Request{Launch: cmd, Model: cfg, Machines: []machine.Machine{{GPUs: gpus}}, Release: release.MustParse("0.5.17")})
	for _, f := range []float64{0.80, 0.90, 0.99} {
		fmt.Println(f, at(f).Verdict)
	}
	// Output:
	// 0.8 ok
	// 0.9 ok
	// 0.99 reject
}

// Typed errors tell a program what went wrong.
func Example_errors() {
	_, err := launch.FromArgv([]string{"ls", "-l"})
	var notLaunch *launch.NotLaunchError
	fmt.Println(errors.As(err, &notLaunch))

	_, err = catalogue.Load("nobody/nothing")
	var notFound *catalogue.NotFoundError
	fmt.Println(errors.As(err, &notFound))
	// Output:
	// true
	// true
}
