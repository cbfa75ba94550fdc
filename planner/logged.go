package planner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/sglplan/sglplan/internal/pyrepr"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// spelled turns a launch that is known from its server's log back into flags:
// the fields that are flags of the release and differ from its defaults. Any
// other launch is returned as it is.
func spelled(cmd *launch.Command, rel release.Release) *launch.Command {
	if cmd.Logged == nil {
		return cmd
	}
	c := *cmd
	c.Flags = nil
	for _, f := range args.Table(rel) {
		v, logged := cmd.Logged[f.Field]
		if !logged || f.Deprecated || reflect.DeepEqual(v, f.Default) {
			continue
		}
		c.Flags = append(c.Flags, flagWords(f, v)...)
	}
	for i := range c.Flags {
		c.Flags[i].Pos = cmd.Source
		c.Flags[i].Pos.Word = i + 1
	}
	c.Logged = nil
	return &c
}

// flagWords writes a value as the words that argparse reads it from; none
// where no words say it.
func flagWords(f args.Flag, v any) []launch.Word {
	words := []launch.Word{{Text: f.Name}}
	switch v := v.(type) {
	case nil, pyrepr.Object:
		return nil
	case bool:
		switch {
		case f.Switch && v:
			return words
		case f.Switch && len(f.Negations) > 0:
			return []launch.Word{{Text: f.Negations[0]}}
		case f.Switch:
			return nil
		}
		return append(words, launch.Word{Text: strconv.FormatBool(v)})
	case []any:
		if f.List && f.Type != "json" {
			for _, e := range v {
				words = append(words, launch.Word{Text: fmt.Sprint(e)})
			}
			return words
		}
	case map[string]any:
	default:
		return append(words, launch.Word{Text: fmt.Sprint(v)})
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return append(words, launch.Word{Text: string(b)})
}
