package safetensors

import (
	"io"
	"io/fs"
	"maps"
	"slices"
)

// IndexName is the file that says which shard holds which tensor.
const IndexName = "model.safetensors.index.json"

// maxShards bounds the number of files that an index may name.
const maxShards = 1 << 16

// Index is what an index file says.
type Index struct {
	Shards    []string // the files it names, sorted
	Tensors   int
	TotalSize int64 // metadata.total_size in bytes, 0 when not given
}

// ReadIndex reads an index. The file's name is used in errors; an error is an
// *Error.
func ReadIndex(file string, r io.Reader) (*Index, error) {
	x := indexReader{file: file, shards: map[string]struct{}{}}
	x.in.reset(r)
	if err := x.top(); err != nil {
		return nil, err
	}
	x.out.Shards = slices.Sorted(maps.Keys(x.shards))
	return &x.out, nil
}

type indexReader struct {
	file   string
	in     scanner
	out    Index
	shards map[string]struct{}
	last   []byte // shard of the entry before, most often the same
}

func (x *indexReader) fail(field string, err error, detail string) error {
	return &Error{File: x.file, Field: field, Err: err, Detail: detail}
}

// object reads {"key": value, ...}; item reads one value.
func (x *indexReader) object(field string, item func(key []byte) error) error {
	if !x.in.take('{') {
		return x.fail(field, x.in.cause(), "an object is wanted")
	}
	if x.in.take('}') {
		return nil
	}
	for {
		key, ok := x.in.str()
		if !ok || len(key) > maxString {
			return x.fail(field, x.in.cause(), "")
		}
		if err := item(key); err != nil {
			return err
		}
		if x.in.take('}') {
			return nil
		}
		if !x.in.take(',') {
			return x.fail(field, x.in.cause(), "")
		}
	}
}

func (x *indexReader) top() error {
	seen := map[string]bool{}
	err := x.object("", func(key []byte) error {
		field := string(key)
		if seen[field] {
			return x.fail(field, ErrDuplicate, "")
		}
		// Only what is read is remembered, so that many keys cost nothing.
		switch field {
		case "weight_map":
			seen[field] = true
			return x.colon(field, x.weightMap)
		case "metadata":
			seen[field] = true
			return x.colon(field, x.metadata)
		}
		return x.colon(field, func() error { return x.skip(field) })
	})
	switch {
	case err != nil:
		return err
	case !seen["weight_map"]:
		return x.fail("weight_map", ErrSyntax, "missing")
	case x.in.peek() != 0:
		return x.fail("", ErrSyntax, "text behind the object")
	}
	return nil
}

func (x *indexReader) colon(field string, value func() error) error {
	if !x.in.take(':') {
		return x.fail(field, x.in.cause(), "")
	}
	return value()
}

func (x *indexReader) skip(field string) error {
	if !x.in.skip(0) {
		return x.fail(field, x.in.cause(), "")
	}
	return nil
}

func (x *indexReader) metadata() error {
	if x.in.peek() != '{' {
		return x.skip("metadata")
	}
	return x.object("metadata", func(key []byte) error {
		total := string(key) == "total_size"
		return x.colon("metadata", func() error {
			if total {
				if n, ok := x.in.whole(); ok {
					x.out.TotalSize = n
					return nil
				}
			}
			// A size written as a float or as text says too little to use.
			x.in.skipWord()
			if c := x.in.peek(); c == ',' || c == '}' {
				return nil
			}
			return x.skip("metadata")
		})
	})
}

func (x *indexReader) weightMap() error {
	var names nameSet
	names.reset()
	return x.object("weight_map", func(key []byte) error {
		if !names.add(key) {
			return x.fail("weight_map", ErrDuplicate, string(key))
		}
		if !x.in.take(':') {
			return x.fail("weight_map", x.in.cause(), "")
		}
		shard, ok := x.in.str()
		if !ok {
			return x.fail("weight_map", x.in.cause(), "file names are wanted")
		}
		x.out.Tensors++
		if string(shard) == string(x.last) {
			return nil
		}
		x.last = append(x.last[:0], shard...)
		return x.shard(shard)
	})
}

func (x *indexReader) shard(name []byte) error {
	if _, ok := x.shards[string(name)]; ok {
		return nil
	}
	s := string(name)
	switch {
	case !fs.ValidPath(s) || s == ".":
		return x.fail("weight_map", ErrPath, s)
	case len(x.shards) == maxShards:
		return x.fail("weight_map", ErrShape, "more files than any checkpoint has")
	}
	x.shards[s] = struct{}{}
	return nil
}
