package safetensors

// DType is the element type of a stored tensor.
type DType uint8

// The element types of the format.
const (
	_ DType = iota
	F64
	F32
	F16
	BF16
	F8E4M3
	F8E5M2
	F8E8M0
	F6E2M3
	F6E3M2
	F4
	I64
	I32
	I16
	I8
	U64
	U32
	U16
	U8
	Bool
	C64
)

var dtypes = [...]struct {
	name string
	bits int64
}{
	F64: {"F64", 64}, F32: {"F32", 32}, F16: {"F16", 16}, BF16: {"BF16", 16},
	F8E4M3: {"F8_E4M3", 8}, F8E5M2: {"F8_E5M2", 8}, F8E8M0: {"F8_E8M0", 8},
	F6E2M3: {"F6_E2M3", 6}, F6E3M2: {"F6_E3M2", 6}, F4: {"F4", 4},
	I64: {"I64", 64}, I32: {"I32", 32}, I16: {"I16", 16}, I8: {"I8", 8},
	U64: {"U64", 64}, U32: {"U32", 32}, U16: {"U16", 16}, U8: {"U8", 8},
	Bool: {"BOOL", 8}, C64: {"C64", 64},
}

// Bits returns the size of one element in bits.
func (d DType) Bits() int64 { return dtypes[d].bits }

// String returns the name used in files.
func (d DType) String() string { return dtypes[d].name }

// Wide reports a floating type of four bytes or more, which a model in 16-bit
// types narrows while it loads.
func (d DType) Wide() bool { return d == F32 || d == F64 }

// parseDType returns 0 for a type that the format does not have.
func parseDType(name []byte) DType {
	for i := 1; i < len(dtypes); i++ {
		if dtypes[i].name == string(name) {
			return DType(i)
		}
	}
	return 0
}
