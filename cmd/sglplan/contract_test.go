package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kinds of value that the command-line contract names. A trailing ? on a
// key allows null; a key ending in [] is looked at in every element.
const (
	text  = "text"
	whole = "whole number"
	float = "number"
	truth = "true or false"
	bag   = "object"
	list  = "list"
	band  = "value with its band" // {"value","low","high","basis"}
)

// contractKeys are the keys that programs may rely on, by path.
type contractKeys map[string]string

var launchContract = contractKeys{
	"schema": text, "verdict": text,
	"launch.sglang_version": text, "launch.model_path": text, "launch.resolved": bag,
	"launch.resolved.tp_size": whole, "launch.resolved.mem_fraction_static": float,
	"launch.resolved.chunked_prefill_size": whole, "launch.resolved.page_size": whole,
	"ranks.total": whole, "ranks.on_this_host": whole, "ranks.attention_tp": whole,
	"gpu.kv_bytes_per_token": float, "gpu.pre_load_free_bytes": whole, "gpu.weights_bytes": band,
	"gpu.max_total_num_tokens": band, "gpu.pool_end_free_bytes": band, "gpu.need_start_bytes": band, "gpu.need_serving_bytes": band,
	"gpu.ledger[].name": text, "gpu.ledger[].bytes": whole, "gpu.ledger[].low_bytes": whole, "gpu.ledger[].high_bytes": whole, "gpu.ledger[].basis": text,
	"gpu.concurrency.tokens_per_request": whole, "gpu.concurrency.requests": whole,
	"host.available_bytes": whole, "host.limit": text, "host.ranks": whole, "host.per_rank_bytes": whole,
	"host.total_bytes": whole, "host.reserve_bytes": whole, "host.load_bytes": whole,
	"host.guard.verdict": text, "host.guard.share_bytes": whole, "host.guard.sure_hicache_size?": whole,
	"host.pools[].name": text, "host.pools[].bytes_per_rank": whole, "host.pools[].tokens": whole, "host.ledger": list,
	"recommend.mem_fraction_static?": float, "recommend.hicache_size?": whole, "recommend.argv[]": text,
	"findings[].code": text, "findings[].severity": text, "findings[].summary": text, "findings[].detail": text,
	"findings[].fixes[].title": text, "findings[].fixes[].edits[].flag": text,
}

var sweepContract = contractKeys{
	"sweep[].mem_fraction_static": float, "sweep[].max_total_num_tokens": whole,
	"sweep[].pool_end_free_bytes": whole, "sweep[].verdict": text, "sweep[].phase": text,
}

var modelContract = contractKeys{
	"schema": text, "architecture": text, "attention": text, "layers": whole, "kv_layers": whole, "kv_heads_per_rank": whole,
	"kv_bytes_per_token": float, "pools[].name": text, "pools[].layers": whole, "pools[].bytes_per_token": float,
	"weights_bytes": band, "load_bytes": band, "weights[].name": text, "weights[].bytes": whole, "weights[].sharding": text,
}

var machineContract = contractKeys{
	"schema": text, "gpus[].index": whole, "gpus[].name": text, "gpus[].compute_capability": text, "gpus[].total_bytes": whole,
}

const founding = "--gpus 8xRTX-PRO-6000-Blackwell --gpu-free 94.04GiB --host-ram 449GB --host-available 445GB -- " +
	"python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp-size 8 --mem-fraction-static 0.93 --enable-hierarchical-cache --hicache-size 300"

// TestContract holds the JSON of the verbs to the keys and types that other
// programs read.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		args string
		exit int
		keys contractKeys
	}{
		{"check -o json --sglang 0.5.9 --tokens-per-request 8000 " + founding, exitRejected, launchContract},
		{"check -o json --sglang 0.5.23 --tokens-per-request 8000 " + founding, exitRejected, launchContract},
		{"recommend -o json --sglang 0.5.9 --tokens-per-request 8000 " + founding, exitOK, without(launchContract, "findings[].fixes")},
		{"sweep -o json --sglang 0.5.9 " + founding, exitRejected, sweepContract},
		{"model moonshotai/Kimi-K2.5 --tp-size 8 --sglang 0.5.9 --gpus 8xH200 -o json", exitOK, modelContract},
		{"machine --gpus 2xH200 -o json", exitOK, machineContract},
	} {
		t.Run(strings.Fields(c.args)[0], func(t *testing.T) {
			v := runJSON(t, c.args, c.exit)
			require.Equal(t, "sglplan/v1", v["schema"])
			for path, kind := range c.keys {
				checkKey(t, v, path, kind)
			}
			sizesAreWhole(t, "", v)
		})
	}
}

func without(keys contractKeys, prefix string) contractKeys {
	out := contractKeys{}
	for k, v := range keys {
		if !strings.HasPrefix(k, prefix) {
			out[k] = v
		}
	}
	return out
}

