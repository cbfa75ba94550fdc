package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/render"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/catalogue"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// oddValues are what people and programs give by mistake.
var oddValues = []string{
	"", "0", "1", "2", "8", "48", "-1", "0.9", "0.5", "1.5", "-0.5", "nan", "inf", "1e308", "1e9", "48.5", "1_000", " 7",
	"9223372036854775807", "99999999999999999999", "1000000", "auto", "none", "None", "true", "fp8_e4m3", "EAGLE", "triton", "deepep",
	`{"a":1}`, `{"num_hidden_layers":0}`, `{"decode":{"bs":[1,-1]}}`, "{", "[]", "\x1b[31m", "\u202e", "a b", "'", "/", "..", "x:y",
}

var fuzzModels = []string{"moonshotai/Kimi-K2.5", "Qwen/Qwen3-8B", "openai/gpt-oss-120b"}

// fuzzSetup holds what is the same for every input.
var fuzzSetup = sync.OnceValue(func() (s struct {
	configs  []*model.Config
	machine  machine.Machine
	releases []release.Release
	flags    [][]string
}) {
	for _, id := range fuzzModels {
		c, err := catalogue.Load(id)
		if err != nil {
			panic(err)
		}
		s.configs = append(s.configs, c)
	}
	gpus, _, err := machine.ParseGPUs("8xH200")
	if err != nil {
		panic(err)
	}
	ram, free := 500*units.GB, 490*units.GB
	s.machine, _, err = machine.Apply(machine.Machine{GPUs: gpus}, machine.Overrides{HostRAM: &ram, HostAvailable: &free})
	if err != nil {
		panic(err)
	}
	s.releases = args.Releases()
	for _, r := range s.releases {
		var names []string
		for _, f := range args.Table(r) {
			names = append(append(append(names, f.Name), f.Aliases...), f.Negations...)
		}
		s.flags = append(s.flags, names)
	}
	return s
})

// oddLaunch is a launch of real flags with odd values, in any order and
// number; a seed always gives the same one.
func oddLaunch(seed uint64) (planner.Request, []string) {
	s, r := fuzzSetup(), rand.New(rand.NewPCG(seed, 1))
	n, m := r.IntN(len(s.releases)), r.IntN(len(fuzzModels))
	argv := []string{"--model-path", fuzzModels[m]}
	for range r.IntN(12) {
		argv = append(argv, s.flags[n][r.IntN(len(s.flags[n]))])
		if r.IntN(4) > 0 {
			argv = append(argv, oddValues[r.IntN(len(oddValues))])
		}
	}
	return planner.Request{
		Model: s.configs[m], Machines: []machine.Machine{s.machine}, Release: s.releases[n],
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }, Remote: true,
	}, argv
}

// judged checks a launch and holds what must be true of any: no panic, a
// verdict, JSON that parses, and text that no terminal acts on and that fits
// its lines.
func judged(t *testing.T, req planner.Request, argv []string) {
	cmd, err := launch.FromArgv(argv)
	if err != nil {
		return
	}
	req.Launch = cmd
	plan := planner.Check(req)
	require.Contains(t, []planner.Verdict{planner.OK, planner.Warn, planner.Reject, planner.Undecided}, plan.Verdict)
	b, err := json.Marshal(plan)
	require.NoError(t, err, "%q", argv)
	require.True(t, json.Valid(b))
	var out bytes.Buffer
	require.NoError(t, render.Text(&out, plan, render.Options{Width: 80}))
	at := strings.IndexFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) })
	require.Equal(t, -1, at, "%q", out.String())
}

// TestOddLaunches judges launches that nobody means.
func TestOddLaunches(t *testing.T) {
	for seed := range uint64(200) {
		req, argv := oddLaunch(seed)
		judged(t, req, argv)
	}
}

// FuzzCheck is TestOddLaunches without end, with words of any kind behind.
func FuzzCheck(f *testing.F) {
	f.Add(uint64(1), "--tp-size 8")
	f.Add(uint64(2), "--enable-hierarchical-cache --hicache-size 300 --mem-fraction-static nan")
	f.Add(uint64(3), "--speculative-algorithm EAGLE --pp-size 1000000 stray \x1b]0;x\a")
	f.Fuzz(func(t *testing.T, seed uint64, rest string) {
		if len(rest) > 400 {
			return
		}
		req, argv := oddLaunch(seed)
		judged(t, req, append(argv, strings.Fields(rest)...))
	})
}
