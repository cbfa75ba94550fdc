// Package bigcheckpoint writes checkpoints with the headers of real models and
// no data: the files are as long as real ones and empty. Tests and benchmarks
// read them.
package bigcheckpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Tensor is one tensor to write.
type Tensor struct {
	Name  string
	DType string
	Bits  int64
	Shape []int64
}

func (t Tensor) bytes() int64 {
	n := t.Bits
	for _, s := range t.Shape {
		n *= s
	}
	return n / 8
}

// Matrix is a bf16 tensor.
func Matrix(name string, shape ...int64) Tensor { return Tensor{name, "BF16", 16, shape} }

// Write puts the tensors into shards files below dir, with their index, in the
// order given. It returns the size of all tensors in bytes.
func Write(dir string, tensors []Tensor, shards int) (int64, error) {
	var total int64
	var index bytes.Buffer
	per := (len(tensors) + shards - 1) / shards
	for i := range shards {
		name := fmt.Sprintf("model-%05d-of-%06d.safetensors", i+1, shards)
		part := tensors[min(i*per, len(tensors)):min((i+1)*per, len(tensors))]
		n, err := writeShard(filepath.Join(dir, name), part)
		if err != nil {
			return 0, err
		}
		total += n
		for _, t := range part {
			if index.Len() > 0 {
				index.WriteString(",\n")
			}
			fmt.Fprintf(&index, "    %q: %q", t.Name, name)
		}
	}
	text := fmt.Sprintf("{\n  \"metadata\": {\n    \"total_size\": %d\n  },\n  \"weight_map\": {\n%s\n  }\n}\n", total, index.Bytes())
	return total, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(text), 0o600)
}

func writeShard(path string, tensors []Tensor) (int64, error) {
	head, data := Header(tensors)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Write(head); err != nil {
		return 0, err
	}
	if err := f.Truncate(int64(len(head)) + data); err != nil {
		return 0, err
	}
	return data, f.Close()
}

// Header returns the length and the JSON of a file with these tensors, and how
// much data follows.
func Header(tensors []Tensor) (head []byte, data int64) {
	b := append(make([]byte, 8, 1<<20), `{"__metadata__":{"format":"pt"}`...)
	for _, t := range tensors {
		b = append(b, ',')
		b = strconv.AppendQuote(b, t.Name)
		b = append(append(append(b, `:{"dtype":"`...), t.DType...), `","shape":[`...)
		for i, n := range t.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(strconv.AppendInt(append(b, `],"data_offsets":[`...), data, 10), ',')
		data += t.bytes()
		b = append(strconv.AppendInt(b, data, 10), "]}"...)
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b, data
}
