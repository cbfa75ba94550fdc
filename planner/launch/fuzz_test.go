package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seed gives a fuzz target the files of testdata whose names end so.
func seed(f *testing.F, endings ...string) {
	names, err := filepath.Glob("testdata/*/*")
	require.NoError(f, err)
	for _, name := range names {
		for _, end := range endings {
			if strings.HasSuffix(name, end) && !strings.Contains(name, ".golden") {
				b, err := os.ReadFile(name)
				require.NoError(f, err)
				f.Add(string(b))
			}
		}
	}
}

// sound holds what every reader promises, whatever it is given.
func sound(t *testing.T, file File) {
	for _, c := range file.Commands {
		require.NotNil(t, c.Env)
		for _, w := range append(append([]Word{}, c.Prefix...), c.Flags...) {
			require.False(t, hole(w.Text), "a mark in %q", w.Text)
		}
		for name, v := range c.Env {
			require.False(t, hole(v), "a mark in %s=%q", name, v)
		}
		for _, f := range c.Findings {
			require.NotZero(t, f.Severity)
			require.False(t, hole(f.Detail), "a mark in %q", f.Detail)
		}
		if k := c.Container; k != nil {
			require.False(t, hole(k.Name+k.Image), "a mark in %q", k.Name+k.Image)
		}
		_ = c.Argv()
	}
	for _, f := range file.Findings {
		require.NotZero(t, f.Severity)
		require.False(t, hole(f.Detail), "a mark in %q", f.Detail)
	}
}

func FuzzArgv(f *testing.F) {
	for _, s := range []string{
		"python3 -m sglang.launch_server --model-path m --tp 8",
		"sudo docker --context x run -itv a:b --gpus 'device=0,1' -m 10g img sglang serve m",
		"bash -lc 'A=1 python -m sglang.launch_server $A' x y",
		"ssh -p 1 host nohup env B=2 sglang serve m", "srun -N2 --gres=gpu:8 -w n1 sglang serve m", "--model m",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		parts, _ := splitWords(line)
		var argv []string
		for _, p := range parts {
			argv = append(argv, p.text)
		}
		if file, err := Lines(Words(argv)); err == nil {
			sound(t, file)
		}
	})
}

func fuzzRead(f *testing.F, name string) {
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Read(name, strings.NewReader(text))
		if err == nil {
			sound(t, file)
		}
	})
}

func FuzzScript(f *testing.F) {
	seed(f, ".sh", ".sbatch")
	f.Add("#!/bin/bash\nA=$A$A; for i in {1..9}; do A=$A$A; done; eval $A; f() { f; }; f")
	fuzzRead(f, "run.sh")
}

func FuzzYAML(f *testing.F) {
	seed(f, ".yaml", ".json")
	fuzzRead(f, "file.yaml")
}

func FuzzUnit(f *testing.F) {
	seed(f, ".service", ".container")
	fuzzRead(f, "sglang.service")
}

func FuzzServerArgs(f *testing.F) {
	seed(f, ".log")
	f.Fuzz(func(t *testing.T, line string) {
		if c, err := FromServerArgs(line); err == nil {
			require.NotEmpty(t, c.Logged)
		}
	})
}
