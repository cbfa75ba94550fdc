package preflight_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner"
	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/launch"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

const config = `{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","head_dim":128,"hidden_size":1024,"intermediate_size":3072,"max_position_embeddings":40960,"num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,"tie_word_embeddings":true,"torch_dtype":"bfloat16","vocab_size":151936}`

// folder is a checkpoint of two files.
func folder(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	_, err := bigcheckpoint.Write(dir, bigcheckpoint.Dense(), 2)
	require.NoError(t, err)
	return dir
}

func request(t *testing.T, model string, o preflight.Options) planner.Request {
	t.Helper()
	cmd, err := launch.FromArgv([]string{"--model-path", model, "--tp-size", "2"})
	require.NoError(t, err)
	o.GPUs, o.SGLang = "2xH200", "0.5.17"
	if o.Env == nil {
		o.Env = map[string]string{"HF_HOME": "/nonexistent"}
	}
	reqs, err := preflight.Requests(context.Background(), []*launch.Command{cmd}, o)
	require.NoError(t, err)
	return reqs[0]
}

func TestFolderReachesThePlan(t *testing.T) {
	r := request(t, folder(t), preflight.Options{})
	require.Equal(t, checkpoint.Safetensors, r.Checkpoint.Format)
	m := planner.Model(r)
	require.Equal(t, &planner.CheckpointInfo{Format: "safetensors", Files: 2, Bytes: r.Checkpoint.Bytes, Tensors: len(bigcheckpoint.Dense())}, m.Checkpoint)
	require.NotNil(t, m.WeightsBytes)
	for _, f := range m.Findings {
		require.NotEqual(t, finding.Warning, f.Severity, f)
	}
	_, err := preflight.Check(context.Background(), []string{"--model-path", "x"}, preflight.Options{Model: "/nonexistent", GPUs: "1xH200"})
	var input *preflight.InputError
	require.ErrorAs(t, err, &input)
}

// TestPickledFilesReachTheHost: files that are read whole cost memory of every
// rank while they load; mapped ones do not.
func TestPickledFilesReachTheHost(t *testing.T) {
	dir := folder(t)
	pickled := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(pickled, "config.json"), []byte(config), 0o600))
	f, err := os.Create(filepath.Join(pickled, "pytorch_model.bin"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<30))
	require.NoError(t, f.Close())
	ram, free := 100*units.GB, 90*units.GB
	o := preflight.Options{HostRAM: &ram, HostAvailable: &free}
	load := func(name string) units.Bytes {
		p := planner.Check(request(t, name, o))
		require.NotNil(t, p.Host)
		return p.Host.LoadBytes
	}
	require.GreaterOrEqual(t, load(pickled)-load(dir), 2*units.GiB, "two ranks read a GiB each")
}

// TestHubOnlyWhenAsked: no request leaves without --hub, and with it a model
// that is nowhere on this machine is planned.
func TestHubOnlyWhenAsked(t *testing.T) {
	dir := folder(t)
	var asked atomic.Int64
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/api/") {
			_, _ = w.Write([]byte(`{"sha":"c0","siblings":[{"rfilename":"config.json"},{"rfilename":"model.safetensors.index.json"},{"rfilename":"model-00001-of-000002.safetensors"},{"rfilename":"model-00002-of-000002.safetensors"}]}`))
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	defer hub.Close()
	env := map[string]string{"HF_HOME": "/nonexistent", "HF_ENDPOINT": hub.URL}
	r := request(t, "org/model", preflight.Options{Env: env})
	require.Nil(t, r.Model)
	require.Zero(t, asked.Load())
	r = request(t, "org/model", preflight.Options{Env: env, Hub: true})
	require.NotNil(t, r.Model)
	require.NotNil(t, r.Checkpoint.Tally, r.Checkpoint.Problems)
	require.Positive(t, asked.Load())
}
