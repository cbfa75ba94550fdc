package startup_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// A launcher starts SGLang and follows it until its fate is known.
func ExampleWatch() {
	for e := range startup.Watch(context.Background(), startup.Options{
		URL: "http://127.0.0.1:1", Timeout: 50 * time.Millisecond, Poll: 10 * time.Millisecond,
	}) {
		if e.Outcome != "" {
			fmt.Println(e.Outcome, e.Code)
		}
	}
	// Output: timeout start-timeout
}

// What an earlier start measured is what a later plan can use.
func ExampleCalibrate() {
	f, err := os.CreateTemp("", "server-*.log")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	fmt.Fprintln(f, "[2026-11-30 21:12:59] Load weight begin. avail mem=139.13 GB")
	fmt.Fprintln(f, "[2026-11-30 21:12:59] Load weight end. elapsed=0.16 s, type=LlamaForCausalLM, avail mem=124.11 GB, mem usage=15.02 GB.")
	fmt.Fprintln(f, "[2026-11-30 21:13:00] Memory pool end. avail mem=11.73 GB")
	if _, err := f.Seek(0, 0); err != nil {
		panic(err)
	}
	s, err := serverlog.Read(f)
	if err != nil {
		panic(err)
	}
	c, err := startup.Calibrate(s)
	fmt.Println(*c.PreLoadFree, *c.Weights, *c.PoolEndFree, err)
	// Output: 139.13 GiB 15.02 GiB 11.73 GiB <nil>
}
