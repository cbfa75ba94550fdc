package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func checkFleet(cmd *cobra.Command, o *planOptions, args []string) error {
	return errors.New("--machines: not read")
}
