package safetensors_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/model/safetensors"
)

func TestIndex(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want safetensors.Index
	}{
		"usual":      {`{"metadata":{"total_size":1234},"weight_map":{"a":"y.safetensors","b":"x.safetensors","c":"y.safetensors"}}`, safetensors.Index{Shards: []string{"x.safetensors", "y.safetensors"}, Tensors: 3, TotalSize: 1234}},
		"order":      {"{\"weight_map\": {\"a\": \"x\"},\n \"metadata\": {\"mtp\": {\"x\": [1, 2.5, null]}, \"total_size\": 7}}\n", safetensors.Index{Shards: []string{"x"}, Tensors: 1, TotalSize: 7}},
		"float size": {`{"metadata":{"total_size":1.5e9,"n":null},"weight_map":{}}`, safetensors.Index{}},
		"text size":  {`{"metadata":{"total_size":"9","total_parameters":5},"weight_map":{}}`, safetensors.Index{}},
		"no object":  {`{"metadata":null,"weight_map":{}}`, safetensors.Index{}},
		"more":       {`{"x":[{"y":"}"}],"weight_map":{"a":"sub/x"}}`, safetensors.Index{Shards: []string{"sub/x"}, Tensors: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := safetensors.ReadIndex("i.json", strings.NewReader(tc.text))
			require.NoError(t, err)
			require.Equal(t, &tc.want, got)
		})
	}
}

func TestBrokenIndex(t *testing.T) {
	for name, tc := range map[string]struct {
		text, field string
		want        error
	}{
		"empty":          {``, "", safetensors.ErrTruncated},
		"list":           {`[]`, "", safetensors.ErrSyntax},
		"no map":         {`{"metadata":{}}`, "weight_map", safetensors.ErrSyntax},
		"map of numbers": {`{"weight_map":{"a":1}}`, "weight_map", safetensors.ErrSyntax},
		"cut short":      {`{"weight_map":{"a":"x"`, "weight_map", safetensors.ErrTruncated},
		"given twice":    {`{"weight_map":{"a":"x","a":"y"}}`, "weight_map", safetensors.ErrDuplicate},
		"two maps":       {`{"weight_map":{},"weight_map":{}}`, "weight_map", safetensors.ErrDuplicate},
		"outside":        {`{"weight_map":{"a":"../../etc/passwd"}}`, "weight_map", safetensors.ErrPath},
		"absolute":       {`{"weight_map":{"a":"/etc/passwd"}}`, "weight_map", safetensors.ErrPath},
		"text behind":    {`{"weight_map":{}} x`, "", safetensors.ErrSyntax},
		"pointer":        {"version https://git-lfs.github.com/spec/v1\n", "", safetensors.ErrSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := safetensors.ReadIndex("i.json", strings.NewReader(tc.text))
			require.ErrorIs(t, err, tc.want)
			var e *safetensors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "i.json", e.File)
			require.Equal(t, tc.field, e.Field)
		})
	}
}

func TestIndexOfAFailingFile(t *testing.T) {
	broken := errors.New("input/output error")
	_, err := safetensors.ReadIndex("i.json", io.MultiReader(strings.NewReader(`{"weight_map":{`), failing{broken}))
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzIndex(f *testing.F) {
	f.Add(`{"metadata":{"total_size":1234},"weight_map":{"a":"y.safetensors","b":"x.safetensors"}}`)
	f.Add(`{"metadata":{"total_size":1.5},"weight_map":{"\u0061":"y"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		x, err := safetensors.ReadIndex("i", strings.NewReader(text))
		if err != nil {
			var e *safetensors.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.LessOrEqual(t, len(x.Shards), x.Tensors)
		require.GreaterOrEqual(t, x.TotalSize, int64(0))
	})
}
