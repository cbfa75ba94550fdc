package startup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/cgrouptest"
	"github.com/sglplan/sglplan/internal/sglangtest"
	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// soon is a watch that looks often and gives up before a test does.
func soon(o Options) Options {
	o.Poll, o.Probe = 20*time.Millisecond, 30*time.Millisecond
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	return o
}

// last runs a watch to its end.
func last(t *testing.T, o Options) (Event, []Event) {
	t.Helper()
	var all []Event
	for e := range Watch(context.Background(), soon(o)) {
		all = append(all, e)
	}
	require.NotEmpty(t, all)
	e := all[len(all)-1]
	require.Equal(t, Finished, e.Kind)
	return e, all
}

const sourceLog = "h200-0517-llama8b-tp2-hicache8.log.gz" // two ranks with host pools

func TestFates(t *testing.T) {
	for name, tc := range map[string]struct {
		fate, until string
		given       string // of log, pid, url
		reap        bool
		stall       time.Duration
		outcome     Outcome
		code        string
		cause       string
	}{
		"ready":                {"ready", "Uvicorn running", "log pid url", true, 0, Ready, "", ""},
		"ready, url only":      {"ready", "Uvicorn running", "url", true, 0, Ready, "", ""},
		"ready, url from log":  {"ready", "Uvicorn running", "log pid", true, 0, Ready, "", ""},
		"exits in graphs":      {"exit", "Capture target prefill", "log pid url", true, 0, HasFailed, "start-process-ended", "has ended"},
		"exits, zombie":        {"exit", "Capture target prefill", "log pid url", false, 0, HasFailed, "start-process-ended", "ended with status 1"},
		"exits, pid only":      {"exit", "Capture target prefill", "pid url", true, 0, HasFailed, "start-process-ended", "has ended"},
		"killed":               {"kill", "Allocating kv", "log pid url", true, 0, HasFailed, "start-process-ended", "has ended"},
		"killed, zombie":       {"kill", "Allocating kv", "log pid url", false, 0, HasFailed, "start-process-ended", "signal 9"},
		"fatal line, lives on": {"fatal", "Capture target decode CUDA graph end", "log pid url", true, 0, HasFailed, "start-host-guard", "Requesting 300.00 GB"},
		"fatal line, log only": {"fatal", "Capture target decode CUDA graph end", "log", true, 0, HasFailed, "start-host-guard", "Requesting 300.00 GB"},
		"stalls in capture":    {"stall", "Capture target prefill CUDA graph begin", "log pid url", true, 300 * time.Millisecond, HasFailed, "start-stalled", "phase"},
		"stalls, log only":     {"stall", "Allocating kv", "log", true, 300 * time.Millisecond, HasFailed, "start-stalled", "host-pools"},
		"rank lost":            {"rank-lost", "Load weight begin", "log pid url", true, 0, HasFailed, "start-rank-gone", "lives on"},
		"rank lost, a zombie":  {"rank-zombie", "Load weight begin", "pid url", true, 0, HasFailed, "start-rank-gone", "signal 9"},
		"stopped, a whole log": {"exit", "", "log", true, 0, HasFailed, "start-stopped", "SIGTERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sglangtest.New("0.5.17")
			require.NoError(t, err)
			f := fake{Source: sourceLog, Until: tc.until, Log: filepath.Join(t.TempDir(), "server.log"), Port: s.Port(), Fate: tc.fate}
			if tc.until == "" { // a whole log, up to the stop of the server
				f.Until = "Draining requests"
			}
			c := launch(t, f, tc.reap)
			if strings.HasPrefix(tc.fate, "rank-") { // the rank is there before the log is
				require.Eventually(t, func() bool { _, err := os.Stat(f.Log); return err == nil }, 15*time.Second, 5*time.Millisecond)
			}
			o := Options{Release: release.MustParse("0.5.17")}
			if strings.Contains(tc.given, "log") {
				o.Log = f.Log
			}
			if strings.Contains(tc.given, "pid") {
				o.PID = c.Process.Pid
			}
			if strings.Contains(tc.given, "url") || tc.given == "log pid" {
				o.URL = s.URL()
			}
			if tc.stall > 0 {
				o.Stall = map[serverlog.Phase]time.Duration{}
				for p := serverlog.Arguments; p < serverlog.Ready; p++ {
					o.Stall[p] = tc.stall
				}
			}
			e, _ := last(t, o)
			require.Equal(t, tc.outcome, e.Outcome, e.Cause)
			require.Equal(t, tc.code, string(e.Code), e.Cause)
			require.Contains(t, e.Cause, tc.cause)
			if e.Outcome == HasFailed && strings.Contains(tc.given, "log") {
				require.NotEmpty(t, e.Tail)
				require.NotEmpty(t, e.Fix)
			}
		})
	}
}

