package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"

	"github.com/sglplan/sglplan/planner/units"
)

// readGGUF recognises a GGUF file by its magic; nil without an error is
// something else.
func readGGUF(files fs.FS, name string) (*FormatError, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	version, tensors, ok := ggufHeader(f)
	if !ok {
		return nil, nil
	}
	return &FormatError{File: name, Format: fmt.Sprintf("GGUF version %d", version), Tensors: tensors, Size: units.Bytes(st.Size())}, nil
}

// ggufHeader reads the fixed part of a GGUF header: magic, version, number of
// tensors. From version 2 on the counts have 64 bits; a file of the other byte
// order has its version in the high half.
func ggufHeader(r io.Reader) (version uint32, tensors int64, ok bool) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || !bytes.Equal(head[:4], []byte("GGUF")) {
		return 0, 0, false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(head[4:])&0xffff == 0 {
		order = binary.BigEndian
	}
	version = order.Uint32(head[4:])
	if version == 1 {
		return version, int64(order.Uint32(head[8:])), true
	}
	return version, int64(min(order.Uint64(head[8:]), 1<<40)), true
}
