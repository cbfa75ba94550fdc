package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/startup"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
	"github.com/sglplan/sglplan/preflight"
)

// readCalibration reads what `verify --write` wrote, or takes the figures of an
// earlier start from its log.
func readCalibration(name string) (*planner.Calibration, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var c planner.Calibration
	if head, _ := in.Peek(1); len(head) == 1 && head[0] == '{' {
		if err := json.NewDecoder(io.LimitReader(in, 1<<20)).Decode(&c); err != nil {
			return nil, &preflight.InputError{What: "calibration", Name: name, Err: err}
		}
		return &c, nil
	}
	s, err := serverlog.Read(in)
	if err == nil {
		c, err = startup.Calibrate(s)
	}
	if err != nil {
		return nil, &preflight.InputError{What: "calibration", Name: name, Err: err}
	}
	return &c, nil
}
