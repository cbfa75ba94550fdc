package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxHeader is the longest header that the format allows, in bytes
// (MAX_HEADER_SIZE of the safetensors library).
const MaxHeader = 100_000_000

// maxRank bounds the number of dimensions of a tensor.
const maxRank = 16

// Tensor is one entry of a header. Name and Shape are valid only during the
// call that hands it over.
type Tensor struct {
	Name       []byte
	DType      DType
	Shape      []int64
	Begin, End int64 // place in the file's data
}

// Bytes returns the size of the stored tensor.
func (t *Tensor) Bytes() int64 { return t.End - t.Begin }

// Header sums up one file.
type Header struct {
	Tensors int
	Bytes   int64 // length of the JSON
	Data    int64 // bytes of tensor data behind it
}

// Reader reads headers, one after the other. It keeps its buffers between
// files; the zero value is ready to use.
type Reader struct {
	in     scanner
	seen   nameSet // of this file
	spans  []span
	name   []byte
	tensor Tensor
	file   string
}

type span struct{ begin, end int64 }

// Read reads the header of a file of size bytes and calls visit for every
// tensor. The file's name is used in errors. An error is an *Error; what was
// visited before it stays valid.
func (d *Reader) Read(file string, r io.ReaderAt, size int64, visit func(*Tensor)) (Header, error) {
	d.file = file
	var first [8]byte
	if _, err := r.ReadAt(first[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrTruncated
		}
		return Header{}, &Error{File: file, Err: err}
	}
	if string(first[:]) == "version " {
		return Header{}, &Error{File: file, Err: ErrPointer}
	}
	n := binary.LittleEndian.Uint64(first[:])
	switch {
	case n > MaxHeader:
		return Header{}, &Error{File: file, Field: "header length", Err: ErrLength, Detail: fmt.Sprintf("%d bytes, at most %d", n, MaxHeader)}
	case int64(n) > size-8:
		return Header{}, &Error{File: file, Field: "header length", Err: ErrTruncated, Detail: fmt.Sprintf("a header of %d bytes in a file of %d", n, size)}
	}
	h := Header{Bytes: int64(n), Data: size - 8 - int64(n)}
	d.in.reset(io.NewSectionReader(r, 8, h.Bytes))
	if err := d.entries(&h, visit); err != nil {
		return h, err
	}
	return h, d.cover(r, h)
}

func (d *Reader) fail(field string, err error, detail string) error {
	return &Error{File: d.file, Tensor: string(d.name), Field: field, Err: err, Detail: detail}
}

// entries reads the object of tensors.
func (d *Reader) entries(h *Header, visit func(*Tensor)) error {
	d.seen.reset()
	d.spans, d.name = d.spans[:0], d.name[:0]
	if !d.in.take('{') {
		return d.fail("", d.in.cause(), "")
	}
	if d.in.take('}') {
		return d.trailing()
	}
	for {
		key, ok := d.in.str()
		if !ok || len(key) > maxString {
			return d.fail("", d.in.cause(), "in the name after this tensor")
		}
		d.name = append(d.name[:0], key...)
		if !d.in.take(':') {
			return d.fail("", d.in.cause(), "")
		}
		if err := d.entry(h, visit); err != nil {
			return err
		}
		if d.in.take('}') {
			return d.trailing()
		}
		if !d.in.take(',') {
			return d.fail("", d.in.cause(), "after this tensor")
		}
	}
}

func (d *Reader) trailing() error {
	if d.in.peek() != 0 {
		return d.fail("", ErrSyntax, "text behind the header's object")
	}
	return nil
}

var metadataKey = []byte("__metadata__")

func (d *Reader) entry(h *Header, visit func(*Tensor)) error {
	if !d.seen.add(d.name) {
		return d.fail("", ErrDuplicate, "")
	}
	if bytes.Equal(d.name, metadataKey) {
		if !d.in.skip(0) {
			return d.fail("", d.in.cause(), "")
		}
		return nil
	}
	if err := d.fields(); err != nil {
		return err
	}
	if err := d.check(h.Data); err != nil {
		return err
	}
	h.Tensors++
	d.spans = append(d.spans, span{d.tensor.Begin, d.tensor.End})
	visit(&d.tensor)
	return nil
}

// The fields of an entry, as bits.
const (
	hasDType = 1 << iota
	hasShape
	hasOffsets
)

