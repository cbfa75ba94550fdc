// Package sglangtest imitates what can be seen of an SGLang server from
// outside: its port, release by release. Only tests import it.
package sglangtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

// State is what the engine behind the port does.
type State int32

// The states.
const (
	Starting State = iota // bound, the first requests are not done
	Up
	Unhealthy // the engine does not answer
)

// Server answers as a release of SGLang does.
type Server struct {
	Release   release.Release
	ModelPath string
	Seed      int64
	Tokens    int64
	Key       string // API key, "" for none

	addr  string
	http  *http.Server
	state atomic.Int32
	hang  atomic.Bool
	gen   atomic.Int32
}

// New returns a server on a free port that is not bound yet: connections are
// refused.
func New(version string) (*Server, error) {
	r, err := release.Parse(version)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Release: r, ModelPath: "meta-llama/Meta-Llama-3.1-8B", Seed: 1, addr: l.Addr().String()}
	return s, l.Close()
}

// At is New on a given port.
func At(version string, port int) (*Server, error) {
	r, err := release.Parse(version)
	return &Server{Release: r, ModelPath: "meta-llama/Meta-Llama-3.1-8B", Seed: 1, addr: fmt.Sprintf("127.0.0.1:%d", port)}, err
}

// URL is the address, bound or not.
func (s *Server) URL() string { return "http://" + s.addr }

// Port is the number of its port.
func (s *Server) Port() int {
	_, p, _ := net.SplitHostPort(s.addr)
	n, _ := net.LookupPort("tcp", p)
	return n
}

// Bind begins to listen; SGLang does so after all schedulers are up.
func (s *Server) Bind() error {
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }()
	return nil
}

// Set puts the engine in a state.
func (s *Server) Set(st State) { s.state.Store(int32(st)) }

// Hang makes the server accept connections and never answer.
func (s *Server) Hang(on bool) { s.hang.Store(on) }

// Generations counts the tokens that health checks made the engine generate.
func (s *Server) Generations() int { return int(s.gen.Load()) }

// Close stops listening.
func (s *Server) Close() {
	if s.http != nil {
		_ = s.http.Close()
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", s.health)
	mux.HandleFunc("/health_generate", s.generate)
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if s.Release.AtLeast("0.5.20") {
		mux.HandleFunc("/ready", s.ready)
	}
	info, model := "/get_server_info", "/get_model_info"
	mux.HandleFunc(info, s.serverInfo)
	mux.HandleFunc(model, s.modelInfo)
	if s.Release.AtLeast("0.5.6") {
		mux.HandleFunc("/server_info", s.serverInfo)
		mux.HandleFunc("/model_info", s.modelInfo)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"detail":"Not Found"}`))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.hang.Load() {
			<-r.Context().Done()
			return
		}
		if s.Key != "" && !exempt(r.URL.Path) && r.Header.Get("Authorization") != "Bearer "+s.Key {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"Unauthorized"}`))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func exempt(path string) bool {
	return path == "/health" || path == "/health_generate" || path == "/ready" || path == "/metrics"
}

func empty(w http.ResponseWriter, status int) {
	w.Header()["Content-Type"] = nil
	w.WriteHeader(status)
}

// health: to 0.4.10.post1 static; then a real generation; from 0.5.0rc1 503
// while starting.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if s.Release.Before("0.4.10.post2") {
		empty(w, http.StatusOK)
		return
	}
	s.generate(w, r)
}

// generate answers 200 when the engine makes a token.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	switch State(s.state.Load()) {
	case Up:
		s.gen.Add(1)
		empty(w, http.StatusOK)
	case Unhealthy:
		wait(r.Context(), 200*time.Millisecond) // SGLANG_HEALTH_CHECK_TIMEOUT, shortened
		empty(w, http.StatusServiceUnavailable)
	default:
		empty(w, http.StatusServiceUnavailable)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if State(s.state.Load()) == Up {
		empty(w, http.StatusOK)
		return
	}
	empty(w, http.StatusServiceUnavailable)
}

func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"version": s.Release.String(), "model_path": s.ModelPath, "random_seed": s.Seed,
		"max_total_num_tokens": s.Tokens, "max_total_tokens": nil,
		"internal_states": []any{map[string]any{"version": s.Release.String()}},
	})
}

func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"model_path": s.ModelPath, "tokenizer_path": s.ModelPath, "is_generation": true})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
