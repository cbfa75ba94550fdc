package serverlog

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
)

func logText(t testing.TB, name string) string {
	t.Helper()
	b, err := io.ReadAll(openLog(t, "testdata/"+name))
	require.NoError(t, err)
	return string(b)
}

func read(t testing.TB, text string) *Start {
	t.Helper()
	s, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	return s
}

var comparable = cmp.Options{cmpopts.IgnoreUnexported(Start{}, Rank{})}

// TestPrefixes: what runs a server wraps its lines; they say the same.
func TestPrefixes(t *testing.T) {
	for _, name := range []string{"h200-0517-llama8b-tp2-hicache8.log.gz", "h200-0517-qwen3-32b-f0.96-chunk16384.log.gz", "h200-0517-llama8b-hicache20-cgroup16.log.gz"} {
		plain := logText(t, name)
		want := read(t, plain)
		for what, prefix := range map[string]func(i int) string{
			"docker -t":  func(int) string { return "2026-11-30T21:24:01.548251Z " },
			"compose":    func(int) string { return "sglang-worker-1  | " },
			"journald":   func(int) string { return "Nov 30 21:24:01 gpu-host-7 sglang[1731]: " },
			"kubectl":    func(int) string { return "[pod/sglang-0/server] " },
			"short time": func(int) string { return "2026-11-30 21:24:01 " },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				var b strings.Builder
				for i, l := range strings.Split(plain, "\n") {
					if l != "" {
						b.WriteString(prefix(i) + l)
					}
					b.WriteString("\n")
				}
				require.Empty(t, cmp.Diff(want, read(t, b.String()), comparable))
			})
		}
	}
}

// TestPieces: a stream arrives in any pieces, with any line ends.
func TestPieces(t *testing.T) {
	text := logText(t, "h200-0517-llama70b-tp2.log.gz")
	want := read(t, text)
	r := rand.New(rand.NewPCG(1, 2))
	for _, ends := range []string{"\n", "\r\n", "\r"} {
		b := []byte(strings.ReplaceAll(text, "\n", ends))
		p := New(func(Event) {})
		for len(b) > 0 {
			n := min(1+r.IntN(300), len(b))
			_, err := p.Write(b[:n])
			require.NoError(t, err)
			b = b[n:]
		}
		p.Close()
		require.Empty(t, cmp.Diff(want, p.Start(), comparable), "%q", ends)
	}
}

// TestAppended: only the last start of a log counts.
func TestAppended(t *testing.T) {
	dead := logText(t, "h200-0517-llama8b-f0.985.log.gz")
	alive := logText(t, "h200-0517-llama8b-orphan.log.gz")
	from := strings.Index(alive, "[2026-11-30 21:34:24] server_args=")
	require.Positive(t, from)
	require.Empty(t, cmp.Diff(read(t, alive[from:]), read(t, dead+alive), comparable))
}