// TestKilledByItsCgroup: a real limit, a real OOM kill.
func TestKilledByItsCgroup(t *testing.T) {
	g := cgrouptest.New(t, 64<<20)
	f := fake{Source: sourceLog, Until: "Allocating kv", Log: filepath.Join(t.TempDir(), "server.log"), Fate: "memory", Memory: 256 << 20}
	c := launch(t, f, true)
	g.Add(t, c.Process.Pid)
	e, _ := last(t, Options{Log: f.Log, PID: c.Process.Pid})
	require.Equal(t, HasFailed, e.Outcome)
	require.Equal(t, CodeOOMKilled, e.Code, e.Cause)
	require.Equal(t, serverlog.HostPools, e.Phase)
}

func server(t *testing.T, version string) *sglangtest.Server {
	t.Helper()
	s, err := sglangtest.New(version)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// after runs f a little later; the test waits for it.
func after(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { time.Sleep(d); f(); close(done) }()
	t.Cleanup(func() { <-done })
}

// TestReleases: refused, then bound and starting, then up, as each release
// answers it.
func TestReleases(t *testing.T) {
	for _, version := range []string{"0.4.6", "0.4.10.post1", "0.4.10.post2", "0.5.0rc1", "0.5.5.post3", "0.5.9", "0.5.17", "0.5.20", "0.5.23"} {
		for _, known := range []bool{true, false} {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				s := server(t, version)
				up := make(chan struct{})
				after(t, 100*time.Millisecond, func() { _ = s.Bind() })
				after(t, 400*time.Millisecond, func() { s.Set(sglangtest.Up); close(up) })
				o := Options{URL: s.URL()}
				if known {
					o.Release = s.Release
				}
				e, _ := last(t, o)
				require.Equal(t, Ready, e.Outcome, e.Cause)
				select {
				case <-up:
				default:
					t.Fatal("ready before the engine was")
				}
			})
		}
	}
}

// TestNeverReady: what answers and is not a server that takes requests.
func TestNeverReady(t *testing.T) {
	static := func(h http.HandlerFunc) func(*testing.T) string {
		return func(t *testing.T) string {
			s := httptest.NewServer(h)
			t.Cleanup(s.Close)
			return s.URL
		}
	}
	for name, tc := range map[string]struct {
		url     func(*testing.T) string
		version string
		warning string
	}{
		"refused": {func(t *testing.T) string { return server(t, "0.5.9").URL() }, "0.5.9", ""},
		"starting for ever": {func(t *testing.T) string {
			s := server(t, "0.5.9")
			require.NoError(t, s.Bind())
			return s.URL()
		}, "0.5.9", ""},
		"static 200 of an old release, engine dead": {func(t *testing.T) string {
			s := server(t, "0.4.6")
			require.NoError(t, s.Bind())
			s.Set(sglangtest.Unhealthy)
			return s.URL()
		}, "0.4.6", ""},
		"hung accept": {func(t *testing.T) string {
			s := server(t, "0.5.9")
			require.NoError(t, s.Bind())
			s.Hang(true)
			return s.URL()
		}, "0.5.9", ""},
		"ok in the body of a 503": {static(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("ok"))
		}), "0.5.9", ""},
		"a proxy's redirect": {static(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}), "0.5.9", "start-proxy-answers"},
		"a proxy's page": {static(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>ok</html>"))
		}), "0.5.9", "start-proxy-answers"},
		"a gate that wants a key": {static(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		}), "0.5.9", "start-proxy-answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, all := last(t, Options{URL: tc.url(t), Release: release.MustParse(tc.version), Timeout: 600 * time.Millisecond})
			require.Equal(t, TimedOut, e.Outcome)
			require.Equal(t, tc.warning, warnings(all))
		})
	}
}

