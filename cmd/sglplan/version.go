package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

// version is set by the release script (-ldflags -X main.version=...); a
// binary from `go install` has it from its build information.
var version string

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of sglplan and the SGLang releases it knows",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "sglplan %s (%s/%s, SGLang %s to %s)\n",
				versionString(), runtime.GOOS, runtime.GOARCH, release.Oldest, release.Newest)
		},
	}
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
