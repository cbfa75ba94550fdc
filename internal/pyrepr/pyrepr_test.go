package pyrepr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	for in, want := range map[string]map[string]any{
		`ServerArgs(model_path='a b', tp_size=8, mem_fraction_static=0.9, quantization=None, trust=True, bs=[1, 2], cfg={'a': 1}, mode=<Mode.A: 1>)`: {
			"model_path": "a b", "tp_size": int64(8), "mem_fraction_static": 0.9, "quantization": nil, "trust": true,
			"bs": []any{int64(1), int64(2)}, "cfg": map[string]any{"a": int64(1)}, "mode": Object("<Mode.A: 1>"),
		},
		`{'model_path': "it's", 'json': '{"a": 1}'}`:         {"model_path": "it's", "json": `{"a": 1}`},
		`ServerArgs(model_path='m', tp_size=8, rest='cut of`: {"model_path": "m", "tp_size": int64(8), "rest": "cut of"},
		`'only text'`: nil,
		``:            nil,
	} {
		if d := cmp.Diff(want, Fields([]byte(in))); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{`ServerArgs(a=1, b=[(1, 'x')], c={'k': <E: 1>})`, `{'a': {'b': [`, `A(((((`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, b []byte) { Fields(b) })
}