func warnings(all []Event) string {
	var codes []string
	for _, e := range all {
		if e.Kind == Warned {
			codes = append(codes, string(e.Code))
		}
	}
	return strings.Join(codes, " ")
}

// TestKey: with --api-key the readiness paths stay open and identity is asked
// with the key.
func TestKey(t *testing.T) {
	s := server(t, "0.5.17")
	s.Key, s.Tokens = "secret", 4711
	require.NoError(t, s.Bind())
	s.Set(sglangtest.Up)
	e, _ := last(t, Options{URL: s.URL(), Key: "secret"})
	require.Equal(t, Ready, e.Outcome)
	require.Contains(t, e.Message, "4711 KV tokens")
	e, _ = last(t, Options{URL: s.URL(), Release: release.MustParse("0.5.17")})
	require.Equal(t, Ready, e.Outcome, "without the key it is up all the same")
}

// TestPortOfAnother: an older server answers on the port of a launch that is
// still starting.
func TestPortOfAnother(t *testing.T) {
	starting := func(t *testing.T) string {
		lines, err := readLines(sourceLog)
		require.NoError(t, err)
		name := filepath.Join(t.TempDir(), "server.log")
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l + "\n")
			if strings.Contains(l, "Load weight begin") {
				break
			}
		}
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
		return name
	}
	for name, tc := range map[string]struct {
		options func(t *testing.T, o *Options)
		server  func(s *sglangtest.Server)
		outcome Outcome
	}{
		"port of another process": {func(t *testing.T, o *Options) {
			o.PID = launch(t, fake{Fate: "stall"}, true).Process.Pid
		}, nil, TimedOut},
		"another model": {func(_ *testing.T, o *Options) {
			o.Expect = &Expectation{ModelPath: "Qwen/Qwen3-32B"}
		}, nil, TimedOut},
		"the model, as its folder": {func(_ *testing.T, o *Options) {
			o.Expect = &Expectation{ModelPath: "/hub/models--meta-llama--Meta-Llama-3.1-8B/snapshots/0e9e39f2"}
		}, nil, Ready},
		"while the log is loading": {func(t *testing.T, o *Options) { o.Log = starting(t) }, nil, TimedOut},
		"nothing says otherwise":   {func(*testing.T, *Options) {}, nil, Ready},
		"a quiet log": {func(t *testing.T, o *Options) {
			o.Log = filepath.Join(t.TempDir(), "empty.log")
			require.NoError(t, os.WriteFile(o.Log, nil, 0o644))
		}, nil, Ready},
		"the seed of the log is the server's": {func(t *testing.T, o *Options) { o.Log = starting(t) },
			func(s *sglangtest.Server) { s.Seed = 1002088802 }, Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, "0.5.17")
			require.NoError(t, s.Bind())
			s.Set(sglangtest.Up)
			if tc.server != nil {
				tc.server(s)
			}
			o := Options{URL: s.URL(), Release: release.MustParse("0.5.17"), Timeout: 20 * time.Second}
			if tc.outcome == TimedOut {
				o.Timeout = 700 * time.Millisecond
			}
			tc.options(t, &o)
			e, all := last(t, o)
			require.Equal(t, tc.outcome, e.Outcome, e.Cause)
			if tc.outcome == TimedOut {
				require.Contains(t, warnings(all), string(CodeNotOurs))
			}
		})
	}
}

// TestNoLeak: a watch that is left early, or whose port hangs, leaves no
// goroutine behind.
func TestNoLeak(t *testing.T) {
	s := server(t, "0.5.17")
	require.NoError(t, s.Bind())
	s.Hang(true)
	before := runtime.NumGoroutine()
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		for e := range Watch(ctx, soon(Options{URL: s.URL()})) {
			_ = e
		}
		cancel()
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, 10*time.Second, 20*time.Millisecond)
}
