package launch_test

import (
	"fmt"
	"strings"

	"github.com/sglplan/sglplan/planner/launch"
)

// The launches of a Compose file, with where they stand and what their
// containers are given.
func ExampleRead() {
	file, err := launch.Read("compose.yaml", strings.NewReader(`services:
  llama:
    image: lmsysorg/sglang:v0.5.9
    mem_limit: 64g
    command: python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B --tp-size ${TP:-2}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range file.Commands {
		fmt.Println(c.Source.Line, c.Container.Name, *c.Container.MemoryBytes)
		fmt.Println(launch.Quote(c.Argv()))
		for _, f := range c.Findings {
			fmt.Println(f.Code)
		}
	}
	// Output:
	// 5 llama 64.00 GiB
	// python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B --tp-size 2
	// script-default-taken
}

// A command keeps its wrappers apart from SGLang's own flags.
func ExampleFromArgv() {
	c, err := launch.FromArgv(strings.Fields("env NCCL_DEBUG=INFO numactl --membind=0 python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B --tp 2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Python, c.Env["NCCL_DEBUG"])
	for _, w := range c.Flags {
		fmt.Println(w.Text)
	}
	// Output:
	// python3 INFO
	// --model-path
	// meta-llama/Llama-3.1-8B
	// --tp
	// 2
}
