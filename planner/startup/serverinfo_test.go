package startup

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/sglang/release"
	"github.com/sglplan/sglplan/planner/units"
)

// TestAskServer reads the information of releases that word it differently.
func TestAskServer(t *testing.T) {
	g := func(v float64) *units.Bytes { return ptr(units.FromGiB(v)) }
	for name, tc := range map[string]struct {
		version, path, body string
		want                ServerInfo
	}{
		"0.4.9, one number for graphs": {"0.4.9", "/get_server_info",
			`{"model_path":"m","version":"0.4.9","max_total_num_tokens":905964,"max_total_tokens":null,"internal_states":[{"memory_usage":{"weight":15.02,"kvcache":110.6,"cuda_graph":0.31,"token_capacity":905964}}]}`,
			ServerInfo{Version: "0.4.9", ModelPath: "m", Tokens: 905964, Weights: g(15.02), KVCache: g(110.6), Graphs: g(0.31)}},
		"0.5.18, graphs by phase": {"0.5.18", "/server_info",
			`{"model_path":"m","version":"0.5.18","max_total_num_tokens":906051,"internal_states":[{"effective_max_running_requests_per_dp":3539,"memory_usage":{"weight":15.02,"kvcache":110.602,"startup_available":9.809,"graph":{"prefill":1.5,"decode":0.25}}}]}`,
			ServerInfo{Version: "0.5.18", ModelPath: "m", Tokens: 906051, Requests: 3539, Weights: g(15.02), KVCache: g(110.602), Available: g(9.809), Graphs: g(1.75), HostTokens: 122071}},
		"0.4.6, keys at the top": {"0.4.6", "/get_server_info", `{"model_path":"m","version":"0.4.6","max_total_num_tokens":7}`,
			ServerInfo{Version: "0.4.6", ModelPath: "m", Tokens: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc(tc.path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tc.body)) })
			if tc.want.HostTokens > 0 {
				mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write([]byte("# HELP sglang:hicache_host_total_tokens x\nsglang:hicache_host_total_tokens_other 3\nsglang:hicache_host_total_tokens{model_name=\"m\",tp_rank=\"0\"} 122071.0\n"))
				})
			}
			s := httptest.NewServer(mux)
			defer s.Close()
			got, err := AskServer(context.Background(), s.URL, "", release.MustParse(tc.version))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got, cmpopts.IgnoreFields(ServerInfo{}, "Arguments")))
		})
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := AskServer(context.Background(), s.URL, "", release.Release{})
	require.ErrorIs(t, err, ErrNoServerInfo)
}

// FuzzServerInfo holds that no answer of a server makes nonsense of a size.
func FuzzServerInfo(f *testing.F) {
	f.Add(`{"max_total_num_tokens":7,"internal_states":[{"memory_usage":{"weight":15.02,"graph":{"prefill":1.5,"decode":1e9}}}]}`, "m{rank=\"0\"} 122071.0\n")
	f.Add(`{"max_total_num_tokens":-7,"internal_states":[null],"memory_usage":[]}`, "m NaN\nm} 1e999\nm ")
	f.Fuzz(func(t *testing.T, body, metrics string) {
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		if d.Decode(&m) == nil {
			i := parseServerInfo(m)
			require.GreaterOrEqual(t, min(i.Tokens, i.Requests), int64(0))
			for _, b := range []*units.Bytes{i.Weights, i.KVCache, i.Graphs, i.Available} {
				require.True(t, b == nil || *b >= 0 && *b <= mostGiB*units.GiB, b)
			}
		}
		if v, ok := firstSample(strings.NewReader(metrics), "m"); ok {
			require.True(t, v >= 0 && v < 1e15, v)
		}
	})
}

// TestLook takes one look at servers in three states.
func TestLook(t *testing.T) {
	s := server(t, "0.5.20")
	o := Options{URL: s.URL(), Release: s.Release}
	got, err := Look(context.Background(), o)
	require.NoError(t, err)
	require.Equal(t, "refused", got.Answer.State)
	require.NoError(t, s.Bind())
	got, err = Look(context.Background(), o)
	require.NoError(t, err)
	require.Equal(t, "starting", got.Answer.State)
	s.Set(1)
	s.Tokens = 12
	got, err = Look(context.Background(), o)
	require.NoError(t, err)
	require.True(t, got.Up)
	require.Equal(t, int64(12), got.Tokens)
	require.Equal(t, s.ModelPath, got.Model)
	require.Equal(t, 1, s.Generations(), "/ready generates nothing, the confirmation does once")
	_, err = Look(context.Background(), Options{Log: "/no/such/log"})
	require.Error(t, err)
}
