// Command gen writes the measured launches as cases: what launch.json says was
// asked and sampled, and what the log beside it says.
//
//	go run ./gen ../../testdata/launches data/measured.jsonl.gz
package main

import (
	"fmt"
	"os"

	"github.com/sglplan/sglplan/internal/cases"
	"github.com/sglplan/sglplan/internal/cases/gen/measured"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: gen LAUNCHES OUT")
	}
	rows, err := measured.ReadAll(args[0])
	if err != nil {
		return err
	}
	f, err := os.Create(args[1])
	if err != nil {
		return err
	}
	if err := cases.Write(f, rows); err != nil {
		return err
	}
	return f.Close()
}
