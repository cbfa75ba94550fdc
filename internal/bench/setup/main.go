// Command setup writes what internal/bench/run.sh measures with: the files of a
// checkpoint of a trillion parameters, with real headers and no data, and the
// machines of a fleet.
//
//	go run ./internal/bench/setup DIR
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/units"
)

// hosts is the size of the fleet.
const hosts = 1000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "setup:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: setup DIR")
	}
	if err := checkpoint(filepath.Join(args[0], "Kimi-K2.5")); err != nil {
		return err
	}
	return fleet(filepath.Join(args[0], "fleet.jsonl"))
}

// checkpoint writes a model folder as the hub's cache would hold it.
func checkpoint(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cfg, err := catalogue.Load("moonshotai/Kimi-K2.5")
	if err != nil {
		return err
	}
	b, err := json.Marshal(cfg.Top)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), b, 0o644); err != nil {
		return err
	}
	_, err = bigcheckpoint.Write(dir, bigcheckpoint.Kimi(61, 384), 64)
	return err
}

// fleet writes machines that differ in what is free on their cards.
func fleet(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	e := json.NewEncoder(f)
	ram := 2 * units.TB
	for i := range hosts {
		gpus, _, err := machine.ParseGPUs("8xH200")
		if err != nil {
			return err
		}
		m, _, err := machine.Apply(machine.Machine{GPUs: gpus}, machine.Overrides{HostRAM: &ram})
		if err != nil {
			return err
		}
		used := units.Bytes(i) * units.MiB
		for j := range m.GPUs {
			free := *m.GPUs[j].TotalBytes - used
			m.GPUs[j].UsedBytes, m.GPUs[j].FreeBytes = &used, &free
		}
		if err := e.Encode(m); err != nil {
			return err
		}
	}
	return f.Close()
}
