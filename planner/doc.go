// Package planner answers, before an SGLang server starts, whether the launch
// will fit its machine: how many KV tokens it will have, what every byte of
// GPU and host memory is used for, in which phase it would fail, and which
// flags would be right.
//
// It is pure arithmetic over three values: a launch, a model and a machine. It
// reads no hardware, no clock and no network; package gpu and package hostmem
// read a machine, package machine takes one from JSON or from a catalogue of
// cards.
//
// Import it to check a launch from Go:
//
//	plan := planner.Check(planner.Request{Launch: cmd, Model: cfg, Machines: []machine.Machine{m}})
//	if plan.Verdict == planner.Reject { ... }
package planner