// fields reads one {"dtype", "shape", "data_offsets"} into d.tensor.
func (d *Reader) fields() error {
	t := &d.tensor
	*t = Tensor{Name: d.name, Shape: t.Shape[:0]}
	if d.compact() {
		return nil
	}
	*t = Tensor{Name: d.name, Shape: t.Shape[:0]}
	if !d.in.take('{') {
		return d.fail("", d.in.cause(), "no object")
	}
	for seen := 0; ; {
		key, ok := d.in.str()
		if !ok {
			return d.fail("", d.in.cause(), "")
		}
		bit, field := fieldOf(key)
		if bit == 0 || seen&bit != 0 {
			return d.fail(string(key), ErrSyntax, "unknown or repeated field")
		}
		seen |= bit
		if !d.in.take(':') {
			return d.fail(field, d.in.cause(), "")
		}
		if err := d.value(bit, field); err != nil {
			return err
		}
		if d.in.take('}') {
			if seen != hasDType|hasShape|hasOffsets {
				return d.fail("", ErrSyntax, "dtype, shape or data_offsets is missing")
			}
			return nil
		}
		if !d.in.take(',') {
			return d.fail(field, d.in.cause(), "")
		}
	}
}

func fieldOf(key []byte) (int, string) {
	switch string(key) {
	case "dtype":
		return hasDType, "dtype"
	case "shape":
		return hasShape, "shape"
	case "data_offsets":
		return hasOffsets, "data_offsets"
	}
	return 0, ""
}

func (d *Reader) value(bit int, field string) error {
	t := &d.tensor
	switch bit {
	case hasDType:
		text, ok := d.in.str()
		if !ok {
			return d.fail(field, d.in.cause(), "")
		}
		if t.DType = parseDType(text); t.DType == 0 {
			return d.fail(field, ErrDType, fmt.Sprintf("%.40q", text))
		}
	case hasShape:
		var ok bool
		if t.Shape, ok = d.wholes(t.Shape[:0]); !ok {
			return d.fail(field, d.in.cause(), "a list of whole numbers is wanted")
		}
	case hasOffsets:
		var pair [2]int64
		list, ok := d.wholes(pair[:0])
		if !ok || len(list) != 2 {
			return d.fail(field, d.in.cause(), "two whole numbers are wanted")
		}
		t.Begin, t.End = list[0], list[1]
	}
	return nil
}

// wholes reads a list of whole numbers, at most maxRank of them.
func (d *Reader) wholes(out []int64) ([]int64, bool) {
	if !d.in.take('[') {
		return out, false
	}
	if d.in.take(']') {
		return out, true
	}
	for {
		n, ok := d.in.whole()
		if !ok || len(out) == maxRank {
			return out, false
		}
		out = append(out, n)
		if d.in.take(']') {
			return out, true
		}
		if !d.in.take(',') {
			return out, false
		}
	}
}

// check holds shape, type and place of a tensor against each other.
func (d *Reader) check(data int64) error {
	t := &d.tensor
	bits := t.DType.Bits()
	if slices.Contains(t.Shape, 0) {
		bits = 0
	}
	for _, n := range t.Shape {
		if n > 0 && bits > (1<<62)/n {
			return d.fail("shape", ErrShape, fmt.Sprint(t.Shape))
		}
		bits *= n
	}
	switch {
	case t.End < t.Begin:
		return d.fail("data_offsets", ErrOffsets, fmt.Sprintf("[%d, %d] runs backwards", t.Begin, t.End))
	case t.End > data:
		return d.fail("data_offsets", ErrTruncated, fmt.Sprintf("the tensor ends at %d, the data at %d", t.End, data))
	case bits%8 != 0 || bits/8 != t.Bytes():
		return d.fail("data_offsets", ErrOffsets, fmt.Sprintf("%v of %s are %d bytes, not %d", t.Shape, t.DType, (bits+7)/8, t.Bytes()))
	}
	return nil
}

// cover holds the tensors of a file against its data: one after the other,
// without a gap, up to the end.
func (d *Reader) cover(r io.ReaderAt, h Header) error {
	byPlace := func(a, b span) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return cmp.Compare(a.end, b.end)
	}
	if !slices.IsSortedFunc(d.spans, byPlace) {
		slices.SortFunc(d.spans, byPlace)
	}
	at := int64(0)
	for _, s := range d.spans {
		if s.begin != at {
			d.name = append(d.name[:0], d.nameAt(r, h, s)...)
			return d.fail("data_offsets", ErrOverlap, fmt.Sprintf("begins at %d, the tensor before it ends at %d", s.begin, at))
		}
		at = s.end
	}
	if at != h.Data {
		return &Error{File: d.file, Field: "data_offsets", Err: ErrOverlap, Detail: fmt.Sprintf("the last tensor ends at %d of %d bytes of data", at, h.Data)}
	}
	return nil
}

// nameAt reads the header once more for the name of the tensor at a place.
// Only errors need it.
func (d *Reader) nameAt(r io.ReaderAt, h Header, s span) (name string) {
	var again Reader
	again.file = d.file
	again.in.reset(io.NewSectionReader(r, 8, h.Bytes))
	// The header was read without an error before; names seen until a second
	// read fails are as good.
	_ = again.entries(&Header{Data: h.Data}, func(t *Tensor) {
		if t.Begin == s.begin && t.End == s.end {
			name = string(t.Name)
		}
	})
	return name
}
