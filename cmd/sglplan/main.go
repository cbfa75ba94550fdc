// Command sglplan tells, before a start of 10 to 15 minutes, whether an SGLang
// launch will fit this machine.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
