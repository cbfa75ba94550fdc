package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/preflight"
)

// readCalibration reads what `verify --write` wrote.
func readCalibration(name string) (*planner.Calibration, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var c planner.Calibration
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&c); err != nil {
		return nil, &preflight.InputError{What: "calibration", Name: name, Err: err}
	}
	return &c, nil
}