// TestLines holds the wording of single releases, one line each.
func TestLines(t *testing.T) {
	g := func(v float64) *units.Bytes { b := units.FromGiB(v); return &b }
	for name, tc := range map[string]struct {
		log  string
		want Start
	}{
		"0.5.21 begins in parallel": {
			"[2026-10-02 10:00:00 TP0] Init parallel begin.\n[2026-10-02 10:00:01 TP0] Init parallel ends. elapsed=1.20 s\n[2026-10-02 10:00:01 TP0] Memory baseline taken. mem usage=0.01 GB\n",
			Start{Phase: Distributed, First: "2026-10-02 10:00:00", Last: "2026-10-02 10:00:01",
				Ranks: []*Rank{{Name: "TP0", Phase: Distributed, InitUsage: g(0.01)}}},
		},
		"0.5.10 quantised load, milliseconds, many tags": {
			"[2026-03-02 10:00:01.123 DP1 PP0 TP3 EP3] Load weight begin. avail mem=94.04 GB\n[2026-03-02 10:00:09.001 DP1 PP0 TP3 EP3] Load weight end. elapsed=8.10 s, type=KimiK25ForConditionalGeneration, quant=compressed-tensors, fmt=int4, avail mem=21.71 GB, mem usage=72.33 GB.\n",
			Start{Phase: Weights, First: "2026-03-02 10:00:01.123", Last: "2026-03-02 10:00:09.001",
				Ranks: []*Rank{{Name: "DP1 PP0 TP3 EP3", Phase: Weights, Loads: []Load{{BeginFree: g(94.04), EndFree: g(21.71), Usage: g(72.33), Seconds: 8.1, Class: "KimiK25ForConditionalGeneration"}}}}},
		},
		"0.5.20 DeepSeek-V4": {
			"[2026-09-20 08:39:53 TP0] DSV4 memory calculation: unified=False, unified_fp8=False, bytes_per_full_token=15955.85, available_bytes=45.78 GB, c128_state_fixed=0.10 GB, swa_ring_fixed=0.20 GB, c4_state_fixed=0.05 GB, full_token=3080960\n",
			Start{Phase: Pools, First: "2026-09-20 08:39:53", Last: "2026-09-20 08:39:53",
				Ranks: []*Rank{{Name: "TP0", Phase: Pools, DSV4: &DSV4{BytesPerToken: 15955.85, Available: *g(45.78), Tokens: 3080960}}}},
		},
		"0.5.6 window pools": {
			"[2026-01-02 08:00:00 TP0] Use Sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=800\n",
			Start{Phase: Pools, First: "2026-01-02 08:00:00", Last: "2026-01-02 08:00:00",
				Ranks: []*Rank{{Name: "TP0", Phase: Pools, Window: &Window{Full: 1000, SWA: 800}}}},
		},
		"0.5.22 the captured list moves to the end": {
			"[2026-10-20 08:00:00 TP0] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=10.12 GB\n[2026-10-20 08:00:09 TP0] Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=9.00 s, mem usage=0.31 GB, avail mem=9.81 GB.\n",
			Start{Phase: Graphs, First: "2026-10-20 08:00:00", Last: "2026-10-20 08:00:09",
				Ranks: []*Rank{{Name: "TP0", Phase: Graphs, Graphs: []Graph{{Name: "target decode", BeginFree: g(10.12), EndFree: g(9.81), Usage: g(0.31), Seconds: 9, Ended: true}}}}},
		},
		"0.5.18 an upper bound, then the real pool": {
			"[2026-08-20 08:00:00] KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 900, KV size: 9.00 GB\n[2026-08-20 08:00:05] Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 800, KV size: 8.00 GB, avail mem=1.00 GB\n",
			Start{Phase: Pools, First: "2026-08-20 08:00:00", Last: "2026-08-20 08:00:05",
				Ranks: []*Rank{{Phase: Pools, Pools: []Pool{{DType: "torch.bfloat16", Tokens: 900, Bytes: *g(9), Bound: true}, {Label: "post-capture", DType: "torch.bfloat16", Tokens: 800, Bytes: *g(8)}}}}},
		},
		"0.5.21 automatic host pools": {
			"[2026-10-02 10:00:00 TP0] HiCache memory headroom: 400.00 GB\n[2026-10-02 10:00:00 TP0] Allocating kv hierarchical KV host pool: 122071 tokens, 8.00 GB host memory.\n[2026-10-02 10:00:00 TP0] Allocating 19.32 GB host memory for DSA indexer (layout=page_first).\n",
			Start{Phase: HostPools, First: "2026-10-02 10:00:00", Last: "2026-10-02 10:00:00",
				Ranks: []*Rank{{Name: "TP0", Phase: HostPools, HostPools: []HostPool{{Label: "kv", Tokens: 122071, Bytes: 8 * units.GB}, {Label: "DSA indexer", Bytes: 19_320_000_000}}}}},
		},
		"files are prefetched": {
			"[2026-05-02 10:00:00 TP0] Load weight begin. avail mem=94.04 GB\n[2026-05-02 10:00:04 TP0] Rank 0: prefetching checkpoint files: 40% (4/10)\n",
			Start{Phase: Weights, First: "2026-05-02 10:00:00", Last: "2026-05-02 10:00:04", Progress: &Progress{Label: "Loading, files prefetched", Done: 4, Total: 10, Remaining: -1},
				Ranks: []*Rank{{Name: "TP0", Phase: Weights, Loads: []Load{{BeginFree: g(94.04)}}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(&tc.want, read(t, tc.log), comparable))
		})
	}
}

// TestCauses holds how starts end, one cause each.
func TestCauses(t *testing.T) {
	exception := func(line string) string {
		return "[2026-02-24 11:30:00 TP3] Scheduler hit an exception: Traceback (most recent call last):\n  File \"x.py\", line 1, in y\n    z()\n" + line + "\n\n[2026-02-24 11:30:00] Received sigquit from a child process. It usually means the child failed.\n"
	}
	at := func(ph string) string { return "[2026-02-24 11:29:00 TP3] " + ph + "\n" }
	const loading, pools, capture, host = "Load weight begin. avail mem=94.04 GB", "KV Cache is allocated. #tokens: 1, KV size: 1.00 GB",
		"Capture cuda graph begin. This can take up to several minutes. avail mem=1.00 GB", "Allocating 96.00 GB host memory for hierarchical KV cache."
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 970.00 MiB. GPU 0 has a total capacity of 94.50 GiB"
	for log, want := range map[string]string{
		at(loading) + exception(oom): "start-gpu-oom-weights weights",
		at(pools) + exception(oom):   "start-gpu-oom-pools pools",
		at(capture) + exception(oom): "start-gpu-oom-capture graphs",
		at(capture) + exception("Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.50 GiB"):                                                            "start-gpu-oom-capture graphs",
		at(capture) + exception("Exception: Capture cuda graph failed: invalid argument"):                                                                                          "start-capture-failed graphs",
		at(loading) + exception("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.82"):                                              "start-no-room-for-kv weights",
		at(host) + exception("ValueError: Not enough host memory available. Requesting 40.00 GB but only have 44.87 GB free."):                                                     "start-host-guard host-pools",
		at(host) + exception("RuntimeError: cudaHostRegister failed (rc=1) for a 34.76 GB buffer"):                                                                                 "start-host-pin-failed host-pools",
		at(host) + exception("AssertionError: The host memory should be larger than the device memory with the current protocol"):                                                  "start-host-pool-below-device host-pools",
		exception("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:77, unhandled system error"):                                                            "start-nccl starting",
		exception("ModuleNotFoundError: No module named 'deep_gemm'"):                                                                                                              "start-missing-package starting",
		exception("AssertionError: store dtype is not uint8"):                                                                                                                      "start-assertion starting",
		exception("IndexError: index 288 is out of bounds for dimension 1 with size 288"):                                                                                          "start-exception starting",
		"[2026-02-24 11:30:00] ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use\n":                                      "start-port-in-use starting",
		"usage: launch_server.py [-h]\nlaunch_server.py: error: unrecognized arguments: --hicache-sise 3\n":                                                                        "start-arguments starting",
		"Traceback (most recent call last):\n  File \"a.py\", line 2, in b\nOSError: m/x is not a local folder and is not a valid model identifier listed on 'hub'\n":              "start-model-not-found starting",
		at(host) + "[2026-02-24 11:31:00] Rank 3 scheduler is dead. Please check if there are relevant logs.\n[2026-02-24 11:31:00] Exit code: -9\n":                               "start-killed host-pools",
		at(capture) + "RuntimeError: Rank 0 scheduler died during initialization (exit code: -11).\n":                                                                              "start-rank-died graphs",
		at(capture) + "[2026-02-24 11:31:00] Received sigquit from a child process. It usually means the child failed.\n":                                                          "start-child-failed graphs",
		at(capture) + "[2026-02-24 11:31:00 TP0] Watchdog timeout (self.watchdog_timeout=300)\n":                                                                                   "start-watchdog graphs",
		"[2026-02-24 11:31:00] Initialization failed. warmup error: Traceback (most recent call last):\n":                                                                          "start-warmup-failed starting",
		"[2026-02-24 11:31:00] The server is fired up and ready to roll!\n[2026-02-24 11:32:00] Subprocess scheduler_0 (pid=9603) crashed with exit code -9. Triggering SIGQUIT\n": "start-killed ready",
	} {
		s := read(t, log)
		require.NotNil(t, s.Failure, log)
		require.Equal(t, want, fmt.Sprintf("%s %s", s.Failure.Code, s.Failure.Phase), log)
	}
	// None of these ends a server.
	for _, log := range []string{
		at(loading) + "[2026-02-24 11:30:00 TP0] Ignore import error when loading sglang.srt.models.x: No module named 'helion'\n" + at(pools),
		at(loading) + "Traceback (most recent call last):\n  File \"a\", line 1\nImportError: libx.so\n" + at(pools) + at(capture) + "[2026-02-24 11:31:00] The server is fired up and ready to roll!\n",
		at(loading) + "[2026-02-24 11:30:00] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.\n[2026-02-24 11:31:00] The server is fired up and ready to roll!\n",
		"[2026-02-24 11:31:00] The server is fired up and ready to roll!\n[2026-02-24 11:32:00] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n[2026-02-24 11:32:01] Subprocess scheduler_0 (pid=9603) crashed with exit code -15. Triggering SIGQUIT for cleanup...\n[2026-02-24 11:32:01] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
	} {
		require.Nil(t, read(t, log).Failure, log)
	}
}

// TestBounded: a line without end and more ranks than there can be are cut.
func TestBounded(t *testing.T) {
	p := New(nil)
	_, _ = p.Write(bytes.Repeat([]byte("x"), 8<<20))
	require.LessOrEqual(t, cap(p.split.open), 2*maxLine)
	var b strings.Builder
	for i := range maxRanks + 10 {
		fmt.Fprintf(&b, "\n[2026-02-24 11:29:00 TP%d] Load weight begin. avail mem=94.04 GB", i)
	}
	_, _ = p.Write([]byte(b.String()))
	p.Close()
	require.Len(t, p.Start().Ranks, maxRanks)
}

// FuzzParser: no input makes it panic, and pieces do not matter.
func FuzzParser(f *testing.F) {
	for _, name := range []string{"13_hybrid-27b-dflash-gpu96-graph-oom-2026-10.log.gz", "15_v0.5.13.post1-glm52-fp8-8xh200-hicache-dsa-2026-08.log.gz", "04_v0.4.6.post2-qwen3-06b-laptop-2025-05.log.gz", "12_qwen3-30b-a3b-fp8-h100-2026-08.log.gz", "h200-0517-llama8b-hicache20-cgroup16.log.gz"} {
		seed := logText(f, name)
		f.Add([]byte(seed[max(len(seed)-6000, 0):]), 7) // the end has the most kinds of lines
	}
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		want, err := Read(bytes.NewReader(b))
		require.NoError(t, err)
		want.Arguments()
		p := New(func(Event) {})
		n := max(min(piece, 1000), 1)
		for rest := b; len(rest) > 0; {
			m := min(n, len(rest))
			_, _ = p.Write(rest[:m])
			rest = rest[m:]
		}
		p.Close()
		require.Empty(t, cmp.Diff(want, p.Start(), comparable))
	})
}
