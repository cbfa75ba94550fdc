package source

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/units"
)

// Read says what weight files a folder holds, as the given --load-format would
// load them, with at most workers headers read at once. It returns nil when
// there are none. Files that cannot be read are in its Problems.
func Read(files fs.FS, format string, workers int) *checkpoint.Checkpoint {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	kind, found := choose(names, format)
	indexed := kind.index != "" && slices.Contains(names, kind.index)
	if len(found) == 0 && !indexed {
		return nil
	}
	// The index is as long as all headers together, so both are read at once;
	// only where it names other files than there are is this done in vain.
	index := make(chan indexResult, 1)
	if indexed {
		go func() { index <- readIndex(files, kind.index) }()
	} else {
		index <- indexResult{}
	}
	out := count(files, kind.format, found, workers)
	x := <-index
	if x.index != nil && !slices.Equal(x.index.Shards, found) {
		out = count(files, kind.format, x.index.Shards, workers)
	}
	if x.index != nil {
		out.TotalSize = units.Bytes(x.index.TotalSize)
	}
	if x.err != nil {
		out.Problems, out.Tally = append(out.Problems, x.err), nil
	}
	slices.Sort(out.Missing)
	slices.SortFunc(out.Problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return out
}

type indexResult struct {
	index *safetensors.Index
	err   error
}

// readIndex reads the file that names the shards.
func readIndex(files fs.FS, name string) indexResult {
	f, err := files.Open(name)
	if err != nil {
		return indexResult{nil, &PathError{name, err}}
	}
	defer f.Close()
	x, err := safetensors.ReadIndex(name, f)
	return indexResult{x, err}
}

// reading is one checkpoint as its files are read.
type reading struct {
	files  fs.FS
	shards []shard
	out    *checkpoint.Checkpoint
}

type shard struct {
	name string
	size int64
}

// count adds up the named files.
func count(files fs.FS, format checkpoint.Format, names []string, workers int) *checkpoint.Checkpoint {
	r := &reading{files: files, out: &checkpoint.Checkpoint{Format: format}}
	r.sizes(names)
	if format == checkpoint.Safetensors {
		r.headers(workers)
	}
	return r.out
}

// sizes takes the sizes of the files, through links.
func (r *reading) sizes(names []string) {
	for _, n := range names {
		st, err := fs.Stat(r.files, n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.out.Missing = append(r.out.Missing, n) // or a link to what was never fetched
			continue
		case err != nil:
			r.out.Problems = append(r.out.Problems, &PathError{n, err})
			continue
		}
		r.shards = append(r.shards, shard{n, st.Size()})
		r.out.Files++
		r.out.Bytes += units.Bytes(st.Size())
		r.out.LargestFile = max(r.out.LargestFile, units.Bytes(st.Size()))
	}
}

// headers counts the tensors of all files.
func (r *reading) headers(workers int) {
	var (
		work  = make(chan shard)
		done  sync.WaitGroup
		mu    sync.Mutex
		total checkpoint.Tally
	)
	for range max(1, min(workers, len(r.shards))) {
		done.Go(func() {
			var reader safetensors.Reader
			var tally checkpoint.Tally
			var problems []error
			for s := range work {
				if err := r.header(&reader, s, &tally); err != nil {
					problems = append(problems, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.Merge(&tally)
			r.out.Problems = append(r.out.Problems, problems...)
		})
	}
	for _, s := range r.shards {
		work <- s
	}
	close(work)
	done.Wait()
	if r.out.Complete() {
		r.out.Tally = &total
	}
}

// errNoReaderAt is what a file system without random access gets.
var errNoReaderAt = errors.New("the file cannot be read from an offset")

func (r *reading) header(d *safetensors.Reader, s shard, t *checkpoint.Tally) error {
	f, err := r.files.Open(s.name)
	if err != nil {
		return &PathError{s.name, err}
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return &PathError{s.name, errNoReaderAt}
	}
	_, err = d.Read(s.name, at, s.size, t.Add)
	return err
}
