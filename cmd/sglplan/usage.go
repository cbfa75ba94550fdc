package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sglplan/sglplan/internal/near"
	"github.com/sglplan/sglplan/planner/sglang/args"
)

// wrongUse words the errors of option parsing: which word is meant, what is
// near it, and where SGLang's own flags belong.
func wrongUse(argv []string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		var invalid *pflag.InvalidValueError
		var missing *pflag.ValueRequiredError
		help := fmt.Sprintf("; %s --help lists the options", cmd.CommandPath())
		switch {
		case errors.As(err, &unknown):
			return errors.New(unknownOption(cmd, argv, unknown) + help)
		case errors.As(err, &invalid):
			cause := invalid.Unwrap().Error()
			if t := invalid.GetFlag().Value.Type(); strings.HasPrefix(t, "int") {
				cause = "not a whole number"
			}
			cause = strings.TrimPrefix(cause, fmt.Sprintf("size %q: ", invalid.GetValue()))
			return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cause)
		case errors.As(err, &missing):
			_, usage := pflag.UnquoteUsage(missing.GetFlag())
			return fmt.Errorf("--%s needs a value: %s%s", missing.GetFlag().Name, usage, help)
		}
		return err
	}
}

func unknownOption(cmd *cobra.Command, argv []string, e *pflag.NotExistError) string {
	name := "--" + e.GetSpecifiedName()
	if s := e.GetSpecifiedShortnames(); s != "" {
		name = "-" + s
	}
	text := name + place(argv, name) + " is no option of " + cmd.CommandPath()
	if strings.HasPrefix(name, "--") && len(args.Known(name)) > 0 && strings.Contains(cmd.Use, "LAUNCH") {
		return fmt.Sprintf("%s; flags of the launch stand behind --: %s [options] -- %s ...", text, cmd.CommandPath(), name)
	}
	if n := near.Closest(e.GetSpecifiedName(), optionNames(cmd)); n != "" {
		text += "; the nearest is --" + n
	}
	return text
}

// place says which word of the command an option is.
func place(argv []string, name string) string {
	at := slices.IndexFunc(argv, func(w string) bool { return w == name || strings.HasPrefix(w, name+"=") })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (word %d)", at+1)
}

func optionNames(cmd *cobra.Command) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		more := true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { more = more && !f.Hidden && yield(f.Name) })
	}
}

// knownVerb refuses words that are no verb and names the nearest.
func knownVerb(root *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	text := fmt.Sprintf("sglplan has no verb %q", words[0])
	if n := near.Closest(words[0], verbNames(root)); n != "" {
		text += "; did you mean sglplan " + n + "?"
	} else if strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "sglang") || strings.Contains(words[0], "python") {
		text += "; to check a launch: sglplan check -- " + words[0] + " ..."
	}
	return errors.New(text + " (sglplan --help lists the verbs)")
}

func verbNames(root *cobra.Command) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, c := range root.Commands() {
			if !c.Hidden && !yield(c.Name()) {
				return
			}
		}
	}
}

// noEmptyValues refuses options that are given an empty value, as an unset
// variable of a script gives them: --gpus "$CARDS" must not silently mean this
// machine.
func noEmptyValues(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("--%s is empty: give a value or leave it out", f.Name)
		}
	})
	return err
}

// apiKey is the key that was given, else that of the environment. It is no
// default of the option, which --help would print.
func apiKey(given string) string { return cmp.Or(given, os.Getenv("SGLANG_API_KEY")) }
