package source

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/safetensors"
	"github.com/sglplan/sglplan/planner/units"
)

const config = `{"architectures":["X"],"num_hidden_layers":2}`

// tree writes files below a new folder; a text that begins with "-> " is a
// link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if len(text) > 3 && text[:3] == "-> " {
			require.NoError(t, os.Symlink(text[3:], path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestCache(t *testing.T) {
	const commit, other = "aaaa0000", "bbbb1111"
	repo := "models--org--model.v1"
	layout := func(below string) map[string]string {
		return map[string]string{
			below + repo + "/refs/main":                               commit + "\n",
			below + repo + "/refs/refs/pr/1":                          other,
			below + repo + "/blobs/one":                               config,
			below + repo + "/snapshots/" + commit + "/config.json":    "-> ../../blobs/one",
			below + repo + "/snapshots/" + other + "/config.json":     config,
			below + "models--org--partial/refs/main":                  commit,
			below + "models--org--partial/snapshots/" + commit + "/x": "",
		}
	}
	for name, tc := range map[string]struct {
		below    string
		env      func(root string) map[string]string
		name     string
		revision string
		want     string // snapshot, "" for none
	}{
		"HF_HUB_CACHE": {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r, "HF_HOME": "/none"} }, "org/model.v1", "", commit},
		"HUGGINGFACE_HUB_CACHE": {"", func(r string) map[string]string {
			return map[string]string{"HUGGINGFACE_HUB_CACHE": r, "HF_HOME": "/none"}
		}, "org/model.v1", "", commit},
		"HF_HOME":          {"hub/", func(r string) map[string]string { return map[string]string{"HF_HOME": r, "XDG_CACHE_HOME": "/none"} }, "org/model.v1", "", commit},
		"XDG_CACHE_HOME":   {"huggingface/hub/", func(r string) map[string]string { return map[string]string{"XDG_CACHE_HOME": r} }, "org/model.v1", "", commit},
		"HOME":             {".cache/huggingface/hub/", func(r string) map[string]string { return map[string]string{"HOME": r} }, "org/model.v1", "", commit},
		"tilde":            {"x/hub/", func(r string) map[string]string { return map[string]string{"HOME": r, "HF_HOME": "~/x"} }, "org/model.v1", "", commit},
		"commit":           {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/model.v1", other, other},
		"reference":        {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/model.v1", "refs/pr/1", other},
		"unknown revision": {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/model.v1", "v9", ""},
		"way out":          {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/model.v1", "../../../" + repo, ""},
		"without config":   {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/partial", "", ""},
		"other model":      {"", func(r string) map[string]string { return map[string]string{"HF_HUB_CACHE": r} }, "org/other", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, layout(tc.below))
			f, err := Find(Query{Name: tc.name, Revision: tc.revision, Env: tc.env(root)})
			if tc.want == "" {
				var nf *NotFoundError
				require.ErrorAs(t, err, &nf)
				return
			}
			require.NoError(t, err)
			require.Equal(t, Cache, f.Kind)
			require.Equal(t, filepath.Join(root, tc.below, repo, "snapshots", tc.want), f.Where)
			require.Equal(t, "X", f.Config.Arch())
		})
	}
}

func TestModelScope(t *testing.T) {
	for _, below := range []string{"models", "hub/models", "hub"} {
		root := tree(t, map[string]string{below + "/org/model___v1/config.json": config})
		env := map[string]string{"MODELSCOPE_CACHE": root, "SGLANG_USE_MODELSCOPE": "true"}
		f, err := Find(Query{Name: "org/model.v1", Env: env})
		require.NoError(t, err, below)
		require.Equal(t, Cache, f.Kind)
		delete(env, "SGLANG_USE_MODELSCOPE")
		env["HOME"] = root
		_, err = Find(Query{Name: "org/model.v1", Env: env})
		require.Error(t, err, "without the switch it is not looked at")
	}
}

// TestOrder: a folder wins over the cache, the cache over the catalogue.
func TestOrder(t *testing.T) {
	root := tree(t, map[string]string{
		"hub/models--openai--gpt-oss-20b/refs/main":                "c0",
		"hub/models--openai--gpt-oss-20b/snapshots/c0/config.json": config,
		"openai/gpt-oss-20b/config.json":                           config,
	})
	t.Chdir(t.TempDir())
	kind := func(env map[string]string) Kind {
		f, err := Find(Query{Name: "openai/gpt-oss-20b", Env: env})
		require.NoError(t, err)
		return f.Kind
	}
	cached := map[string]string{"HF_HOME": root}
	require.Equal(t, Catalogue, kind(map[string]string{"HF_HOME": "/none"}))
	require.Equal(t, Cache, kind(cached))
	t.Chdir(root)
	require.Equal(t, Folder, kind(cached))
}

func TestUnusablePaths(t *testing.T) {
	root := tree(t, map[string]string{
		"loop": "-> loop", "a": "-> b", "b": "-> a", "gone": "-> nowhere", "plain": "text", "short": "GG",
		"lora/adapter_config.json":        `{"base_model_name_or_path":"org/base"}`,
		"broken-lora/adapter_config.json": `{`,
		"config-loop/config.json":         "-> config.json",
		"empty/x":                         "",
		"deep/config.json":                `{"a":`,
	})
	require.NoError(t, os.Mkdir(filepath.Join(root, "pipe"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe/config.json"), 0o600))
	find := func(name string) error {
		_, err := Find(Query{Name: filepath.Join(root, name)})
		require.Error(t, err, name)
		return err
	}
	for name, want := range map[string]error{
		"loop": syscall.ELOOP, "a": syscall.ELOOP, "gone": fs.ErrNotExist, "plain": os.ErrInvalid, "short": os.ErrInvalid,
		"config-loop": syscall.ELOOP, "empty": fs.ErrNotExist,
	} {
		require.ErrorIs(t, find(name), want, name)
	}
	var path *PathError
	require.ErrorAs(t, find("loop"), &path)
	require.Equal(t, filepath.Join(root, "loop"), path.Path)
	var lora *AdapterError
	require.ErrorAs(t, find("lora"), &lora)
	require.Equal(t, "org/base", lora.Base)
	require.ErrorAs(t, find("broken-lora"), &lora)
	require.ErrorContains(t, find("pipe"), "no regular file")
	require.ErrorContains(t, find("deep"), "config.json")
}

func ggufFile(order binary.AppendByteOrder, version uint32, tensors uint64) string {
	b := order.AppendUint32([]byte("GGUF"), version)
	return string(append(order.AppendUint64(b, tensors), make([]byte, 100)...))
}

func TestGGUF(t *testing.T) {
	root := tree(t, map[string]string{
		"m/model-q4.gguf": ggufFile(binary.LittleEndian, 3, 291), "big.gguf": ggufFile(binary.BigEndian, 3, 7),
		"beside/config.json": config, "beside/x.gguf": ggufFile(binary.LittleEndian, 3, 1),
	})
	for name, want := range map[string]FormatError{
		"m":               {filepath.Join(root, "m/model-q4.gguf"), "GGUF version 3", 291, 116},
		"m/model-q4.gguf": {filepath.Join(root, "m/model-q4.gguf"), "GGUF version 3", 291, 116},
		"big.gguf":        {filepath.Join(root, "big.gguf"), "GGUF version 3", 7, 116},
	} {
		_, err := Find(Query{Name: filepath.Join(root, name)})
		var got *FormatError
		require.ErrorAs(t, err, &got, name)
		require.Equal(t, want, *got)
	}
	f, err := Find(Query{Name: filepath.Join(root, "beside")})
	require.NoError(t, err)
	require.Equal(t, &checkpoint.Checkpoint{Format: checkpoint.GGUF, Files: 1, Bytes: 116, LargestFile: 116}, f.Checkpoint)
}

func TestFormats(t *testing.T) {
	sizes := map[string]string{
		"config.json": config, "pytorch_model-1.bin": "12345", "pytorch_model-2.bin": "123", "training_args.bin": "1234567", "optimizer.pt": "1", "a.pt": "12",
	}
	for name, tc := range map[string]struct {
		format string
		want   *checkpoint.Checkpoint
	}{
		"auto":  {"", &checkpoint.Checkpoint{Format: checkpoint.Bin, Files: 2, Bytes: 8, LargestFile: 5}},
		"pt":    {"pt", &checkpoint.Checkpoint{Format: checkpoint.PT, Files: 1, Bytes: 2, LargestFile: 2}},
		"none":  {"safetensors", nil},
		"dummy": {"dummy", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Find(Query{Name: tree(t, sizes), LoadFormat: tc.format})
			require.NoError(t, err)
			require.Equal(t, tc.want, f.Checkpoint)
		})
	}
	require.True(t, checkpoint.Bin.Pickled())
	require.False(t, checkpoint.Safetensors.Pickled())
}

// small is a model of two shards with their index.
func small(t *testing.T) (dir string, total int64) {
	dir = tree(t, map[string]string{"config.json": config})
	total, err := bigcheckpoint.Write(dir, bigcheckpoint.Kimi(2, 4), 2)
	require.NoError(t, err)
	return dir, total
}

const first, second = "model-00001-of-000002.safetensors", "model-00002-of-000002.safetensors"

func checkpointOf(t *testing.T, dir, format string) *checkpoint.Checkpoint {
	f, err := Find(Query{Name: dir, LoadFormat: format})
	require.NoError(t, err)
	require.NotNil(t, f.Checkpoint)
	return f.Checkpoint
}

func TestShards(t *testing.T) {
	dir, total := small(t)
	// A second copy in another layout is not in the index and not counted.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "consolidated.safetensors"), []byte("broken"), 0o600))
	c := checkpointOf(t, dir, "")
	require.True(t, c.Complete(), c.Problems)
	require.Equal(t, 2, c.Files)
	require.Equal(t, total, c.Tally.Bytes)
	require.EqualValues(t, total, c.TotalSize)
	require.Greater(t, int64(c.Bytes), total, "headers are part of the files")
	require.Equal(t, len(bigcheckpoint.Kimi(2, 4)), c.Tally.Tensors)
	require.Len(t, checkpointOf(t, dir, "mistral").Problems, 1, "the other layout was asked for")
}

func TestBrokenShards(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil   func(t *testing.T, dir string)
		missing []string
		want    error
	}{
		"missing":     {func(t *testing.T, d string) { require.NoError(t, os.Remove(filepath.Join(d, second))) }, []string{second}, nil},
		"unfetched":   {func(t *testing.T, d string) { link(t, d, second, "../blobs/none") }, []string{second}, nil},
		"link loop":   {func(t *testing.T, d string) { link(t, d, second, second) }, nil, syscall.ELOOP},
		"a folder":    {func(t *testing.T, d string) { folder(t, d, second) }, nil, syscall.EISDIR},
		"truncated":   {func(t *testing.T, d string) { require.NoError(t, os.Truncate(filepath.Join(d, second), 1<<20)) }, nil, safetensors.ErrTruncated},
		"empty":       {func(t *testing.T, d string) { require.NoError(t, os.Truncate(filepath.Join(d, second), 0)) }, nil, safetensors.ErrTruncated},
		"pointer":     {func(t *testing.T, d string) { put(t, d, second, "version https://git-lfs.github.com/spec/v1\n") }, nil, safetensors.ErrPointer},
		"length 2^63": {func(t *testing.T, d string) { put(t, d, second, "\x00\x00\x00\x00\x00\x00\x00\x80{}") }, nil, safetensors.ErrLength},
		"index":       {func(t *testing.T, d string) { put(t, d, safetensors.IndexName, `{"weight_map":{"a":"../x"}}`) }, nil, safetensors.ErrPath},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := small(t)
			tc.spoil(t, dir)
			c := checkpointOf(t, dir, "")
			require.False(t, c.Complete())
			require.Nil(t, c.Tally, "half a model is not counted")
			require.Equal(t, tc.missing, c.Missing)
			if tc.want == nil {
				require.Empty(t, c.Problems)
				return
			}
			require.Len(t, c.Problems, 1)
			require.ErrorIs(t, c.Problems[0], tc.want)
		})
	}
}

func put(t *testing.T, dir, name, text string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func link(t *testing.T, dir, name, to string) {
	require.NoError(t, os.Remove(filepath.Join(dir, name)))
	require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
}

func folder(t *testing.T, dir, name string) {
	require.NoError(t, os.Remove(filepath.Join(dir, name)))
	require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
}

func TestOnlyAnIndex(t *testing.T) {
	dir, total := small(t)
	require.NoError(t, os.Remove(filepath.Join(dir, first)))
	require.NoError(t, os.Remove(filepath.Join(dir, second)))
	require.Equal(t, &checkpoint.Checkpoint{Format: checkpoint.Safetensors, Missing: []string{first, second}, TotalSize: units.Bytes(total)}, checkpointOf(t, dir, ""))
}

func FuzzGGUF(f *testing.F) {
	f.Add([]byte(ggufFile(binary.LittleEndian, 3, 291)))
	f.Add([]byte("GGUF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, tensors, ok := ggufHeader(bytes.NewReader(b))
		if ok {
			require.GreaterOrEqual(t, tensors, int64(0))
			require.True(t, bytes.HasPrefix(b, []byte("GGUF")))
		}
	})
}
