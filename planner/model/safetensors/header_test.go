package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/model/safetensors"
)

// file makes a file of a header and data bytes.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

type tensor struct {
	Name       string
	DType      safetensors.DType
	Shape      []int64
	Begin, End int64
}

func read(b []byte) (safetensors.Header, []tensor, error) {
	var r safetensors.Reader
	var out []tensor
	h, err := r.Read("x.safetensors", bytes.NewReader(b), int64(len(b)), func(t *safetensors.Tensor) {
		out = append(out, tensor{string(t.Name), t.DType, append([]int64{}, t.Shape...), t.Begin, t.End})
	})
	return h, out, err
}

func TestHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		header string
		data   int
		want   []tensor
	}{
		"empty":    {`{}`, 0, nil},
		"metadata": {`{"__metadata__":{"format":"pt","x":"{\"a\":[1]}"}}`, 0, nil},
		"two":      {`{"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}   `, 16, []tensor{{"a", safetensors.BF16, []int64{2, 3}, 0, 12}, {"b", safetensors.F32, []int64{}, 12, 16}}},
		"disorder": {`{"b":{"data_offsets":[2,4],"dtype":"U8","shape":[2]}, "a": {"shape":[1],"dtype":"F16","data_offsets":[0,2]}}`, 4, []tensor{{"b", safetensors.U8, []int64{2}, 2, 4}, {"a", safetensors.F16, []int64{1}, 0, 2}}},
		"escapes":  {`{"a\"\\\u00e9":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1, []tensor{{"a\"\\é", safetensors.I8, []int64{1}, 0, 1}}},
		"fp4":      {`{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2, []tensor{{"a", safetensors.F4, []int64{4}, 0, 2}}},
		"nothing":  {`{"a":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,0]}}`, 0, []tensor{{"a", safetensors.F32, []int64{0, 1<<63 - 1}, 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			h, got, err := read(file(tc.header, tc.data))
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
			require.Equal(t, safetensors.Header{Tensors: len(tc.want), Bytes: int64(len(tc.header)), Data: int64(tc.data)}, h)
		})
	}
}

func TestLongHeader(t *testing.T) {
	// Longer than the window, with names that lie across its end.
	var b strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&b, `,"model.layers.%d.%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, i, strings.Repeat("x", i%97), i, i+1)
	}
	h, got, err := read(file("{"+b.String()[1:]+"}", n))
	require.NoError(t, err)
	require.Equal(t, n, h.Tensors)
	require.Equal(t, "model.layers.4999."+strings.Repeat("x", 4999%97), got[n-1].Name)
}

func TestBroken(t *testing.T) {
	length := func(n uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), "{}"...) }
	one := func(fields string) []byte { return file(`{"a":{`+fields+`}}`, 4) }
	for name, tc := range map[string]struct {
		b             []byte
		want          error
		tensor, field string
	}{
		"no bytes":         {nil, safetensors.ErrTruncated, "", ""},
		"half a length":    {[]byte{1, 0, 0}, safetensors.ErrTruncated, "", ""},
		"length of 2^63":   {length(1 << 63), safetensors.ErrLength, "", "header length"},
		"length of -1":     {length(1<<64 - 1), safetensors.ErrLength, "", "header length"},
		"length too long":  {length(99_000_000), safetensors.ErrTruncated, "", "header length"},
		"pointer":          {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"), safetensors.ErrPointer, "", ""},
		"no object":        {file(`[]`, 0), safetensors.ErrSyntax, "", ""},
		"cut short":        {file(`{"a":{"dtype":"U8"`, 0), safetensors.ErrTruncated, "a", "dtype"},
		"text behind":      {file(`{} {}`, 0), safetensors.ErrSyntax, "", ""},
		"given twice":      {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), safetensors.ErrDuplicate, "a", ""},
		"metadata twice":   {file(`{"__metadata__":{},"__metadata__":{}}`, 0), safetensors.ErrDuplicate, "__metadata__", ""},
		"field twice":      {one(`"dtype":"U8","dtype":"U8"`), safetensors.ErrSyntax, "a", "dtype"},
		"unknown field":    {one(`"dtype":"U8","colour":1`), safetensors.ErrSyntax, "a", "colour"},
		"missing field":    {one(`"dtype":"U8","shape":[4]`), safetensors.ErrSyntax, "a", ""},
		"unknown type":     {one(`"dtype":"F7"`), safetensors.ErrDType, "a", "dtype"},
		"negative size":    {one(`"dtype":"U8","shape":[-4]`), safetensors.ErrSyntax, "a", "shape"},
		"broken size":      {one(`"dtype":"U8","shape":[4.5]`), safetensors.ErrSyntax, "a", "shape"},
		"size of 2^64":     {one(`"dtype":"U8","shape":[18446744073709551616]`), safetensors.ErrSyntax, "a", "shape"},
		"absurd shape":     {one(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]`), safetensors.ErrShape, "a", "shape"},
		"too many axes":    {one(`"dtype":"U8","shape":[` + strings.Repeat("1,", 40) + `1]`), safetensors.ErrSyntax, "a", "shape"},
		"backwards":        {one(`"dtype":"U8","shape":[4],"data_offsets":[4,0]`), safetensors.ErrOffsets, "a", "data_offsets"},
		"lying offsets":    {one(`"dtype":"F32","shape":[4],"data_offsets":[0,4]`), safetensors.ErrOffsets, "a", "data_offsets"},
		"half a byte":      {one(`"dtype":"F4","shape":[7],"data_offsets":[0,4]`), safetensors.ErrOffsets, "a", "data_offsets"},
		"behind the end":   {one(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`), safetensors.ErrTruncated, "a", "data_offsets"},
		"bytes left over":  {one(`"dtype":"U8","shape":[3],"data_offsets":[0,3]`), safetensors.ErrOverlap, "", "data_offsets"},
		"overlap":          {file(`{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, 4), safetensors.ErrOverlap, "b", "data_offsets"},
		"gap":              {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, 4), safetensors.ErrOverlap, "b", "data_offsets"},
		"endless name":     {file(`{"`+strings.Repeat("a", 1<<20), 0), safetensors.ErrSyntax, "", ""},
		"deep metadata":    {file(`{"__metadata__":`+strings.Repeat("[", 1<<16)+strings.Repeat("]", 1<<16)+`}`, 0), safetensors.ErrSyntax, "__metadata__", ""},
		"no quote closing": {file(`{"a\`, 0), safetensors.ErrSyntax, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(tc.b)
			require.ErrorIs(t, err, tc.want)
			var e *safetensors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "x.safetensors", e.File)
			require.Equal(t, tc.tensor, e.Tensor, e)
			require.Equal(t, tc.field, e.Field, e)
		})
	}
}

func TestReaderIsReused(t *testing.T) {
	var r safetensors.Reader
	for range 3 {
		b := file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)
		n := 0
		_, err := r.Read("x", bytes.NewReader(b), int64(len(b)), func(*safetensors.Tensor) { n++ })
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
}

// TestClaimsCostNothing reads headers that claim much and hold little.
func TestClaimsCostNothing(t *testing.T) {
	b := length100M()
	got := testing.AllocsPerRun(5, func() {
		var r safetensors.Reader
		_, err := r.Read("x", bytes.NewReader(b), 1<<60, func(*safetensors.Tensor) {})
		require.Error(t, err)
	})
	require.Less(t, got, 100.0)
}

func length100M() []byte {
	return append(binary.LittleEndian.AppendUint64(nil, safetensors.MaxHeader), `{"a":`...)
}

func FuzzHeader(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"__metadata__":{"format":"pt"}}`, 12))
	f.Add(file(`{"a\"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}} `, 1))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<63))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, got, err := read(b)
		if err != nil {
			var e *safetensors.Error
			require.ErrorAs(t, err, &e)
			return
		}
		var sum int64
		for _, x := range got {
			sum += x.End - x.Begin
		}
		require.Equal(t, h.Data, sum, "tensors cover the data")
		require.Equal(t, h.Tensors, len(got))
	})
}
