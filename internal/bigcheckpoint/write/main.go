// Command write puts the checkpoint of a trillion parameters that the
// benchmarks read into a folder; its files are empty behind their headers.
package main

import (
	"fmt"
	"os"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err := bigcheckpoint.Write(dir, bigcheckpoint.Kimi(61, 384), 64)
	return err
}