// runJSON runs the command in this process and decodes its output strictly:
// one object, nothing after it, nothing on stderr.
func runJSON(t *testing.T, line string, exit int) map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit, run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr), "%s\n%s", line, stderr.String())
	require.Empty(t, stderr.String())
	d := json.NewDecoder(&stdout)
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v))
	require.False(t, d.More(), "one object")
	return v
}

// checkKey follows a path and checks the kind of what is there. Of a list, at
// least one element must be there and all are looked at.
func checkKey(t *testing.T, v any, path, kind string) {
	t.Helper()
	head, rest, more := strings.Cut(path, ".")
	name, each := strings.CutSuffix(head, "[]")
	name, nullable := strings.CutSuffix(name, "?")
	o, ok := v.(map[string]any)
	require.True(t, ok, "%s: not an object", path)
	in, there := o[name]
	require.True(t, there, "%s: the key is absent", path)
	if in == nil {
		require.True(t, nullable || (name == "tokens"), "%s is null", path)
		return
	}
	all := []any{in}
	if each {
		all, ok = in.([]any)
		require.True(t, ok, "%s: not a list", path)
		if rest == "" || !strings.HasPrefix(path, "findings") {
			require.NotEmpty(t, all, path)
		}
	}
	for _, e := range all {
		if !more {
			require.True(t, isKind(e, kind), "%s: %v is no %s", path, e, kind)
			continue
		}
		if strings.HasPrefix(rest, "edits[]") || strings.HasPrefix(rest, "fixes[]") {
			if m, _ := e.(map[string]any); m[strings.SplitN(rest, "[", 2)[0]] == nil {
				continue // a finding without a fix, a fix without an edit
			}
		}
		checkKey(t, e, rest, kind)
	}
}

func isKind(v any, kind string) bool {
	switch kind {
	case text:
		_, ok := v.(string)
		return ok
	case truth:
		_, ok := v.(bool)
		return ok
	case bag:
		_, ok := v.(map[string]any)
		return ok
	case list:
		_, ok := v.([]any)
		return ok
	case whole:
		n, ok := v.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case float:
		n, ok := v.(json.Number)
		f, err := n.Float64()
		return ok && err == nil && !math.IsInf(f, 0)
	case band:
		o, ok := v.(map[string]any)
		return ok && isKind(o["value"], whole) && isKind(o["low"], whole) && isKind(o["high"], whole) && isKind(o["basis"], text)
	}
	panic(fmt.Sprintf("no kind %q", kind))
}

// sizesAreWhole holds every key that ends in _bytes to a whole number, or a
// value with its band.
func sizesAreWhole(t *testing.T, at string, v any) {
	t.Helper()
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if strings.HasSuffix(k, "_bytes") && e != nil && at != ".launch.resolved" {
				require.True(t, isKind(e, whole) || isKind(e, band), "%s.%s: %v", at, k, e)
			}
			sizesAreWhole(t, at+"."+k, e)
		}
	case []any:
		for _, e := range x {
			sizesAreWhole(t, at+"[]", e)
		}
	}
}

// TestSeveralLaunches: more than one launch is one object with the worst
// verdict and a source for each.
func TestSeveralLaunches(t *testing.T) {
	v := runJSON(t, "check -o json --gpus 2xH200 --host-ram 500GB -f testdata/two.yaml", exitRejected)
	for path, kind := range (contractKeys{
		"schema": text, "verdict": text, "launches[].verdict": text, "launches[].findings": list,
		"launches[].source.file": text, "launches[].source.line": whole, "launches[].source.container": text,
	}) {
		checkKey(t, v, path, kind)
	}
	require.Len(t, v["launches"], 2)
	require.Equal(t, "reject", v["verdict"])
}

// TestExitStatuses: one launch of each verdict.
func TestExitStatuses(t *testing.T) {
	for line, want := range map[string]int{
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 -- --model-path Qwen/Qwen3-8B --mem-fraction-static 0.8":    exitOK,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 -- --model-path Qwen/Qwen3-8B --mem-fraction-static 0.1":    exitRejected,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 -- --model-path Qwen/Qwen3-8B --no-such-flag":               exitRejected,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 --no-such-option -- --model-path Qwen/Qwen3-8B":             exitUsage,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 -- --model-path nobody/nothing":                             exitUndecided,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 --model nobody/nothing -- --model-path Qwen/Qwen3-8B":       exitUsage,
		"check --gpus 1xH200 --host-ram 500GB --sglang 0.5.17 --ignore unknown-flag -- --model-path Qwen/Qwen3-8B --nope": exitOK,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, want, run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr), line)
		require.Equal(t, want == exitUsage, stdout.Len() == 0, "%s: results are on stdout", line)
		require.Equal(t, want == exitUsage, stderr.Len() > 0, "%s: the rest is on stderr", line)
	}
}
