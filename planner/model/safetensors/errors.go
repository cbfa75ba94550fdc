package safetensors

import (
	"errors"
	"strings"
)

// The reasons for which a file is refused; an *Error wraps one of them.
var (
	ErrTruncated = errors.New("the file ends early")
	ErrLength    = errors.New("header length out of range")
	ErrSyntax    = errors.New("not the JSON of this format")
	ErrDType     = errors.New("unknown dtype")
	ErrShape     = errors.New("absurd shape")
	ErrOffsets   = errors.New("offsets do not fit")
	ErrOverlap   = errors.New("tensors overlap or leave a gap")
	ErrDuplicate = errors.New("key given twice")
	ErrPointer   = errors.New("a Git LFS pointer, not the file itself")
	ErrPath      = errors.New("not a file name")
)

// An Error reports a file that cannot be used, and where in it.
type Error struct {
	File   string
	Tensor string // "" for the file as a whole
	Field  string // dtype, shape, data_offsets, weight_map; "" for none
	Detail string // the values, in words; may be empty
	Err    error  // one of the reasons above, or the cause of a failed read
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.File, e.Tensor, e.Field, e.Err.Error()} {
		if s != "" {
			if b.Len() > 0 {
				b.WriteString(": ")
			}
			b.WriteString(s)
		}
	}
	if e.Detail != "" {
		b.WriteString(" (" + e.Detail + ")")
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
